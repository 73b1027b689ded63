"""One regression under several distributions of the noise, ranked by the log-likelihood of data held out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num

from leadline._checks import require, require_numbers, require_rows
from leadline.optimisation import newton_minimum

from ..risk.erm import minimise_risk
from .linear import design, least_squares

Inputs = Num[Array | np.ndarray, "n d"]
Targets = Num[Array | np.ndarray, " n"]

NOISE_FAMILIES = ("gaussian", "laplace", "student", "exponential", "gamma")


def noise_distribution(family: str, scale: float = 1.0, shape: float | None = None) -> Any:
    """Noise as a frozen SciPy distribution: rvs, pdf, logpdf, mean, var and support.

    gaussian N(0, s²); laplace, density e^{-|r|/s}/2s; student, s times t with `shape` degrees of freedom (3);
    one-sided: exponential with mean s, gamma with `shape` k (2) and scale s; bimodal, N(±`shape`, s²), even odds (1).

    >>> float(noise_distribution("laplace", 2.0).var()), float(noise_distribution("gamma", 1.0, 3.0).mean())
    (8.0, 3.0)
    """
    from scipy import stats

    if not scale > 0:
        raise ValueError(f"noise_distribution got scale {scale}; it must be positive.")
    if family == "gaussian":
        return stats.norm(scale=scale)
    if family == "laplace":
        return stats.laplace(scale=scale)
    if family == "student":
        return stats.t(3.0 if shape is None else shape, scale=scale)
    if family == "exponential":
        return stats.expon(scale=scale)
    if family == "gamma":
        return stats.gamma(2.0 if shape is None else shape, scale=scale)
    if family == "bimodal":
        return TwoPeaks(1.0 if shape is None else shape, scale)
    raise ValueError(f"There is no noise '{family}'; choose one of {', '.join((*NOISE_FAMILIES, 'bimodal'))}.")


@dataclass(frozen=True)
class TwoPeaks:
    """N(±gap, scale²), either sign with probability 1/2; with the methods of a frozen SciPy distribution.

    >>> TwoPeaks(2.0, 1.0).mean(), TwoPeaks(2.0, 1.0).var()
    (0.0, 5.0)
    """

    gap: float
    scale: float

    def rvs(self, size: Any, random_state: np.random.Generator) -> Float[np.ndarray, "..."]:
        side = np.where(random_state.random(size) < 0.5, -1.0, 1.0)
        return side * self.gap + self.scale * random_state.standard_normal(size)

    def pdf(self, r: Any) -> Any:
        bells = [np.exp(-(((r - m) / self.scale) ** 2) / 2) for m in (-self.gap, self.gap)]
        return (bells[0] + bells[1]) / (2 * self.scale * np.sqrt(2 * np.pi))

    def mean(self) -> float:
        return 0.0

    def var(self) -> float:
        return self.gap**2 + self.scale**2

    def support(self) -> tuple[float, float]:
        return -np.inf, np.inf


class NoiseFit(NamedTuple):
    """A regression w·x + b fitted by maximum likelihood under one family of noise.

    One-sided families put `leak` of their mass on an exponential of mean leak·E r below the fit, since a fitted edge
    of the support is passed by new data with probability (parameters)/(n+1); their likelihood would be 0. For one
    parameter and exponential noise this is the Bayesian predictive density under a flat prior.
    """

    family: str
    weights: Float[np.ndarray, " d"]
    bias: float
    noise: Any
    leak: float

    def residuals(self, x: Inputs, y: Targets) -> Float[np.ndarray, " n"]:
        return np.asarray(y, float) - np.asarray(x, float) @ self.weights - self.bias

    def log_density(self, x: Inputs, y: Targets) -> Float[np.ndarray, " n"]:
        """log p(yᵢ | xᵢ) for every row."""
        r = self.residuals(x, y)
        if not self.leak:
            return self.noise.logpdf(r)
        below = np.log(self.leak) - np.log(self.leak * self.noise.mean()) + r / (self.leak * self.noise.mean())
        with np.errstate(divide="ignore"):
            return np.where(r < 0, below, np.log1p(-self.leak) + self.noise.logpdf(np.maximum(r, 0.0)))


def fit_noise_model(x: Inputs, y: Targets, family: str) -> NoiseFit:
    """Maximum likelihood of y = w·x + b + noise: least squares, least absolute deviations, Student's t by L-BFGS;
    one-sided noise with w·xᵢ + b ≤ yᵢ as linear constraints, the gamma likelihood in the concave variables (θ/s, 1/s).

    >>> x, y = np.arange(4.0)[:, None], np.array([0.0, 1.0, 5.0, 3.0])
    >>> edge = fit_noise_model(x, y, "exponential")
    >>> bool((edge.residuals(x, y) >= -1e-12).all()), edge.weights.round(9).tolist()
    (True, [1.0])
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    n, d = x.shape
    if n <= d + 1:
        raise ValueError(f"fit_noise_model got {n} examples for {d + 1} parameters; the likelihood is unbounded then.")
    X = np.asarray(design(x))
    if family == "gaussian":
        theta = np.append(*least_squares(x, y))
        return _fit(family, theta, noise_distribution(family, np.sqrt(np.mean((y - X @ theta) ** 2))))
    if family == "laplace":
        theta = minimise_risk(X, y, loss="absolute").parameters
        return _fit(family, theta, noise_distribution(family, float(np.mean(np.abs(y - X @ theta)))))
    if family == "student":
        theta, scale, freedom = _student(X, y)
        return _fit(family, theta, noise_distribution(family, scale, freedom))
    if family not in NOISE_FAMILIES:
        raise ValueError(f"There is no fit for noise '{family}'; choose one of {', '.join(NOISE_FAMILIES)}.")
    leak = (d + 1) / (n + 1)
    edge = _edge(X, y)
    if family == "exponential":
        return _fit(family, edge, noise_distribution(family, float(np.mean(y - X @ edge))), leak)
    theta, scale, shape = _gamma(X, y, edge)
    return _fit(family, theta, noise_distribution(family, scale, shape), leak)


class NoiseScores(NamedTuple):
    """Families by held-out log-likelihood, best first, with the standard error of each family's shortfall."""

    families: tuple[str, ...]
    scores: Float[np.ndarray, " k"]  # mean log density on the held-out part
    shortfall_errors: Float[np.ndarray, " k"]  # of the paired difference to the best


def rank_noise_models(
    x: Inputs, y: Targets, held_x: Inputs, held_y: Targets, families: Sequence[str] = NOISE_FAMILIES
) -> NoiseScores:
    """Fit every family on (x, y) and rank them on the held-out part by mean log density.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(400, 1)); y = x[:, 0] + rng.exponential(size=400)
    >>> rank_noise_models(x[:200], y[:200], x[200:], y[200:], ("gaussian", "exponential")).families[0]
    'exponential'
    """
    require_numbers("rank_noise_models", x=x, y=y, held_x=held_x, held_y=held_y)
    logs = np.array([fit_noise_model(x, y, f).log_density(held_x, held_y) for f in families])
    order = np.argsort(-logs.mean(1), kind="stable")
    errors = (logs[order[0]] - logs[order]).std(axis=1, ddof=1) / np.sqrt(logs.shape[1])
    return NoiseScores(tuple(families[int(k)] for k in order), logs.mean(1)[order], errors)


class FlipFit(NamedTuple):
    """P(Y = +1 | x) = q + (1 - 2q) σ(w·x + b): logistic labels, each flipped with probability q < 1/2."""

    weights: Float[np.ndarray, " d"]
    bias: float
    flip: float

    def log_probability(self, x: Inputs, y: Targets) -> Float[np.ndarray, " n"]:
        """log P(yᵢ | xᵢ) for labels in {-1, +1}."""
        from scipy.special import expit

        z = np.asarray(y) * (np.asarray(x) @ self.weights + self.bias)
        return np.log(self.flip + (1 - 2 * self.flip) * expit(z))


def fit_label_flips(x: Inputs, y: Targets, *, flips: bool = True) -> FlipFit:
    """Maximum likelihood under symmetric label flips; without `flips`, plain logistic regression (q = 0).

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(4000, 1)); y = np.sign(x[:, 0]) * np.where(rng.random(4000) < 0.2, -1, 1)
    >>> abs(fit_label_flips(x, y).flip - 0.2) < 0.02
    True
    """
    require("fit_label_flips", axes=2, x=x)
    require_rows("fit_label_flips", x=x, y=y)
    from scipy.optimize import minimize
    from scipy.special import expit

    X, y = design(np.asarray(x, float)), np.asarray(y, float)
    if not np.isin(y, (-1, 1)).all():
        raise ValueError("fit_label_flips needs labels -1 and +1; recode the targets as 2y - 1 if they are 0 and 1.")

    def objective(parameters):
        theta, q = parameters[:-1], parameters[-1]
        z = y * (X @ theta)
        s = expit(z)
        p = np.maximum(q + (1 - 2 * q) * s, 1e-300)
        slope = -((1 - 2 * q) * s * (1 - s) / p)
        return -np.mean(np.log(p)), np.append((slope * y) @ X, -np.sum((1 - 2 * s) / p)) / len(y)

    top = 0.49 if flips else 0.0
    # Flips make the likelihood multimodal: the better end of two starts is taken. The box keeps separable data finite.
    starts = [np.append(np.zeros(X.shape[1]), q) for q in ((0.05, 0.3) if flips else (0.0,))]
    bounds = [(-1e3, 1e3)] * X.shape[1] + [(0.0, top)]
    ends = [minimize(objective, s, jac=True, method="L-BFGS-B", bounds=bounds) for s in starts]
    best = min(ends, key=lambda end: end.fun).x
    return FlipFit(best[:-2], float(best[-2]), float(best[-1]))


def _fit(family: str, theta: np.ndarray, noise: Any, leak: float = 0.0) -> NoiseFit:
    return NoiseFit(family, theta[:-1], float(theta[-1]), noise, leak)


def _student(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float, float]:
    from scipy.optimize import minimize
    from scipy.special import digamma, gammaln

    start = np.linalg.lstsq(X, y, rcond=None)[0]
    unit = np.sqrt(np.mean((y - X @ start) ** 2))

    def objective(parameters):
        theta, s, nu = parameters[:-2], np.exp(parameters[-2]), 1 / parameters[-1]
        r = (y - X @ theta) / unit
        u = (r / s) ** 2 / nu
        value = gammaln((nu + 1) / 2) - gammaln(nu / 2) - np.log(nu * np.pi) / 2 - np.log(s)
        value = value - (nu + 1) / 2 * np.mean(np.log1p(u))
        pull = (nu + 1) * u / (1 + u)  # r²-weighted slope
        by_theta = X.T @ ((nu + 1) / (nu * s**2) * r / (1 + u)) / (unit * len(y))
        by_nu = (digamma((nu + 1) / 2) - digamma(nu / 2) - 1 / nu - np.mean(np.log1p(u)) + np.mean(pull) / nu) / 2
        return -value, -np.concatenate([by_theta, [-1 + np.mean(pull), -(nu**2) * by_nu]])

    guess = np.concatenate([start, [np.log(0.8), 0.2]])
    bounds = [(None, None)] * X.shape[1] + [(-12.0, 12.0), (1 / 300, 3.0)]
    end = minimize(objective, guess, jac=True, method="L-BFGS-B", bounds=bounds).x
    return end[:-2], float(unit * np.exp(end[-2])), float(1 / end[-1])


def _edge(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """max Σ θ·xᵢ subject to θ·xᵢ ≤ yᵢ, by its dual min y·λ, Xᵀλ = Xᵀ1, λ ≥ 0; lowered until no residual is negative."""
    from scipy.optimize import linprog

    scale, unit = np.abs(X).max(axis=0), float(np.ptp(y)) or 1.0
    programme = linprog((y - y.mean()) / unit, A_eq=(X / scale).T, b_eq=(X / scale).sum(0), method="highs-ds")
    if programme.status != 0:
        raise RuntimeError(f"HiGHS did not solve the programme of the one-sided fit: {programme.message}")
    theta = programme.eqlin.marginals / scale * unit
    theta[-1] += y.mean()
    theta[-1] += min(0.0, float(np.min(y - X @ theta)))
    return theta


def _gamma(X: np.ndarray, y: np.ndarray, edge: np.ndarray) -> tuple[np.ndarray, float, float]:
    """(parameters, scale, shape); the shape by a bounded search, the rest by Newton for each shape."""
    from scipy.optimize import minimize_scalar
    from scipy.special import gammaln

    spread = float(np.mean(y - X @ edge))
    start = np.append(edge - 0.2 * spread * np.eye(len(edge))[-1], 1.0) / spread  # (θ/s, 1/s), strictly feasible
    found = {0.0: start}

    def loss(log_shape):
        k = float(np.exp(log_shape))
        nearest = min(found, key=lambda other: abs(other - log_shape))
        found[log_shape], value = _gamma_newton(X, y, k, found[nearest])
        return value + gammaln(k)

    best = minimize_scalar(loss, bounds=(np.log(1.02), np.log(60.0)), method="bounded", options={"xatol": 1e-2}).x
    end = found[best]
    return end[:-1] / end[-1], float(1 / end[-1]), float(np.exp(best))


def _gamma_newton(X: np.ndarray, y: np.ndarray, k: float, z: np.ndarray) -> tuple[np.ndarray, float]:
    """min over (u, t) of mean(ty - Xu) - log t - (k-1) mean log(ty - Xu), convex."""
    rows = np.hstack([-X, y[:, None]])

    def value(z):
        r = rows @ z
        return r.mean() - np.log(z[-1]) - (k - 1) * np.mean(np.log(r)) if z[-1] > 0 and r.min() > 0 else np.inf

    def derivatives(z):
        r = rows @ z
        gradient = rows.T @ (1 - (k - 1) / r) / len(r)
        gradient[-1] -= 1 / z[-1]
        hessian = (k - 1) * (rows / r[:, None]).T @ (rows / r[:, None]) / len(r)
        hessian[-1, -1] += 1 / z[-1] ** 2
        return gradient, hessian

    end = newton_minimum(value, z, derivatives)
    return end.point, end.value
