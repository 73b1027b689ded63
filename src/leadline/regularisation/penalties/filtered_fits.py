"""Least squares through any spectral filter: many filters and many outputs at the cost of one decomposition."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Real

from leadline._checks import require, require_numbers

from .spectral_filters import SpectralFilter


class FilteredFits(NamedTuple):
    """x ↦ xW + b for each of k filters and c outputs, and the effective degrees of freedom Σ f(λⱼ) (+ 1: intercept)."""

    weights: Float[np.ndarray, "k d c"]
    bias: Float[np.ndarray, "k c"]
    degrees_of_freedom: Float[np.ndarray, " k"]
    singular_values: Float[np.ndarray, " s"]  # of X, largest first

    def predict(self, x: Real[np.ndarray, "n d"]) -> Float[np.ndarray, "k n c"]:
        """The outputs for every row of x, by each fit."""
        return np.asarray(x) @ self.weights + self.bias[:, None, :]


def filtered_fits(
    x: Real[np.ndarray, "n d"], y: Real[np.ndarray, "n c"], filters: Sequence[SpectralFilter], *, intercept: bool = True
) -> FilteredFits:
    """W = Σⱼ vⱼ (f(sⱼ²/n)/sⱼ) uⱼᵀY with X = U diag(s) Vᵀ, for every filter f; X and Y are centred for an intercept.

    `RidgeFilter` gives ridge regression (0: the minimum-norm solution), `DescentFilter` gradient descent from 0 on
    (1/2n)‖Y − XW‖², stopped. Singular values that are 0 to rounding count as 0.

    >>> from leadline.regularisation import DescentFilter, RidgeFilter
    >>> x, y = np.array([[-1.0], [1.0]]), np.array([[0.0], [4.0]])
    >>> fits = filtered_fits(x, y, [RidgeFilter(0.0), RidgeFilter(1.0), DescentFilter(0.5, 2)])
    >>> fits.weights[:, 0, 0].round(12).tolist(), fits.bias[:, 0].tolist()
    ([2.0, 1.0, 1.5], [2.0, 2.0, 2.0])
    """
    require("filtered_fits", axes=2, x=x, y=y)
    require_numbers("filtered_fits", x=x, y=y)
    if len(x) != len(y) or not filters:
        raise ValueError(
            f"filtered_fits got inputs {np.shape(x)}, targets {np.shape(y)} and {len(filters)} filters; give as many "
            "rows of both and at least one filter."
        )
    x, y = np.asarray(x, float), np.asarray(y, float)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("filtered_fits got inputs or targets that are infinite; remove or repair such rows.")
    x_mean, y_mean = (x.mean(axis=0), y.mean(axis=0)) if intercept else (np.zeros(x.shape[1]), np.zeros(y.shape[1]))
    u, singular, vt = np.linalg.svd(x - x_mean, full_matrices=False)
    kept = singular > max(x.shape) * np.finfo(float).eps * singular[:1]
    u, s, vt = u[:, kept], singular[kept], vt[kept]
    shares = np.array([np.asarray(f(s**2 / len(x)), float) for f in filters])  # (k, rank)
    weights = vt.T @ ((shares / s)[:, :, None] * (u.T @ (y - y_mean)))
    return FilteredFits(weights, y_mean - x_mean @ weights, shares.sum(axis=1) + float(intercept), singular)
