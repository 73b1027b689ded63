"""The range of the inputs, which attacks do not leave and certificates make use of."""

import math
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float


class Box(NamedTuple):
    """Every number of an input lies in [low, high]: Box(0.0, 1.0) for pixels, all numbers by default.

    >>> Box(0.0, 1.0).clip(jnp.array([-0.5, 0.5, 2.0])).tolist()
    [0.0, 0.5, 1.0]
    """

    low: float = -math.inf
    high: float = math.inf

    def clip(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The nearest point of the box."""
        return jnp.clip(x, self.low, self.high)


EVERYWHERE = Box()
