"""What is minimised: a function of a vector that may know its own constants, and the quadratic."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leadline._arrays import follow

Vector = Float[Array, " p"]
Matrix = Float[Array, "p p"]
Points = Float[Array | np.ndarray, "*points p"]
Values = Float[Array | np.ndarray | np.floating, "*points"]


class Constants(NamedTuple):
    """What is certain of an objective; None where nothing is known.

    `smoothness` L: ∇l is L-Lipschitz. `strong_convexity` m: l − (m/2)‖·‖² is convex (0: convex, None: not convex or
    not known). `pl` μ: ½‖∇l‖² ≥ μ(l − l*). `minimiser` w* and `minimum` l*.
    """

    smoothness: float | None = None
    strong_convexity: float | None = None
    pl: float | None = None
    minimiser: Float[np.ndarray, " p"] | None = None
    minimum: float | None = None

    @property
    def condition(self) -> float:
        """κ = L/m."""
        if self.smoothness is None or not self.strong_convexity:
            raise ValueError("condition needs certified L and m > 0; this objective has none: measure them instead.")
        return self.smoothness / self.strong_convexity

    def certified(self) -> "Certified":
        """The same with nothing missing, for a convex objective whose minimum is known.

        >>> Constants(4.0, 1.0, 1.0, np.zeros(2), 0.0).certified().strong_convexity
        1.0
        """
        L, m, w, minimum = self.smoothness, self.strong_convexity, self.minimiser, self.minimum
        if L is None or m is None or w is None or minimum is None:
            raise ValueError("certified needs L, m, the minimiser and the minimum; measure what is not known instead.")
        return Certified(L, m, w, minimum)


class Certified(NamedTuple):
    """L, m (0: convex only), w* and l* of a convex objective, all of them known."""

    smoothness: float
    strong_convexity: float
    minimiser: Float[np.ndarray, " p"]
    minimum: float


class Objective(eqx.Module):
    """l(w) of one vector w. A subclass gives `__call__` and, where it is certain of them, `constants`.

    It is a pytree whose arrays are data, so a function compiled for one objective serves all of the same shape. Values
    and gradients in closed form follow the points: of NumPy arrays they are NumPy arrays, without compilation, and of
    many points in the last axis as many values.
    """

    def __call__(self, w: Vector) -> Float[Array, ""]:
        raise NotImplementedError

    def gradient(self, w: Vector) -> Vector:
        return jax.grad(self)(w)

    def value_and_gradient(self, w: Vector) -> tuple[Float[Array, ""], Vector]:
        return jax.value_and_grad(self)(w)

    def hessian(self, w: Vector) -> Matrix:
        return jax.hessian(self)(w)

    def hessian_product(self, w: Vector, v: Vector) -> Vector:
        """∇²l(w) v, by forward over reverse mode: about two gradients."""
        return jax.jvp(jax.grad(self), (w,), (v,))[1]

    def constants(self) -> Constants:
        return Constants()

    def gap(self, w: Any) -> Any:
        """l(w) − l* at one point or at many, where the minimum is certified."""
        minimum = self.constants().minimum
        if minimum is None:
            raise ValueError(
                f"gap needs a certified minimum, and {type(self).__name__} has none; subtract one you found."
            )
        return self(w) - minimum


class Quadratic(Objective):
    """l(w) = ½ wᵀAw − bᵀw with symmetric A; L = λ_max, m = λ_min and μ the least non-zero eigenvalue.

    >>> Quadratic(jnp.diag(jnp.array([1.0, 4.0])), jnp.zeros(2)).constants().condition
    4.0
    """

    matrix: Float[Array | np.ndarray, "p p"]
    linear: Float[Array | np.ndarray, " p"]

    def __call__(self, w: Points) -> Values:
        return self.value_and_gradient(w)[0]

    def gradient(self, w: Points) -> Points:
        return self.value_and_gradient(w)[1]

    def value_and_gradient(self, w: Points) -> tuple[Values, Points]:
        xp, matrix, linear = follow(w, self.matrix, self.linear)
        image = w @ matrix
        return xp.sum(w * (image / 2 - linear), axis=-1), image - linear

    def hessian(self, w: Points) -> Float[Array | np.ndarray, "p p"]:
        return self.matrix

    def constants(self) -> Constants:
        values, vectors = np.linalg.eigh(np.asarray(self.matrix))
        negligible = np.abs(values) <= 1e-12 * np.abs(values).max()
        values = np.where(negligible, 0.0, values)
        smoothness = float(np.abs(values).max())
        if values[0] < 0:
            return Constants(smoothness)
        seen = vectors.T @ np.asarray(self.linear)
        if np.any(np.abs(seen[negligible]) > 1e-10 * max(1.0, float(np.abs(seen).max()))):
            return Constants(smoothness, float(values[0]))  # linear along a flat direction: no minimum
        inverse = np.where(values > 0, 1 / np.where(values > 0, values, 1.0), 0.0)
        minimiser = vectors @ (inverse * seen)
        least = float(values[values > 0].min()) if np.any(values > 0) else None
        return Constants(smoothness, float(values[0]), least, minimiser, float(-np.sum(inverse * seen**2) / 2))


def spread_quadratic(
    dimension: int, condition: float, *, rotation: Float[np.ndarray, "p p"] | None = None
) -> Quadratic:
    """½ wᵀAw with eigenvalues spaced evenly in the logarithm from 1 to κ, in the basis `rotation` (columns).

    >>> spread_quadratic(3, 100.0).matrix.diagonal().round(6).tolist()
    [1.0, 10.0, 100.0]
    """
    values = np.geomspace(1.0, condition, dimension)
    basis = np.eye(dimension) if rotation is None else rotation
    return Quadratic(jnp.asarray(basis * values @ basis.T), jnp.zeros(dimension))
