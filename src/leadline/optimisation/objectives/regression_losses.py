"""Least squares and logistic regression, with or without a ridge, with their certified constants."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from leadline._arrays import follow, special

from ..runs.newton_minimum import newton_minimum
from .objective import Constants, Matrix, Objective, Points, Values, Vector


def _number(value: float | Array) -> Float[Array, ""]:
    return jnp.asarray(value, float)


class LeastSquares(Objective):
    """l(w) = (1/2n)‖y − Xw‖² + (a/2)‖w‖², by default a = 0; its Hessian is XᵀX/n + aI everywhere.

    Certified: L and m are the extreme eigenvalues, μ the least non-zero one, w* the minimiser of least norm.

    >>> loss = LeastSquares(jnp.array([[2.0, 0.0], [0.0, 0.0]]), jnp.array([2.0, 1.0]))
    >>> known = loss.constants()
    >>> known.smoothness, known.strong_convexity, known.pl, known.minimiser.round(9).tolist(), known.minimum
    (2.0, 0.0, 2.0, [1.0, 0.0], 0.25)
    """

    x: Float[Array, "n p"] = eqx.field(converter=jnp.asarray)
    y: Float[Array, " n"] = eqx.field(converter=jnp.asarray)
    penalty: Float[Array, ""] = eqx.field(converter=_number, default=0.0)

    def __call__(self, w: Points) -> Values:
        xp, x, y, a = follow(w, self.x, self.y, self.penalty)
        return xp.sum((w @ x.T - y) ** 2, axis=-1) / (2 * len(y)) + a * xp.sum(w**2, axis=-1) / 2

    def gradient(self, w: Points) -> Points:
        _, x, y, a = follow(w, self.x, self.y, self.penalty)
        return (w @ x.T - y) @ x / len(y) + a * w

    def hessian(self, w: Vector) -> Matrix:
        return self.x.T @ self.x / len(self.y) + self.penalty * jnp.eye(self.x.shape[1], dtype=self.x.dtype)

    def constants(self) -> Constants:
        x, y, a = (np.asarray(part, float) for part in (self.x, self.y, self.penalty))
        n, p = x.shape
        left, singular, right = np.linalg.svd(x, full_matrices=False)
        seen = singular > singular.max() * max(n, p) * np.finfo(x.dtype).eps
        values = np.concatenate([np.where(seen, singular, 0.0) ** 2 / n, np.zeros(p - len(singular))]) + a
        weights = np.where(seen, singular, 0.0) / np.where(seen, singular**2 + n * a, 1.0)
        best = right.T @ (weights * (left.T @ y))
        minimum = float(np.sum((y - x @ best) ** 2) / (2 * n) + a * (best @ best) / 2)
        positive = values[values > 0]
        return Constants(
            float(values.max()), float(values.min()), float(positive.min()) if positive.size else None, best, minimum
        )


class LogisticRidge(Objective):
    """l(w) = (1/n) Σᵢ log(1 + exp(−yᵢ xᵢ·w)) + (a/2)‖w‖² with labels y = ±1.

    Certified: L = λ_max(XᵀX/n)/4 + a and m = a, because the logistic loss has curvature between 0 and 1/4. The
    minimiser is found by damped Newton steps to rounding; without a penalty none is claimed (separable data have none).

    >>> known = LogisticRidge(jnp.array([[2.0], [2.0]]), jnp.array([1.0, -1.0]), 0.5).constants()
    >>> round(known.smoothness, 9), known.strong_convexity, known.minimiser.tolist(), round(known.minimum, 6)
    (1.5, 0.5, [0.0], 0.693147)
    """

    x: Float[Array, "n p"] = eqx.field(converter=jnp.asarray)
    y: Float[Array, " n"] = eqx.field(converter=jnp.asarray)
    penalty: Float[Array, ""] = eqx.field(converter=_number, default=0.0)

    def __check_init__(self) -> None:
        if not isinstance(self.y, Tracer) and not np.all(np.abs(np.asarray(self.y)) == 1):
            raise ValueError("LogisticRidge needs labels −1 or +1; convert labels 0, 1 by 2y − 1.")

    def __call__(self, w: Points) -> Values:
        xp, x, y, a = follow(w, self.x, self.y, self.penalty)
        return xp.mean(xp.logaddexp(0.0, -y * (w @ x.T)), axis=-1) + a * xp.sum(w**2, axis=-1) / 2

    def gradient(self, w: Points) -> Points:
        xp, x, y, a = follow(w, self.x, self.y, self.penalty)
        return -(y * special(xp).expit(-y * (w @ x.T))) @ x / len(y) + a * w

    def sample_gradients(self, w: Points) -> Float[Array | np.ndarray, "*points n p"]:
        """−yᵢσ(−yᵢ xᵢ·w) xᵢ + a w for every example i; their mean is the gradient."""
        xp, x, y, a = follow(w, self.x, self.y, self.penalty)
        return (-y * special(xp).expit(-y * (w @ x.T)))[..., None] * x + a * w[..., None, :]

    @property
    def largest_sample_smoothness(self) -> float:
        """L_max = maxᵢ ‖xᵢ‖²/4 + a, the smoothness of the roughest single example."""
        return float(np.max(np.sum(np.asarray(self.x) ** 2, axis=1)) / 4 + self.penalty)

    def hessian(self, w: Points) -> Float[Array | np.ndarray, "*points p p"]:
        xp, x, a = follow(w, self.x, self.penalty)
        s = special(xp).expit(w @ x.T)
        return (x.T * (s * (1 - s))[..., None, :]) @ x / len(x) + a * xp.eye(x.shape[1], dtype=x.dtype)

    def constants(self) -> Constants:
        x, y, a = (np.asarray(part, float) for part in (self.x, self.y, self.penalty))
        a = float(a)
        smoothness = float(np.linalg.norm(x, 2) ** 2 / (4 * len(y)) + a)
        if a <= 0:
            return Constants(smoothness, 0.0)
        best = _minimiser(x, y, a)
        minimum = float(np.mean(np.logaddexp(0.0, -y * (x @ best))) + a * (best @ best) / 2)
        return Constants(smoothness, a, a, best, minimum)


def _minimiser(x: np.ndarray, y: np.ndarray, a: float) -> np.ndarray:
    from scipy.special import expit

    def derivatives(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wrong = expit(-y * (x @ w))
        return a * w - x.T @ (y * wrong) / len(y), (x.T * (wrong * (1 - wrong))) @ x / len(y) + a * np.eye(len(w))

    def loss(w: np.ndarray) -> float:
        return float(np.mean(np.logaddexp(0.0, -y * (x @ w))) + a * (w @ w) / 2)

    return newton_minimum(loss, np.zeros(x.shape[1]), derivatives).point
