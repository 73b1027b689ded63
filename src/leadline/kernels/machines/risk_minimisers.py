"""Regularised risk minimisation, in feature space and in kernel form, for convex losses."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num, Real

from leadline.optimisation import newton_minimum

from .expansion import Expansion, Gram, Points
from .ridge_regression import kernel_ridge, sample_gram
from .support_vectors import Labels, kernel_svm

SmoothLoss = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


def _squared(f: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (f - y) ** 2, 2 * (f - y), np.full_like(f, 2.0)


def _logistic(f: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from scipy.special import expit

    s = expit(-y * f)
    return np.logaddexp(0, -y * f), -y * s, s * (1 - s)


SMOOTH_LOSSES: dict[str, SmoothLoss] = {"squared": _squared, "logistic": _logistic}  # value, slope, curvature in f
CONVEX_LOSSES = ("squared", "logistic", "hinge")


class FeatureMinimum(NamedTuple):
    """The minimiser θ of (1/n) Σ L(θ·φ(xᵢ), yᵢ) + γ‖θ‖²."""

    weights: Float[np.ndarray, " p"]
    objective: float
    gradient: float  # norm of the gradient at the end; 0 for the hinge, which has none


class KernelMinimum(NamedTuple):
    """The minimiser f = Σ αᵢ k(xᵢ, ·) of (1/n) Σ L(f(xᵢ), yᵢ) + γ‖f‖²."""

    expansion: Expansion
    alpha: Float[np.ndarray, " n"]
    scores: Float[np.ndarray, " n"]
    objective: float
    residual: float  # of the optimality conditions: |L'(fᵢ) + 2nγ αᵢ|, or the KKT residual of the hinge


def feature_objective(
    weights: Real[np.ndarray, "*batch p"],
    features: Real[Array | np.ndarray, "n p"],
    y: Num[Array | np.ndarray, " n"],
    gamma: float,
    loss: str = "squared",
) -> Float[np.ndarray, "*batch"]:
    """(1/n) Σ L(θ·φ(xᵢ), yᵢ) + γ‖θ‖², for one θ or a batch of them: strongly convex with modulus 2γ.

    >>> float(feature_objective(np.array([1.0]), np.array([[1.0], [2.0]]), np.array([1.0, 0.0]), 0.5))
    2.5
    """
    _known(loss)
    f, y = weights @ np.asarray(features).T, np.asarray(y)
    values = np.maximum(0, 1 - y * f) if loss == "hinge" else SMOOTH_LOSSES[loss](f, y)[0]
    return np.asarray(values.mean(axis=-1) + gamma * np.sum(weights**2, axis=-1))


def feature_erm(
    features: Real[Array | np.ndarray, "n p"],
    y: Num[Array | np.ndarray, " targets"],
    gamma: float,
    loss: str = "squared",
    *,
    start: Real[np.ndarray, " p"] | None = None,
) -> FeatureMinimum:
    """argmin (1/n) Σ L(θ·φ(xᵢ), yᵢ) + γ‖θ‖² for squared, logistic or hinge loss: unique, for γ > 0.

    `optimisation.newton_minimum` from `start` (0); the hinge by `margins.soft_margin`.

    >>> feature_erm(np.array([[1.0], [2.0]]), np.array([1.0, 2.0]), 2.5).weights.round(9).tolist()
    [0.5]
    """
    _known(loss)
    _penalised("feature_erm", gamma)
    features, y = np.asarray(features, float), np.asarray(y, float)
    if features.shape[0] != len(y) or not len(y):
        raise ValueError(f"feature_erm got features {features.shape} and {len(y)} targets; give one target per row.")
    if loss == "hinge":
        from leadline.linear_classifiers.margins import soft_margin

        weights = soft_margin(features, y, ridge=2 * gamma, bias=False).weights
        return FeatureMinimum(weights, float(feature_objective(weights, features, y, gamma, loss)), 0.0)
    n, p = features.shape

    def derivatives(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _, slope, curvature = SMOOTH_LOSSES[loss](features @ theta, y)
        hessian = features.T @ (features * (curvature / n)[:, None]) + 2 * gamma * np.eye(p)
        return features.T @ slope / n + 2 * gamma * theta, hessian

    end = newton_minimum(
        lambda theta: feature_objective(theta, features, y, gamma, loss),
        np.zeros(p) if start is None else np.asarray(start, float),
        derivatives,
    )
    return FeatureMinimum(end.point, end.value, float(np.linalg.norm(end.gradient)))


def kernel_erm(
    kernel: Gram,
    x: Points,
    y: Labels,
    gamma: float,
    loss: str = "squared",
    *,
    gram: Float[Array | np.ndarray, "n n"] | None = None,
) -> KernelMinimum:
    """min over α of (1/n) Σ L((Kα)ᵢ, yᵢ) + γ αᵀKα: squared (`kernel_ridge`), logistic (Newton), hinge (`kernel_svm`).

    f is unique for γ > 0. α need not be where K is singular; the one returned solves L'(fᵢ) + 2nγ αᵢ = 0.

    >>> kernel_erm(lambda a, b: a @ b.T, np.array([[1.0], [2.0]]), np.array([1.0, 2.0]), 2.5).scores.round(9).tolist()
    [0.5, 1.0]
    """
    _known(loss)
    _penalised("kernel_erm", gamma)
    if loss == "hinge":
        machine = kernel_svm(kernel, x, y, gamma, gram=gram)
        alpha = np.asarray(machine.expansion.coefficients)
        return KernelMinimum(machine.expansion, alpha, machine.scores, machine.objective, machine.residual)
    x, y, K = sample_gram(kernel, x, y, gram)
    if loss == "squared":
        fit = kernel_ridge(kernel, x, y, gamma, gram=K)
        alpha = fit.alpha
    else:
        if not np.all(np.abs(y) == 1):
            raise ValueError("kernel_erm got labels other than -1 and +1; for labels t in {0, 1} pass 2 * t - 1.")
        features = _least_norm_features(K)
        scores = features @ feature_erm(features, y, gamma, loss).weights
        alpha = -SMOOTH_LOSSES[loss](scores, y)[1] / (2 * len(y) * gamma)
    f = K @ alpha
    value, slope, _ = SMOOTH_LOSSES[loss](f, y)
    residual = float(np.abs(slope + 2 * len(y) * gamma * alpha).max())
    return KernelMinimum(Expansion(kernel, x, alpha), alpha, f, float(value.mean() + gamma * alpha @ f), residual)


def _least_norm_features(K: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n r"]:
    """R with RRᵀ = K: features in which ‖f‖² is ‖β‖² for f = Rβ, K singular or not."""
    values, vectors = np.linalg.eigh(K)
    kept = values > len(K) * np.finfo(float).eps * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def _known(loss: str) -> None:
    if loss not in CONVEX_LOSSES:
        raise ValueError(f"Unknown loss {loss!r}; choose one of {', '.join(CONVEX_LOSSES)}.")


def _penalised(owner: str, gamma: float) -> None:
    if not (np.isfinite(gamma) and gamma > 0):
        raise ValueError(f"{owner} got gamma = {gamma}; give a finite penalty above 0.")
