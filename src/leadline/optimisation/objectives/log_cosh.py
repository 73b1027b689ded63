"""A separable bowl between a quadratic and a straight valley."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leadline._arrays import follow

from .objective import Constants, Matrix, Objective, Points, Values, Vector


class LogCoshBowl(Objective):
    """l(w) = Σᵢ aᵢwᵢ²/2 + bᵢ log cosh wᵢ, a, b ≥ 0: L = max(a + b) at 0, m = min a far away, w* = 0.

    >>> bowl = LogCoshBowl(jnp.array([0.0, 1.0]), jnp.array([2.0, 0.0]))
    >>> bowl.constants().smoothness, bowl.constants().strong_convexity, bowl(jnp.array([0.0, 2.0])).item()
    (2.0, 0.0, 2.0)
    """

    quadratic: Float[Array, " p"] = eqx.field(converter=lambda a: jnp.asarray(a, float))
    cosine: Float[Array, " p"] = eqx.field(converter=lambda b: jnp.asarray(b, float))

    def __call__(self, w: Points) -> Values:
        xp, a, b = follow(w, self.quadratic, self.cosine)
        return xp.sum(a * w**2 / 2 + b * (xp.logaddexp(w, -w) - np.log(2.0)), axis=-1)

    def gradient(self, w: Points) -> Points:
        xp, a, b = follow(w, self.quadratic, self.cosine)
        return a * w + b * xp.tanh(w)

    def hessian(self, w: Vector) -> Matrix:
        return jnp.diag(self.quadratic + self.cosine / jnp.cosh(w) ** 2)

    def constants(self) -> Constants:
        a, b = np.asarray(self.quadratic), np.asarray(self.cosine)
        m = float(a.min())
        return Constants(float((a + b).max()), m, m if m > 0 else None, np.zeros(len(a)), 0.0)
