"""The exact risk of a spectral filter in least squares, and how far gradient flow can be from ridge regression."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Real

from leadline._arrays import namespace
from leadline._checks import require, require_counts

from .spectral_filters import SpectralFilter


class FilterRisk(NamedTuple):
    """Expected squared error of a filtered fit, split into bias² and variance."""

    bias: Float[Array | np.ndarray | np.floating, ""] | float
    variance: Float[Array | np.ndarray | np.floating, ""] | float

    @property
    def total(self) -> Float[Array | np.ndarray | np.floating, ""] | float:
        return self.bias + self.variance


def filter_risk(
    spectral_filter: SpectralFilter,
    eigenvalues: Real[Array | np.ndarray, " d"],
    signal: Real[Array | np.ndarray, " d"],
    noise: float | Real[Array | np.ndarray, ""],
    rows: int,
    *,
    of: str = "weights",
) -> FilterRisk:
    """E‖θ̂ − θ*‖² of a filter for y = Xθ* + ε, or of X(θ̂ − θ*)/√n: Σ (1 − f)²θ*ᵢ² + (σ²/n) Σ f²/λᵢ, times λᵢ each.

    `eigenvalues` are those of XᵀX/n with n = `rows`, `signal` the coordinates of θ* in its eigenvectors, `noise` the
    standard deviation σ of ε; the fit starts from 0. `of` is "weights" or "predictions" (in-sample). At the time
    t = 1/μ gradient flow has at most 1.6859 times the risk of ridge with μ, for every spectrum, signal and noise, both
    ways (Ali, Kolter and Tibshirani 2019, who round it to 1.6862).

    >>> from leadline.regularisation import RidgeFilter
    >>> risk = filter_risk(RidgeFilter(1.0), np.array([1.0, 3.0]), np.array([2.0, 4.0]), 2.0, 4)
    >>> float(risk.bias), float(risk.variance)
    (2.0, 0.4375)
    """
    require("filter_risk", axes=1, eigenvalues=eigenvalues, signal=signal)
    require_counts("filter_risk", rows=rows)
    if of not in ("weights", "predictions"):
        raise ValueError(f"filter_risk got of = {of!r}; give 'weights' or 'predictions'.")
    if np.shape(eigenvalues) != np.shape(signal):
        raise ValueError(
            f"filter_risk got {len(eigenvalues)} eigenvalues and {len(signal)} coordinates of a signal; give as many."
        )
    xp = namespace(eigenvalues, signal)
    eigenvalues, signal = xp.asarray(eigenvalues, float), xp.asarray(signal, float)
    kept, left = spectral_filter(eigenvalues), spectral_filter.left(eigenvalues)
    seen = eigenvalues > 0
    weight = xp.ones_like(eigenvalues) if of == "weights" else eigenvalues
    spread = xp.where(seen, kept**2 / xp.where(seen, eigenvalues, 1.0), 0.0)
    return FilterRisk(xp.sum(weight * (left * signal) ** 2), noise**2 / rows * xp.sum(weight * spread))


class FlowAgainstRidge(NamedTuple):
    """The constants of gradient flow at t = 1/μ beside ridge with μ, in r = λ/μ, each with the r where it is reached.

    `gap`: the largest difference of the filters, 1 − e^(−r) above r/(1 + r). `ratio`: the largest quotient of the
    variances, ((1 − e^(−r))(1 + r)/r)², which bounds that of the risks since e^(−r) ≤ 1/(1 + r) bounds the bias.
    """

    gap: float
    gap_at: float
    ratio: float
    ratio_at: float


def flow_against_ridge() -> FlowAgainstRidge:
    """The largest gap and the largest ratio, from the equations of their stationary points.

    The gap has (1 + r)² = e^r; the ratio has r(1 + r) = e^r − 1, the zero of d/dr log((1 − e^(−r))(1 + r)/r).

    >>> tuple(round(number, 4) for number in flow_against_ridge())
    (0.2036, 2.5129, 1.6859, 1.7933)
    """
    from scipy.optimize import brentq

    gap_at = float(brentq(lambda r: 2 * np.log1p(r) - r, 1.0, 4.0, xtol=1e-14))
    ratio_at = float(brentq(lambda r: np.expm1(r) - r * (1 + r), 1.0, 3.0, xtol=1e-14))
    gap = -float(np.expm1(-gap_at)) - gap_at / (1 + gap_at)
    return FlowAgainstRidge(gap, gap_at, float((-np.expm1(-ratio_at) * (1 + ratio_at) / ratio_at) ** 2), ratio_at)
