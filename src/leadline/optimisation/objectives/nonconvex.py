"""Non-convex objectives: the double well, Rosenbrock's valley, Himmelblau's four minima."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .objective import Constants, Matrix, Objective, Vector


class DoubleWell(Objective):
    """In one dimension: l(w) = (w² − 1)²/4 + c w with tilt c; two minima and a barrier while |c| < 2/√27.

    >>> known = DoubleWell().constants()
    >>> known.minimiser.round(5).tolist(), round(known.minimum, 6)
    ([-1.04668], -0.102386)
    """

    tilt: Float[Array, ""] = eqx.field(converter=lambda value: jnp.asarray(value, float), default=0.1)

    def __call__(self, w: Vector) -> Float[Array, ""]:
        return jnp.sum((w**2 - 1) ** 2 / 4 + self.tilt * w)

    def gradient(self, w: Vector) -> Vector:
        return w**3 - w + self.tilt

    def hessian(self, w: Vector) -> Matrix:
        return jnp.diag(3 * w**2 - 1)

    def constants(self) -> Constants:
        tilt = float(self.tilt)
        roots = np.roots([1.0, 0.0, -1.0, tilt])
        real = roots.real[np.abs(roots.imag) < 1e-6]
        values = (real**2 - 1) ** 2 / 4 + tilt * real
        best = real[np.argmin(values)]
        for _ in range(3):
            best -= (best**3 - best + tilt) / (3 * best**2 - 1)
        return Constants(minimiser=np.array([best]), minimum=float((best**2 - 1) ** 2 / 4 + tilt * best))


class Rosenbrock(Objective):
    """l(w) = (1 − w₁)² + 100(w₂ − w₁²)²: one minimum at (1, 1), in a curved valley.

    >>> Rosenbrock()(jnp.zeros(2)).item(), jnp.abs(Rosenbrock().gradient(jnp.ones(2))).tolist()
    (1.0, [0.0, 0.0])
    """

    def __call__(self, w: Vector) -> Float[Array, ""]:
        return (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2

    def gradient(self, w: Vector) -> Vector:
        above = w[1] - w[0] ** 2
        return jnp.stack([-2 * (1 - w[0]) - 400 * w[0] * above, 200 * above])

    def hessian(self, w: Vector) -> Matrix:
        return jnp.array([[2 - 400 * w[1] + 1200 * w[0] ** 2, -400 * w[0]], [-400 * w[0], 200.0]])

    def constants(self) -> Constants:
        return Constants(minimiser=np.ones(2), minimum=0.0)


class Himmelblau(Objective):
    """l(w) = (w₁² + w₂ − 11)² + (w₁ + w₂² − 7)²: four minima of value 0 (one at (3, 2)), four saddles, one maximum.

    >>> Himmelblau()(jnp.array([3.0, 2.0])).item()
    0.0
    """

    def __call__(self, w: Vector) -> Float[Array, ""]:
        return (w[0] ** 2 + w[1] - 11) ** 2 + (w[0] + w[1] ** 2 - 7) ** 2

    def gradient(self, w: Vector) -> Vector:
        a, b = w[0] ** 2 + w[1] - 11, w[0] + w[1] ** 2 - 7
        return jnp.stack([4 * w[0] * a + 2 * b, 2 * a + 4 * w[1] * b])

    def hessian(self, w: Vector) -> Matrix:
        mixed = 4 * (w[0] + w[1])
        return jnp.array([[12 * w[0] ** 2 + 4 * w[1] - 42, mixed], [mixed, 4 * w[0] + 12 * w[1] ** 2 - 26]])

    def constants(self) -> Constants:
        return Constants(minimiser=np.array([3.0, 2.0]), minimum=0.0)
