"""Non-convex objectives: the double well, Rosenbrock's valley, Himmelblau's four minima."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leadline._arrays import follow, namespace

from .objective import Constants, Matrix, Objective, Points, Values, Vector


class DoubleWell(Objective):
    """In one dimension: l(w) = (w² − 1)²/4 + c w with tilt c; two minima and a barrier while |c| < 2/√27.

    It is smooth on an interval only: with a `radius` ≥ 1, L = 3 radius² − 1 for |w| ≤ radius.

    >>> known = DoubleWell(radius=2.0).constants()
    >>> known.minimiser.round(5).tolist(), round(known.minimum, 6), known.smoothness
    ([-1.04668], -0.102386, 11.0)
    """

    tilt: Float[Array, ""] = eqx.field(converter=lambda value: jnp.asarray(value, float), default=0.1)
    radius: float | None = eqx.field(static=True, default=None)

    def __check_init__(self) -> None:
        if self.radius is not None and not self.radius >= 1:
            raise ValueError(f"DoubleWell got the radius {self.radius}; give 1 or more, so that L is 3 radius² − 1.")

    def __call__(self, w: Points) -> Values:
        xp, tilt = follow(w, self.tilt)
        return xp.sum((w**2 - 1) ** 2 / 4 + tilt * w, axis=-1)

    def gradient(self, w: Points) -> Points:
        return w**3 - w + follow(w, self.tilt)[1]

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
        smoothness = None if self.radius is None else 3 * self.radius**2 - 1
        return Constants(smoothness, minimiser=np.array([best]), minimum=float((best**2 - 1) ** 2 / 4 + tilt * best))


class Rosenbrock(Objective):
    """l(w) = (1 − w₁)² + 100(w₂ − w₁²)²: one minimum at (1, 1), in a curved valley.

    >>> Rosenbrock()(jnp.zeros(2)).item(), jnp.abs(Rosenbrock().gradient(jnp.ones(2))).tolist()
    (1.0, [0.0, 0.0])
    """

    def __call__(self, w: Points) -> Values:
        return (1 - w[..., 0]) ** 2 + 100 * (w[..., 1] - w[..., 0] ** 2) ** 2

    def gradient(self, w: Points) -> Points:
        u, above = w[..., 0], w[..., 1] - w[..., 0] ** 2
        return namespace(w).stack([-2 * (1 - u) - 400 * u * above, 200 * above], axis=-1)

    def hessian(self, w: Vector) -> Matrix:
        return jnp.array([[2 - 400 * w[1] + 1200 * w[0] ** 2, -400 * w[0]], [-400 * w[0], 200.0]])

    def constants(self) -> Constants:
        return Constants(minimiser=np.ones(2), minimum=0.0)


class Himmelblau(Objective):
    """l(w) = (w₁² + w₂ − 11)² + (w₁ + w₂² − 7)²: four minima of value 0 (one at (3, 2)), four saddles, one maximum.

    >>> Himmelblau()(jnp.array([3.0, 2.0])).item()
    0.0
    """

    def __call__(self, w: Points) -> Values:
        u, v = w[..., 0], w[..., 1]
        return (u**2 + v - 11) ** 2 + (u + v**2 - 7) ** 2

    def gradient(self, w: Points) -> Points:
        u, v = w[..., 0], w[..., 1]
        a, b = u**2 + v - 11, u + v**2 - 7
        return namespace(w).stack([4 * u * a + 2 * b, 2 * a + 4 * v * b], axis=-1)

    def hessian(self, w: Vector) -> Matrix:
        mixed = 4 * (w[0] + w[1])
        return jnp.array([[12 * w[0] ** 2 + 4 * w[1] - 42, mixed], [mixed, 4 * w[0] + 12 * w[1] ** 2 - 26]])

    def constants(self) -> Constants:
        return Constants(minimiser=np.array([3.0, 2.0]), minimum=0.0)
