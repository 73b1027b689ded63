"""The memory bench: all that can be said of how far back a recurrent model sees, in one call."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from ..gradients.state_jacobians import lyapunov_exponents
from ..gradients.state_vectors import overflow_step, state_vectors, trajectory
from .horizons import Loss, gradient_transport, horizon, influence
from .saturation import Saturation, saturation, unit_values


class MemoryReport(NamedTuple):
    """What the bench found; means over rows are taken of logarithms.

    `gradient` is log ‖∂l_T/∂z_{T-k}‖ and `influence` log ‖∂ŷ_T/∂x_{T-k}‖ by lag k = 0, 1, ...; `exponents` the largest
    Lyapunov exponents on the first row; `units` the saturation of gates and units by name. Where the state overflows,
    `overflow` is the step, from 1, and the rest is of the steps before it.
    """

    gradient: Float[np.ndarray, " lags"]
    influence: Float[np.ndarray, " steps"] | None
    exponents: Float[np.ndarray, " count"]
    units: dict[str, Saturation]
    overflow: int | None

    @property
    def gradient_horizon(self) -> int:
        """The largest lag at which the gradient has half of its size at lag 1."""
        return horizon(np.exp(self.gradient - self.gradient[1]))

    @property
    def influence_horizon(self) -> int | None:
        if self.influence is None or len(self.influence) < 2:
            return None
        return horizon(np.exp(self.influence - self.influence[1]))

    @property
    def decay(self) -> float:
        """The slope of log ‖∂l_T/∂z_{T-k}‖ against the lag k, by least squares over k ≥ 1."""
        usable = np.flatnonzero(np.isfinite(self.gradient[1:])) + 1
        return float(np.polyfit(usable, self.gradient[usable], 1)[0]) if usable.size > 1 else float("-inf")


def memory_bench(
    model: Any,
    inputs: Num[Array | np.ndarray, "n T ..."],
    targets: Num[Array | np.ndarray, "n ..."] | None = None,
    *,
    loss: Loss | None = None,
    exponents: int = 4,
) -> MemoryReport:
    """Gradient and influence against lag, Lyapunov exponents, saturated gates, of a model with init, update, predict.

    Without a loss, that of the last prediction is half its square, so that the gradient is transported from the output
    itself. A model that overflows is measured up to the step before, which is named.

    >>> from leadline.sequences import GRU
    >>> report = memory_bench(GRU(2, 8, key=jax.random.key(0)), jax.random.normal(jax.random.key(1), (4, 20, 2)))
    >>> report.gradient.shape, report.influence.shape, sorted(report.units), report.overflow
    ((21,), (20,), ['logistic 1', 'logistic 2', 'tanh 1'], None)
    """
    inputs = jnp.asarray(inputs)
    if inputs.ndim < 2 or inputs.shape[1] < 2:
        raise ValueError(f"memory_bench got inputs of shape {inputs.shape}; give (rows, time, ...) of 2 steps or more.")
    if (loss is None) != (targets is None):
        raise ValueError("memory_bench needs a loss and targets, or neither.")
    if jnp.issubdtype(inputs.dtype, jnp.floating):
        inputs = inputs.astype(state_vectors(model.update, model.init())[1].dtype)
    states = jax.vmap(lambda x: trajectory(model.update, model.init(), x))(inputs)
    overflow = overflow_step(states)
    if overflow is not None:
        if overflow < 3:
            raise ValueError(f"The state is no longer finite at step {overflow}; there is no memory to measure.")
        inputs = inputs[:, : overflow - 1]
    if loss is None or targets is None:
        loss, targets = _half_square, jnp.zeros(len(inputs))
    moved = gradient_transport(model, inputs, targets, loss)
    seen = influence(_Last(model), None, inputs) if jnp.issubdtype(inputs.dtype, jnp.floating) else None
    size = states.shape[-1]
    with np.errstate(divide="ignore"):
        return MemoryReport(
            moved.mean(axis=0),
            None if seen is None else np.log(seen).mean(axis=0),
            lyapunov_exponents(model.update, model.init(), inputs[0], count=min(exponents, size)),
            {u.name: saturation(u.values, u.kind) for u in unit_values(model.update, model.init(), inputs)},
            overflow,
        )


def _half_square(output: Array, _: Any) -> Float[Array, ""]:
    return 0.5 * jnp.sum(output**2)


class _Last(eqx.Module):
    """The last prediction of a model as apply(params, inputs)."""

    model: Any

    def __call__(self, _: None, inputs: Array) -> Array:
        def row(x: Array) -> Array:
            state, _ = jax.lax.scan(lambda z, x: (self.model.update(z, x), None), self.model.init(), x)
            return self.model.predict(state)

        return jax.vmap(row)(inputs)
