"""A separable bowl between a quadratic and a straight valley."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .objective import Constants, Matrix, Objective, Vector


class LogCoshBowl(Objective):
    """l(w) = Σᵢ aᵢwᵢ²/2 + bᵢ log cosh wᵢ, a, b ≥ 0: L = max(a + b) at 0, m = min a far away, w* = 0.

    >>> bowl = LogCoshBowl(jnp.array([0.0, 1.0]), jnp.array([2.0, 0.0]))
    >>> bowl.constants().smoothness, bowl.constants().strong_convexity, bowl(jnp.array([0.0, 2.0])).item()
    (2.0, 0.0, 2.0)
    """

    quadratic: Float[Array, " p"] = eqx.field(converter=lambda a: jnp.asarray(a, float))
    cosine: Float[Array, " p"] = eqx.field(converter=lambda b: jnp.asarray(b, float))

    def __call__(self, w: Vector) -> Float[Array, ""]:
        return jnp.sum(self.quadratic * w**2 / 2 + self.cosine * (jnp.logaddexp(w, -w) - jnp.log(2.0)))

    def gradient(self, w: Vector) -> Vector:
        return self.quadratic * w + self.cosine * jnp.tanh(w)

    def hessian(self, w: Vector) -> Matrix:
        return jnp.diag(self.quadratic + self.cosine / jnp.cosh(w) ** 2)

    def constants(self) -> Constants:
        a, b = np.asarray(self.quadratic), np.asarray(self.cosine)
        m = float(a.min())
        return Constants(float((a + b).max()), m, m if m > 0 else None, np.zeros(len(a)), 0.0)
