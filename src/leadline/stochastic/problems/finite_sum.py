"""A finite sum: n losses of one vector, of which a stochastic method looks at a few at a time."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num

from leadline import optimisation
from leadline.optimisation import LogisticRidge, SoftmaxRidge
from leadline.optimisation.objectives.objective import Constants, Objective

from .linear_loss import LinearLoss, cross_entropy_of_scores, logistic_of_score

Vector = Float[Array, " p"]
Matrix = Float[Array, "p p"]
Row = Int[Array, ""] | int


class FiniteSum(Objective):
    """l(w) = (1/n) Σᵢ ℓ(w, rowᵢ): the loss of one example `loss(w, *row)`, and arrays with n rows each.

    A gradient of the whole costs n gradients of components. `whole` is the same function written in one piece, if
    there is such a form: it is then used for values, Hessians and constants. A loss that knows the smoothness of one
    example has a method `smoothness(*rows)`.

    >>> two = FiniteSum(lambda w, y: (w[0] - y) ** 2 / 2, (jnp.array([1.0, 3.0]),))
    >>> w = jnp.zeros(1)
    >>> two(w).item(), two.gradients(w).tolist(), two.covariance(w).tolist()
    (2.5, [[-1.0], [-3.0]], [[1.0]])
    """

    loss: Callable[..., Float[Array, ""]]
    arrays: tuple[Num[Array, "n ..."], ...]
    whole: Objective | None

    def __init__(self, loss: Callable[..., Float[Array, ""]], arrays: tuple, whole: Objective | None = None):
        arrays = tuple(jnp.asarray(a) for a in arrays)
        rows = [a.shape[0] if a.ndim else 0 for a in arrays]
        if not arrays or min(rows) < 1 or min(rows) != max(rows):
            raise ValueError(f"FiniteSum got arrays with {rows} rows; give at least one array, all with n ≥ 1 rows.")
        self.loss, self.arrays, self.whole = loss, arrays, whole

    @property
    def samples(self) -> int:
        """n, the number of components."""
        return self.arrays[0].shape[0]

    def __call__(self, w: Vector) -> Float[Array, ""]:
        return jnp.mean(self.losses(w)) if self.whole is None else self.whole(w)

    def row(self, i: Row) -> tuple[Num[Array, "..."], ...]:
        return tuple(a[i] for a in self.arrays)

    def losses(self, w: Vector) -> Float[Array, " n"]:
        return jax.vmap(self.loss, (None, *(0 for _ in self.arrays)))(w, *self.arrays)

    def gradients(self, w: Vector) -> Float[Array, "n p"]:
        """gᵢ = ∇ℓᵢ(w) in rows."""
        return jax.vmap(jax.grad(self.loss), (None, *(0 for _ in self.arrays)))(w, *self.arrays)

    def component_gradient(self, w: Vector, i: Row) -> Vector:
        """gᵢ of one component: one unit of work."""
        return jax.grad(self.loss)(w, *self.row(i))

    def batch_gradient(self, w: Vector, rows: Int[Array, " b"], weights: Float[Array, " b"] | None = None) -> Vector:
        """(1/b) Σ_k c_k g_{i_k}(w), b units of work; c = 1, or 1/(n pᵢ) for indices drawn with pᵢ."""
        picked = tuple(a[rows] for a in self.arrays)
        gradients = jax.vmap(jax.grad(self.loss), (None, *(0 for _ in picked)))(w, *picked)
        return (gradients if weights is None else weights[:, None] * gradients).mean(axis=0)

    def covariance(self, w: Vector) -> Matrix:
        """C = (1/n) Σ (gᵢ − g)(gᵢ − g)ᵀ."""
        centred = self._centred(w)
        return centred.T @ centred / self.samples

    def gram(self, w: Vector) -> Float[Array, "n n"]:
        """(gᵢ − g)·(gⱼ − g)/n: n × n, with the non-zero eigenvalues of C."""
        centred = self._centred(w)
        return centred @ centred.T / self.samples

    def hessian(self, w: Vector) -> Matrix:
        return jax.hessian(self)(w) if self.whole is None else self.whole.hessian(w)

    def constants(self) -> Constants:
        return Constants() if self.whole is None else self.whole.constants()

    def sample_smoothness(self) -> Float[np.ndarray, " n"]:
        """Lᵢ of each component, where the loss knows it; their maximum is L_max."""
        if not hasattr(self.loss, "smoothness"):
            raise ValueError(
                "This loss does not know its smoothness: give it a method smoothness(*rows), or measure L."
            )
        return np.asarray(self.loss.smoothness(*self.arrays))

    def _centred(self, w: Vector) -> Float[Array, "n p"]:
        gradients = self.gradients(w)
        return gradients - gradients.mean(axis=0)


class SquaredError(eqx.Module):
    """½ (x·w − y)² of one example."""

    def __call__(self, w: Vector, x: Float[Array, " p"], y: Float[Array, ""]) -> Float[Array, ""]:
        return (x @ w - y) ** 2 / 2

    def smoothness(self, x: Float[Array, "n p"], y: Float[Array, " n"]) -> Float[Array, " n"]:
        return jnp.sum(x**2, axis=-1)


class SoftmaxLoss(LinearLoss):
    """log Σ_c exp(x·W_c) − x·W_label + (a/2)‖W‖² of one example."""

    def __init__(self, penalty: Float[Array, ""], classes: int):
        super().__init__(cross_entropy_of_scores, penalty, classes)

    def smoothness(self, x: Float[Array, "n d"], label: Int[Array, " n"]) -> Float[Array, " n"]:
        return jnp.sum(x**2, axis=-1) / 2 + self.penalty


def least_squares_sum(x: Num[Array | np.ndarray, "n p"], y: Num[Array | np.ndarray, " n"]) -> FiniteSum:
    """(1/2n) Σ (xᵢ·w − yᵢ)², with H = XᵀX/n and L_max = maxᵢ ‖xᵢ‖².

    >>> least_squares_sum(np.array([[1.0], [2.0]]), np.array([1.0, 4.0])).sample_smoothness().tolist()
    [1.0, 4.0]
    """
    x, y = jnp.asarray(x, float), jnp.asarray(y, float)
    return FiniteSum(SquaredError(), (x, y), optimisation.LeastSquares(x, y))


def six_points() -> FiniteSum:
    """The six-point problem: least squares in one dimension, on which everything is known exactly.

    >>> six_points().samples, round(float(six_points().sample_smoothness().max()), 6)
    (6, 1.44)
    """
    x = np.array([[0.6], [0.8], [1.0], [1.2], [0.5], [1.1]])
    return least_squares_sum(x, np.array([1.0, -0.3, 0.4, 0.9, -0.6, 0.2]))


def finite_logistic(objective: LogisticRidge) -> FiniteSum:
    """Logistic regression as the sum over its examples, the penalty in each of them.

    >>> loss = optimisation.LogisticRidge(jnp.eye(2), jnp.array([1.0, -1.0]), 0.5)
    >>> (finite_logistic(loss).gradients(jnp.zeros(2)) + 0.0).tolist()
    [[-0.5, 0.0], [0.0, 0.5]]
    """
    loss = LinearLoss(logistic_of_score, jnp.asarray(objective.penalty), 1)
    return FiniteSum(loss, (objective.x, objective.y), objective)


def finite_softmax(objective: SoftmaxRidge) -> FiniteSum:
    """Softmax regression as the sum over its examples, the penalty in each of them.

    >>> finite_softmax(optimisation.digits_softmax(0.01)).samples
    1797
    """
    return FiniteSum(SoftmaxLoss(objective.penalty, objective.classes), (objective.x, objective.labels), objective)
