"""Running averages of batch statistics: how fast they follow, how much they scatter, how long they remember."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from leadline._checks import require


def running_average(
    values: Float[Array, "steps ..."], decay: float | Float[Array, ""], start: float | Float[Array, "..."] = 0.0
) -> Float[Array, "steps ..."]:
    """bₜ = ρ bₜ₋₁ + (1 − ρ) vₜ after each of the values, from b₀ = `start`: the buffers of batch normalisation.

    ρ is `decay` (Equinox, Flax and Haiku call it momentum or decay; PyTorch's momentum is 1 − ρ).

    >>> running_average(jnp.ones(3), 0.5).tolist()
    [0.5, 0.75, 0.875]
    """
    require("running_average", values=values)
    _check_decay("running_average", decay)

    def step(buffer: Array, value: Array) -> tuple[Array, Array]:
        buffer = decay * buffer + (1 - decay) * value
        return buffer, buffer

    first = jnp.broadcast_to(jnp.asarray(start, values.dtype), values.shape[1:])
    return jax.lax.scan(step, first, values)[1]


class RunningLaw(NamedTuple):
    """What is known of a running average after t steps of independent values with one mean and variance."""

    time_constant: float  #: 1/(1 − ρ) steps
    start_weight: Float[np.ndarray, "..."]  #: ρᵗ, the weight that the first buffer still has: the initial bias
    variance_share: Float[np.ndarray, "..."]  #: Var bₜ over the variance of one value; its limit is (1 − ρ)/(1 + ρ)
    lag: float  #: how many steps it is behind a mean that moves steadily: ρ/(1 − ρ)


def running_law(decay: float, num_steps: int | Float[np.ndarray, "..."]) -> RunningLaw:
    """The exact moments of `running_average` after `num_steps`; a geometric sum gives each.

    E bₜ − μ = ρᵗ(b₀ − μ); Var bₜ = (1 − ρ)/(1 + ρ) (1 − ρ²ᵗ) Var v. A mean that moves by δ a step is followed
    ρδ/(1 − ρ) behind.

    >>> law = running_law(0.9, 10)
    >>> round(law.time_constant), round(float(law.start_weight), 4), round(float(law.variance_share), 4)
    (10, 0.3487, 0.0462)
    """
    _check_decay("running_law", decay)
    steps = np.asarray(num_steps, float)
    share = (1 - decay) / (1 + decay) * (1 - decay ** (2 * steps))
    return RunningLaw(1 / (1 - decay), decay**steps, share, decay / (1 - decay))


def pooled_moments(
    means: Float[Array, "batches ..."],
    variances: Float[Array, "batches ..."],
    sizes: Float[Array, " batches"] | None = None,
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Mean and biased variance of all rows, from those of each batch: E[σ_b²] + Var_b[μ_b] (total variance).

    The average of the batch variances alone misses the second term, 1/|B| of the whole for independent rows: that is
    the factor |B|/(|B| − 1) of the unbiased running variance.

    >>> [float(moment) for moment in pooled_moments(jnp.array([0.0, 2.0]), jnp.array([1.0, 3.0]))]
    [1.0, 3.0]
    """
    require("pooled_moments", means=means, variances=variances)
    mean = jnp.average(means, axis=0, weights=sizes)
    return mean, jnp.average(variances + (means - mean) ** 2, axis=0, weights=sizes)


def _check_decay(function: str, decay: float | Array) -> None:
    if not isinstance(decay, Tracer) and not 0 <= float(decay) < 1:
        raise ValueError(
            f"{function} got decay = {decay}; give the share ρ that is kept, from 0 to below 1 (PyTorch's momentum m "
            "is 1 − ρ)."
        )
