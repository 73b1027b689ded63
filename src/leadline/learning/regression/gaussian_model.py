"""The Gaussian linear model y = w·x + b + N(0, σ²): likelihood, fit, exact intervals, posterior, diagnostics."""

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray

from leadline._checks import require, require_numbers, require_rows
from leadline.data import generator

from .linear import design

Inputs = Num[Array | np.ndarray, "n d"]
Targets = Num[Array | np.ndarray, "*batch n"]
Scalars = Float[np.ndarray, "*batch"] | float


class GaussianLinear(NamedTuple):
    """y = w·x + b + ε with ε ~ N(0, σ²) independent of x.

    >>> model = GaussianLinear(np.array([1.0]), 0.0, 1.0)
    >>> round(model.log_likelihood(np.array([[2.0]]), np.array([2.0])), 6)
    -0.918939
    """

    weights: Float[Array | np.ndarray, " d"]
    bias: float
    sigma: float

    def mean(self, x: Inputs) -> Float[np.ndarray, " n"]:
        return np.asarray(x, float) @ np.asarray(self.weights) + self.bias

    def draw(self, x: Inputs, *, repeats: int | None = None, key: PRNGKeyArray) -> Float[np.ndarray, "*batch n"]:
        """Targets at given inputs; `repeats` independent vectors of them along a leading axis."""
        mean = self.mean(x)
        shape = mean.shape if repeats is None else (repeats, *mean.shape)
        return mean + self.sigma * generator(key).standard_normal(shape)

    def log_likelihood(self, x: Inputs, y: Num[Array | np.ndarray, " n"]) -> float:
        """log p(D) = -(n/2) log σ² - (n/2) log 2π - Σ (yᵢ - w·xᵢ - b)²/2σ²."""
        if not self.sigma > 0:
            raise ValueError(f"A Gaussian model with sigma {self.sigma} has no density; sigma must be positive.")
        r = np.asarray(y, float) - self.mean(x)
        return float(-0.5 * (r.size * math.log(2 * math.pi * self.sigma**2) + r @ r / self.sigma**2))


class GaussianFit(NamedTuple):
    """Maximum likelihood in the Gaussian linear model, for one design and any number of target vectors.

    `degrees` = n - d - 1. If it is 0 the residuals vanish and the likelihood grows without bound as σ → 0.
    """

    weights: Float[np.ndarray, "*batch d"]
    bias: Scalars
    rss: Scalars
    samples: int
    degrees: int
    gram_inverse: Float[np.ndarray, "p p"]  # (XᵀX)⁻¹ for rows (x, 1)

    @property
    def bounded(self) -> bool:
        """Whether the likelihood has a maximum in (w, b, σ)."""
        return self.degrees > 0

    @property
    def sigma_mle(self) -> Scalars:
        """σ̂ = √(RSS/n), whose square is biased: E σ̂² = σ²(n-d-1)/n."""
        return np.sqrt(self.rss / self.samples)

    @property
    def sigma(self) -> Scalars:
        """s = √(RSS/(n-d-1)), whose square is unbiased."""
        self._need_degrees()
        return np.sqrt(self.rss / self.degrees)

    def mean(self, x: Num[Array | np.ndarray, "m d"]) -> Float[np.ndarray, "*batch m"]:
        return self.weights @ np.asarray(x, float).T + np.asarray(self.bias)[..., None]

    def leverage(self, x: Num[Array | np.ndarray, "m d"]) -> Float[np.ndarray, " m"]:
        """h(x) = x̃ᵀ(XᵀX)⁻¹x̃, x̃ = (x, 1): the variance of the fitted mean at x, in units of σ²."""
        rows = design(np.asarray(x, float))
        return np.einsum("ni,ij,nj->n", rows, self.gram_inverse, rows)

    def _need_degrees(self) -> None:
        if not self.bounded:
            raise ValueError(
                f"{self.samples} examples leave no degree of freedom for sigma: the likelihood is unbounded; "
                "give more than d + 1 examples."
            )


def fit_gaussian(x: Inputs, y: Targets) -> GaussianFit:
    """Least squares, which is maximum likelihood for every σ, with what the exact distributions need.

    >>> fit = fit_gaussian(np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 2.0, 1.0]))
    >>> fit.weights.round(9).tolist(), round(float(fit.rss), 9), fit.degrees
    ([0.5], 1.5, 1)
    """
    require_numbers("fit_gaussian", x=x, y=y)
    X, y = design(np.asarray(x, float)), np.asarray(y, float)
    n, p = X.shape
    if y.shape[-1:] != (n,):
        raise ValueError(f"fit_gaussian got {n} rows of inputs and targets of shape {y.shape}; give one target a row.")
    q, r = np.linalg.qr(X)
    if n < p or np.abs(np.diag(r)).min() <= n * np.finfo(float).eps * np.abs(np.diag(r)).max():
        raise ValueError(
            f"The design of {n} rows has rank below {p}, so that the fit is not unique; drop columns or add data."
        )
    inverse = np.linalg.inv(r)
    theta = y @ q @ inverse.T
    residual = y - theta @ X.T
    return GaussianFit(
        theta[..., :-1], theta[..., -1], np.asarray((residual**2).sum(-1)), n, n - p, inverse @ inverse.T
    )


class PredictionBand(NamedTuple):
    """Ends of a predictive interval at each point."""

    low: Float[np.ndarray, "*batch m"]
    high: Float[np.ndarray, "*batch m"]


def predictive_interval(
    fit: GaussianFit, x: Num[Array | np.ndarray, "m d"], *, level: float = 0.95, plug_in: bool = False
) -> PredictionBand:
    """An interval for a new target at x: exact, f(x) ± t_{n-d-1} s √(1 + h(x)), or plug-in, f(x) ± z σ̂ with σ̂² = RSS/n.

    >>> fit = fit_gaussian(np.arange(10.0)[:, None], np.arange(10) % 2)
    >>> exact, naive = (predictive_interval(fit, np.array([[4.5]]), plug_in=p) for p in (False, True))
    >>> bool(exact.low[0] < naive.low[0] < naive.high[0] < exact.high[0])
    True
    """
    require("predictive_interval", axes=2, x=x)
    if not 0 < level < 1:
        raise ValueError(f"predictive_interval got level {level}; give a number between 0 and 1.")
    upper = predictive_quantile(fit, x, 0.5 + level / 2, plug_in=plug_in)
    mean = fit.mean(x)
    return PredictionBand(2 * mean - upper, upper)


def predictive_quantile(
    fit: GaussianFit, x: Num[Array | np.ndarray, "m d"], q: float, *, plug_in: bool = False
) -> Float[np.ndarray, "*batch m"]:
    """The q-quantile of a new target at x, exact or plug-in; the plug-in upper 5% point is f(x) + 1.645 σ̂.

    >>> fit = fit_gaussian(np.arange(10.0)[:, None], np.arange(10) % 2)
    >>> upper = predictive_quantile(fit, np.zeros((1, 1)), 0.95, plug_in=True)
    >>> round(float((upper - fit.mean(np.zeros((1, 1))))[0] / fit.sigma_mle), 3)
    1.645
    """
    require("predictive_quantile", axes=2, x=x)
    from scipy.special import ndtri, stdtrit

    mean = fit.mean(x)
    if plug_in:
        return mean + ndtri(q) * np.asarray(fit.sigma_mle)[..., None]
    return mean + stdtrit(fit.degrees, q) * np.asarray(fit.sigma)[..., None] * np.sqrt(1 + fit.leverage(x))


def plug_in_coverage(n: float, dim: int, leverage: Any, *, level: float = 0.95) -> Any:
    """P(|t_ν| ≤ z √(ν/(n(1+h)))), ν = n-d-1: how often the plug-in interval with σ̂² = RSS/n covers at leverage h.

    >>> round(float(plug_in_coverage(20, 5, 0.3)), 3)
    0.828
    """
    from scipy.special import ndtri, stdtr

    nu = n - dim - 1
    if nu < 1:
        raise ValueError(f"plug_in_coverage got n = {n} and d = {dim}; it needs n > d + 1.")
    return 1 - 2 * stdtr(nu, -ndtri(0.5 + level / 2) * np.sqrt(nu / (n * (1 + np.asarray(leverage)))))


class Posterior(NamedTuple):
    """N(mean, covariance) over the parameters θ; the mean is the mode."""

    mean: Float[np.ndarray, " d"]
    covariance: Float[np.ndarray, "d d"]


def gaussian_posterior(
    x: Inputs, y: Num[Array | np.ndarray, " n"], *, sigma: float, prior_variance: float
) -> Posterior:
    """The posterior of θ in y = θ·x + N(0, σ²) under θ ~ N(0, τI): covariance C = (XᵀX/σ² + I/τ)⁻¹, mean C Xᵀy/σ².

    >>> posterior = gaussian_posterior(np.ones((3, 1)), np.array([1.0, 2.0, 3.0]), sigma=1.0, prior_variance=1.0)
    >>> posterior.mean.tolist(), posterior.covariance.tolist()
    ([1.5], [[0.25]])
    """
    require("gaussian_posterior", axes=2, x=x)
    require("gaussian_posterior", axes=1, y=y)
    require_rows("gaussian_posterior", x=x, y=y)
    if not (sigma > 0 and prior_variance > 0):
        raise ValueError(f"gaussian_posterior got sigma {sigma}, prior variance {prior_variance}; both must be > 0.")
    x, y = np.asarray(x, float), np.asarray(y, float)
    precision = x.T @ x / sigma**2 + np.eye(x.shape[1]) / prior_variance
    covariance = np.linalg.inv(precision)
    return Posterior(np.linalg.solve(precision, x.T @ y / sigma**2), (covariance + covariance.T) / 2)


class Diagnostics(NamedTuple):
    """p-values of two tests of the Gaussian linear model, and the leverage of every example."""

    normality: float
    homoscedasticity: float
    leverage: Float[np.ndarray, " n"]


def residual_diagnostics(
    x: Inputs, y: Num[Array | np.ndarray, " n"], *, draws: int = 199, key: PRNGKeyArray
) -> Diagnostics:
    """Tests of the model by its residuals: skewness and kurtosis (Jarque and Bera), and r² against x (Koenker).

    Residuals over s have a distribution that depends on the inputs alone, so `draws` residual vectors simulated under
    the model make both tests exact (Dufour et al. 1998): with 199 draws P(p ≤ 0.05) is 0.05 for every n.

    >>> import jax
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 1))
    >>> heavy = residual_diagnostics(x, x[:, 0] + rng.standard_t(1, size=200), key=jax.random.key(0))
    >>> heavy.normality
    0.005
    """
    require_numbers("residual_diagnostics", x=x, y=y)
    X, y = design(np.asarray(x, float)), np.asarray(y, float)
    n, p = X.shape
    if n <= p + 1:
        raise ValueError(f"residual_diagnostics got {n} examples for {p} parameters; it needs more than {p + 1}.")
    q = np.linalg.qr(X)[0]
    vectors = np.concatenate([y[None], generator(key).standard_normal((draws, n))])
    residuals = vectors - (vectors @ q) @ q.T
    normal, spread = _shape_statistic(residuals), _spread_statistic(residuals, q)
    return Diagnostics(_rank_p_value(normal), _rank_p_value(spread), (q**2).sum(1))


def _shape_statistic(residuals: np.ndarray) -> np.ndarray:
    """n (skewness²/6 + (kurtosis - 3)²/24)."""
    z = residuals - residuals.mean(1, keepdims=True)
    square = z * z
    variance = square.mean(1)
    skewness, kurtosis = (square * z).mean(1) / variance**1.5, (square * square).mean(1) / variance**2
    return residuals.shape[1] * (skewness**2 / 6 + (kurtosis - 3) ** 2 / 24)


def _spread_statistic(residuals: np.ndarray, q: np.ndarray) -> np.ndarray:
    """n R² of r² regressed on the inputs with an intercept, which spans the columns of q."""
    squares = residuals**2
    centred = squares - squares.mean(1, keepdims=True)
    explained = ((centred @ q) ** 2).sum(1)
    return residuals.shape[1] * explained / (centred**2).sum(1)


def _rank_p_value(statistics: np.ndarray) -> float:
    """The share of statistics at least as large as the first."""
    return float(np.mean(statistics >= statistics[0]))
