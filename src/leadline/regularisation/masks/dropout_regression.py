"""Dropout in linear regression: moments of masked inputs, and the weighted ridge that it is on average."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Real

from leadline._checks import require, require_rows
from leadline.learning import least_squares

Keep = float | Float[Array | np.ndarray, " d"]


class MaskedMoments(NamedTuple):
    """E[R ∘ X] and E[(R ∘ X)ᵀ(R ∘ X)] over masks R with an independent entry for each row and feature."""

    mean: Float[np.ndarray, "n d"]
    second: Float[np.ndarray, "d d"]


def masked_moments(x: Real[Array | np.ndarray, "n d"], keep: Keep) -> MaskedMoments:
    """The first two moments of inputs of which feature j is kept with probability π_j and else set to 0.

    $$E[R \\circ X] = X \\Pi, \\quad E[(R \\circ X)^T (R \\circ X)]_{ij} = \\pi_i \\pi_j (X^T X)_{ij} \\; (i \\ne j),
    \\; \\pi_i (X^T X)_{ii}$$

    >>> moments = masked_moments(np.array([[1.0, 2.0]]), 0.5)
    >>> moments.second.tolist()
    [[0.5, 0.5], [0.5, 2.0]]
    """
    x, pi = _checked("masked_moments", x, keep)
    gram = x.T @ x
    second = pi[:, None] * gram * pi
    np.fill_diagonal(second, pi * gram.diagonal())
    return MaskedMoments(x * pi, second)


class DropoutLoss(NamedTuple):
    """E‖y − (R ∘ X)w‖² in two parts: the squared error of the scaled weights, and the penalty."""

    fit: float
    penalty: float

    @property
    def value(self) -> float:
        return self.fit + self.penalty


def dropout_loss(
    x: Real[Array | np.ndarray, "n d"],
    y: Real[Array | np.ndarray, " n"],
    weights: Real[Array | np.ndarray, " d"],
    keep: Keep,
) -> DropoutLoss:
    """What dropout on the inputs minimises on average: E‖y − (R ∘ X)w‖² = ‖y − XΠw‖² + Σ π_j(1 − π_j)‖x_j‖²w_j².

    Srivastava et al. 2014, section 9.1; Wager, Wang and Liang 2013 for other losses.

    >>> dropout_loss(np.eye(2), np.array([1.0, 0.0]), np.array([1.0, 1.0]), 0.5).value
    1.0
    """
    require_rows("dropout_loss", x=x, y=y)
    require("dropout_loss", axes=1, y=y, weights=weights)
    x, pi = _checked("dropout_loss", x, keep)
    w = np.asarray(weights, float)
    if len(w) != x.shape[1]:
        raise ValueError(f"dropout_loss got {len(w)} weights for {x.shape[1]} features; give one for each.")
    fit = np.sum((np.asarray(y, float) - x @ (pi * w)) ** 2)
    return DropoutLoss(float(fit), float(np.sum(pi * (1 - pi) * np.sum(x**2, axis=0) * w**2)))


def dropout_ridge(
    x: Real[Array | np.ndarray, "n d"], y: Real[Array | np.ndarray, " n"], keep: Keep
) -> Float[np.ndarray, " d"]:
    """w̃ = πw that minimises dropout's expected loss, the weights to use at test time: a ridge weighted by ‖x_j‖².

    $$\\tilde w = \\left(X^T X + \\tfrac{1 - \\pi}{\\pi}\\, \\mathrm{diag}(X^T X)\\right)^{-1} X^T y$$

    A feature in other units gets the same share of penalty, so that predictions do not depend on units, unlike a
    ridge's. Without dropout (π = 1) these are least squares. A feature that is 0 everywhere gets weight 0.

    >>> dropout_ridge(np.array([[2.0], [0.0]]), np.array([4.0, 0.0]), 0.5).round(9).tolist()
    [1.0]
    """
    require_rows("dropout_ridge", x=x, y=y)
    require("dropout_ridge", axes=1, y=y)
    x, pi = _checked("dropout_ridge", x, keep)
    norms = np.linalg.norm(x, axis=0)
    scale = np.where(norms > 0, norms, 1.0)
    rows = np.concatenate([x / scale, np.diag(np.sqrt((1 - pi) / pi))])
    target = np.concatenate([np.asarray(y, float), np.zeros(len(pi))])
    return np.asarray(least_squares(rows, target, intercept=False).weights) / scale


def _checked(function: str, x: Array | np.ndarray, keep: Keep) -> tuple[np.ndarray, np.ndarray]:
    require(function, axes=2, x=x)
    x = np.asarray(x, float)
    if np.ndim(keep) > 1 or np.size(keep) not in (1, x.shape[1]):
        raise ValueError(f"{function} got keep of shape {np.shape(keep)}; give one number, or one for each feature.")
    pi = np.broadcast_to(np.asarray(keep, float), (x.shape[1],))
    if not np.all((pi > 0) & (pi <= 1)):
        raise ValueError(f"{function} got keep = {pi.min():g}; give probabilities above 0 and at most 1.")
    return x, pi
