"""A gate: a soft Boolean for each unit, from a control input."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def soft_gate(
    control: Float[Array, "..."], z: Float[Array, "..."], *, temperature: float = 1.0, straight_through: bool = False
) -> Float[Array, "..."]:
    r"""σ(ζ/τ) ⊙ z: what a unit lets through, ζ the pre-activation of its gate and τ the temperature.

    With `straight_through` the gate is the step 1{ζ > 0} and its gradient that of σ(ζ/τ) (Bengio et al. 2013).

    >>> soft_gate(jnp.array([0.0, 100.0]), jnp.array([4.0, 4.0])).tolist()
    [2.0, 4.0]
    >>> float(soft_gate(jnp.array(0.1), jnp.array(4.0), straight_through=True))
    4.0
    """
    if temperature <= 0:
        raise ValueError(f"soft_gate got the temperature {temperature}; give a number above 0.")
    soft = jax.nn.sigmoid(control / temperature)
    if straight_through:
        soft = soft + jax.lax.stop_gradient((control > 0).astype(soft.dtype) - soft)
    return soft * z


def memory_half_life(keep: Float[Array | np.ndarray, "..."] | float) -> Float[Array, "..."]:
    r"""The steps ln 2/(-ln s) after which a state that is multiplied by s at each step is half of what it was.

    >>> memory_half_life(jax.nn.sigmoid(jnp.array([0.0, 1.0, 3.0, 5.0]))).round(2).tolist()
    [1.0, 2.21, 14.27, 103.23]
    """
    s = jnp.asarray(keep)
    return math.log(2) / -jnp.log(s)
