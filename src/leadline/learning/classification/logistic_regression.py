"""Logistic regression: p(1|x) = σ(w·x + b), fitted by Newton's method or by gradient descent."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray, Real

from leadline.optimisation import newton_minimum

from ..losses import logistic
from ..risk.erm import separated_count

Inputs = Real[Array | np.ndarray, "n d"]
Answers = Num[Array | np.ndarray, " _"]


class LogisticFit(NamedTuple):
    """log p(1|x)/p(0|x) = w·x + b."""

    weights: Float[np.ndarray, " d"]
    bias: float
    loss: float  # mean logistic loss, without the ridge term
    covariance: Float[np.ndarray, "p p"]  # of (w, b): the inverse of the Fisher matrix Σ p(1-p) x xᵀ (+ n·ridge)
    gradient: float  # largest entry of the gradient where the iteration stopped

    def log_odds(self, x: Inputs) -> Float[np.ndarray, " n"]:
        """w·x + b, row by row."""
        return np.asarray(x) @ self.weights + self.bias

    def probability(self, x: Inputs) -> Float[np.ndarray, " n"]:
        """p(1|x), row by row."""
        from scipy.special import expit

        return expit(self.log_odds(x))


def fit_logistic(
    x: Inputs, y: Answers, *, ridge: float = 0.0, intercept: bool = True, max_steps: int = 100
) -> LogisticFit:
    """Minimise mean log(1 + exp(-(2y-1)(w·x + b))) + (ridge/2)‖w‖² by Newton's method (y is 0 or 1).

    A Newton step (`optimisation.newton_minimum`) solves a least-squares problem with weights p(1-p), hence IRLS. The
    Hessian is positive semidefinite. Without a ridge, data that a plane separates, be it with points on
    the plane, have no finite minimiser: they are refused. In double precision.

    >>> x, y = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]]), np.array([0, 1, 0, 1, 1])
    >>> fit = fit_logistic(x, y)
    >>> fit.probability(np.array([[0.0], [1.0]])).round(6).tolist()
    [0.5, 0.666667]
    """
    x, t = _sample("fit_logistic", x, y)
    if ridge < 0:
        raise ValueError(f"fit_logistic got ridge = {ridge}; it must be at least 0.")
    matrix = np.column_stack([x, np.ones(len(x))]) if intercept else x
    sign, n = 2 * t - 1, len(x)
    penalty = ridge * np.append(np.ones(x.shape[1]), [0.0] * intercept)

    def objective(w: np.ndarray) -> float:
        return float(np.logaddexp(0, -sign * (matrix @ w)).mean() + penalty @ w**2 / 2)

    end = newton_minimum(
        objective, np.zeros(matrix.shape[1]), lambda w: _derivatives(matrix, sign, w, penalty), max_steps=max_steps
    )
    w, hessian, moved = end.point, end.hessian, float(np.abs(matrix @ end.step).max())
    loss = float(np.logaddexp(0, -sign * (matrix @ w)).mean())
    # On the way to infinity Newton's steps go on changing some log-odds by about 1, however small the gradient is.
    if ridge == 0 and moved > 1e-6 and not finite_fit_exists(x, t, intercept=intercept):
        raise ValueError(
            "The classes can be separated by a plane, so no finite weights minimise the logistic loss; "
            "pass ridge > 0, or stop early with descend_logistic."
        )
    bias = float(w[-1]) if intercept else 0.0
    return LogisticFit(
        w[: x.shape[1]], bias, loss, np.linalg.pinv(n * hessian, hermitian=True), float(np.abs(end.gradient).max())
    )


def finite_fit_exists(x: Inputs, y: Answers, *, intercept: bool = True) -> bool:
    """Whether the logistic loss has a minimiser: iff no (w, b) has (2y-1)(w·x + b) ≥ 0 everywhere and > 0 somewhere.

    One linear programme; stricter than inseparability, since points on the plane do not help (Albert and Anderson
    1984).

    >>> finite_fit_exists(np.array([[0.0], [1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1]))
    False
    """
    x, t = _sample("finite_fit_exists", x, y)
    return separated_count(np.column_stack([x, np.ones(len(x))]) if intercept else x, 2 * t - 1)[0] == 0


def descend_logistic(
    x: Inputs,
    y: Answers,
    *,
    num_steps: int,
    rate: float | None = None,
    ridge: float = 0.0,
    batch: int | None = None,
    key: PRNGKeyArray | None = None,
) -> LogisticFit:
    """The same objective from (w, b) = 0 by gradient descent, or by SGD with `batch`; a few steps are early stopping.

    The default rate is 1/L with L = λ_max(Σ x xᵀ)/(4n) + ridge, at which the loss falls in every full step.

    >>> x, y = np.array([[-1.0], [1.0]]), np.array([0, 1])
    >>> descend_logistic(x, y, num_steps=10).loss < 0.6
    True
    """
    import optax

    from leadline.training import minimise

    x, t = _sample("descend_logistic", x, y)
    matrix = np.column_stack([x, np.ones(len(x))])
    if rate is None:
        rate = float(1 / (np.linalg.norm(matrix, 2) ** 2 / (4 * len(x)) + ridge))

    def objective(w, rows, sign):
        return logistic(sign * (rows @ w)).mean() + ridge / 2 * (w[:-1] ** 2).sum()

    rows, sign = jnp.asarray(matrix), jnp.asarray(2 * t - 1)
    end, _ = minimise(
        objective, jnp.zeros(rows.shape[1], rows.dtype), optax.sgd(rate), num_steps, rows, sign, batch=batch, key=key
    )
    w = np.asarray(end, float)
    penalty = ridge * np.append(np.ones(x.shape[1]), 0.0)
    gradient, hessian = _derivatives(matrix, 2 * t - 1, w, penalty)
    loss = float(np.logaddexp(0, -(2 * t - 1) * (matrix @ w)).mean())
    covariance = np.linalg.pinv(len(x) * hessian, hermitian=True)
    return LogisticFit(w[:-1], float(w[-1]), loss, covariance, float(np.abs(gradient).max()))


def _derivatives(matrix: np.ndarray, sign: np.ndarray, w: np.ndarray, penalty: np.ndarray):
    """Gradient -mean y' σ(-y' w·x) x + ridge·w, and Hessian mean p(1-p) x xᵀ + ridge."""
    from scipy.special import expit

    wrong = expit(-sign * (matrix @ w))  # the probability of the other answer
    gradient = -(sign * wrong) @ matrix / len(matrix) + penalty * w
    hessian = (matrix * (wrong * (1 - wrong))[:, None]).T @ matrix / len(matrix) + np.diag(penalty)
    return gradient, hessian


def _sample(function: str, x, y) -> tuple[np.ndarray, np.ndarray]:
    x, t = np.asarray(x, float), np.asarray(y, float)
    if t.shape != x.shape[:1] or not np.isin(t, (0.0, 1.0)).all():
        raise ValueError(f"{function} needs one answer 0 or 1 for each row of x; map -1/+1 by t = (y + 1)/2.")
    return x, t
