"""Ridge regression for one penalty or a whole path of them, from one singular value decomposition."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Real

from leadline._checks import require, require_numbers

from .linear import Inputs, LinearFit, Targets, sample


class RidgeFits(NamedTuple):
    """The ridge solutions for several penalties, one a row."""

    weights: Float[Array | np.ndarray, "k d"]
    bias: Float[Array | np.ndarray, " k"]
    degrees_of_freedom: Float[Array | np.ndarray, " k"]  # trace of the map from targets to fitted values


def ridge(x: Inputs, y: Targets, gamma: float | Real[Array | np.ndarray, ""], *, intercept: bool = True) -> LinearFit:
    """argmin (1/n)‖Xθ + b − y‖² + γ‖θ‖² = (XᵀX + nγI)⁻¹Xᵀy, X and y centred; the intercept b is not penalised.

    γ = 0 gives the least-squares solution with the least ‖θ‖. Arrays as in `least_squares`.

    >>> fit = ridge(np.array([[-1.0], [1.0]]), np.array([0.0, 4.0]), 1.0)
    >>> fit.weights.round(12).tolist(), round(float(fit.bias), 12)
    ([1.0], 2.0)
    """
    require_numbers("ridge", x=x, y=y)
    xp, x, y = sample(x, y)
    x, y, x_mean, y_mean = _centred(xp, x, y, intercept)
    u, s, vt = xp.linalg.svd(x, full_matrices=False)
    shrunk = _filter(xp, s, _penalty(gamma) * x.shape[-2], max(x.shape[-2:]))
    weights = (vt.mT @ (shrunk * (u.mT @ y[..., None])[..., 0])[..., None])[..., 0]
    return LinearFit(weights, y_mean - (x_mean * weights).sum(axis=-1))


def ridge_fits(
    x: Real[Array | np.ndarray, "n d"],
    y: Real[Array | np.ndarray, " n"],
    gammas: Real[Array | np.ndarray, " k"],
    *,
    intercept: bool = True,
) -> RidgeFits:
    """`ridge` for every penalty at the cost of one: θ(γ) = Σⱼ vⱼ sⱼ/(sⱼ² + nγ) uⱼ·y with X = U diag(s) Vᵀ.

    The effective degrees of freedom are Σⱼ sⱼ²/(sⱼ² + nγ), plus 1 for the intercept.

    >>> x, y = np.array([[-1.0], [1.0]]), np.array([0.0, 4.0])
    >>> fits = ridge_fits(x, y, np.array([0.0, 1.0]))
    >>> fits.weights[:, 0].round(12).tolist(), fits.degrees_of_freedom.round(12).tolist()
    ([2.0, 1.0], [2.0, 1.5])
    """
    require_numbers("ridge_fits", x=x, y=y)
    require("ridge_fits", axes=1, gammas=gammas)
    xp, x, y = sample(x, y)
    x, y, x_mean, y_mean = _centred(xp, x, y, intercept)
    n = x.shape[0]
    u, s, vt = xp.linalg.svd(x, full_matrices=False)
    gammas = xp.asarray(gammas, x.dtype)
    shrunk = _filter(xp, s, _penalty(gammas)[:, None] * n, max(x.shape))  # (k, rank)
    weights = (shrunk * (u.T @ y)) @ vt
    return RidgeFits(weights, y_mean - weights @ x_mean, (shrunk * s).sum(axis=1) + float(intercept))


def _centred(xp, x, y, intercept):
    if not intercept:
        return x, y, xp.zeros_like(x[..., 0, :]), xp.zeros_like(y[..., 0])
    x_mean, y_mean = x.mean(axis=-2), y.mean(axis=-1)
    return x - x_mean[..., None, :], y - y_mean[..., None], x_mean, y_mean


def _filter(xp, s, penalty, size):
    """s/(s² + penalty); 0 for singular values that are 0 to rounding, so that penalty 0 gives the pseudo-inverse."""
    kept = s > size * xp.finfo(s.dtype).eps * s[..., :1]
    return xp.where(kept, s / xp.where(kept, s**2 + penalty, 1.0), 0.0)


def _penalty(gamma):
    from jax.core import Tracer

    if not isinstance(gamma, Tracer) and not np.all(np.asarray(gamma) >= 0):
        raise ValueError(f"Ridge got a penalty of {np.min(np.asarray(gamma)):g}; give gamma >= 0.")
    return gamma
