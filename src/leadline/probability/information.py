"""Entropy and Kullback-Leibler divergence: exact, by quadrature, and from samples."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.scipy.special import xlogy
from jaxtyping import Array, Float, Num

from leadline._checks import require


def entropy(p: Num[Array | np.ndarray, "*batch m"], *, base: float | None = None) -> Float[Array, "*batch"]:
    """H = -Σ p log p with 0 log 0 = 0, in nats or to the given base; between 0 and log m.

    >>> round(float(entropy(np.array([0.5, 0.25, 0.25]), base=2)), 6)
    1.5
    """
    p = _distribution(p, "entropy")
    return -jnp.sum(xlogy(p, p), axis=-1) / (1.0 if base is None else np.log(base))


def kl_divergence(q: Num[Array | np.ndarray, " m"], p: Num[Array | np.ndarray, " m"]) -> Float[Array, ""]:
    """KL(Q‖P) = Σ q log(q/p): 0 iff equal, infinite where P misses a point that Q has.

    >>> round(float(kl_divergence(np.array([0.5, 0.5]), np.array([0.9, 0.1]))), 6)
    0.510826
    """
    q, p = _distribution(q, "kl_divergence"), _distribution(p, "kl_divergence")
    missed = (q > 0) & (p == 0)
    terms = xlogy(q, q) - xlogy(q, jnp.where(p > 0, p, 1.0))
    return jnp.where(jnp.any(missed), jnp.inf, jnp.sum(terms))


class KlEstimate(NamedTuple):
    """Two unbiased estimates of KL(Q‖P) from samples of Q, with their standard errors."""

    plain: float
    plain_error: float
    nonnegative: float
    nonnegative_error: float


def kl_from_samples(log_ratio: Num[Array | np.ndarray, " n"]) -> KlEstimate:
    """From log r = log p(x) - log q(x) at samples x of Q: the means of -log r and of r - 1 - log r ≥ 0.

    >>> kl_from_samples(np.zeros(10)).nonnegative
    0.0
    """
    require("kl_from_samples", axes=1, log_ratio=log_ratio)
    log_ratio = np.asarray(log_ratio, float)
    terms = (-log_ratio, np.expm1(log_ratio) - log_ratio)
    root = np.sqrt(len(log_ratio))
    (a, ea), (b, eb) = ((float(t.mean()), float(t.std(ddof=1) / root)) for t in terms)
    return KlEstimate(a, ea, b, eb)


def gaussian_kl(
    mean_p: Num[Array, " d"], cov_p: Num[Array, "d d"], mean_q: Num[Array, " d"], cov_q: Num[Array, "d d"]
) -> Float[Array, ""]:
    """KL(N(μ_P,S_P) ‖ N(μ_Q,S_Q)) = ½[(μ_Q-μ_P)ᵀS_Q⁻¹(μ_Q-μ_P) + tr(S_Q⁻¹S_P) - ln(|S_P|/|S_Q|) - d].

    >>> one = jnp.ones((1, 1))
    >>> float(gaussian_kl(jnp.zeros(1), one, jnp.ones(1), one))
    0.5
    """
    require("gaussian_kl", axes=1, mean_p=mean_p, mean_q=mean_q)
    require("gaussian_kl", axes=2, cov_p=cov_p, cov_q=cov_q)
    low_p, low_q = jnp.linalg.cholesky(cov_p), jnp.linalg.cholesky(cov_q)
    spread = jax.scipy.linalg.solve_triangular(low_q, low_p, lower=True)
    offset = jax.scipy.linalg.solve_triangular(low_q, mean_q - mean_p, lower=True)
    logs = jnp.sum(jnp.log(jnp.diagonal(low_q)) - jnp.log(jnp.diagonal(low_p)))
    return 0.5 * (jnp.sum(offset**2) + jnp.sum(spread**2) - len(mean_p)) + logs


def kl_to_standard(mean: Num[Array, " d"], deviation: Num[Array, " d"]) -> Float[Array, ""]:
    """KL(N(μ, diag s²) ‖ N(0, I)) = ½ Σ(μ² + s² - log s² - 1).

    >>> float(kl_to_standard(jnp.array([1.0, 0.0]), jnp.ones(2)))
    0.5
    """
    return 0.5 * jnp.sum(mean**2 + deviation**2 - 2 * jnp.log(deviation) - 1)


def differential_entropy(density: Callable[[np.ndarray], np.ndarray], low: float, high: float) -> float:
    """-∫ p log p over [low, high], by adaptive quadrature; it may be negative.

    >>> round(differential_entropy(lambda x: 4.0 + 0 * x, 0.0, 0.25), 6)  # uniform on [0, 1/4]: -log 4
    -1.386294
    """
    from scipy.integrate import quad
    from scipy.special import entr

    return float(quad(lambda x: float(entr(density(np.asarray(x)))), low, high, limit=200)[0])


class NearestGaussian(NamedTuple):
    """A Gaussian and its divergence."""

    mean: float
    deviation: float
    divergence: float


def nearest_gaussian(
    density: Callable[[np.ndarray], np.ndarray],
    direction: Literal["covering", "seeking"],
    *,
    start: tuple[float, float],
    low: float,
    high: float,
) -> NearestGaussian:
    """The Gaussian Q nearest to a density P on [low, high]: KL(P‖Q) least ("covering") or KL(Q‖P) least ("seeking").

    The first matches P's mean and variance; the second settles on a mode near the start (mean, deviation).
    Minimised by Nelder-Mead over (mean, log deviation), the integrals by the trapezoidal rule on 8001 points.

    >>> bell = lambda x: np.exp(-x**2 / 8) / np.sqrt(8 * np.pi)
    >>> found = nearest_gaussian(bell, "covering", start=(1.0, 1.0), low=-20, high=20)
    >>> round(abs(found.mean), 4), round(found.deviation, 4)
    (0.0, 2.0)
    """
    from scipy.optimize import minimize

    x = np.linspace(low, high, 8001)
    with np.errstate(divide="ignore"):
        log_p = np.log(density(x))

    def divergence(theta: np.ndarray) -> float:
        log_q = -0.5 * ((x - theta[0]) / np.exp(theta[1])) ** 2 - theta[1] - 0.5 * np.log(2 * np.pi)
        first, second = (log_p, log_q) if direction == "covering" else (log_q, log_p)
        weight = np.exp(first)
        return float(np.trapezoid(np.where(weight > 0, weight * (first - np.maximum(second, -1e6)), 0.0), x))

    found = minimize(
        divergence, [start[0], np.log(start[1])], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}
    )
    return NearestGaussian(float(found.x[0]), float(np.exp(found.x[1])), float(found.fun))


def _distribution(p: Num[Array | np.ndarray, "..."], who: str) -> Float[Array, "..."]:
    p = jnp.asarray(p, float)
    if not isinstance(p, Tracer) and (p.min() < 0 or not np.allclose(p.sum(axis=-1), 1.0, atol=1e-5)):
        raise ValueError(f"{who} needs probabilities that are not negative and sum to 1; they sum to {p.sum():.6g}.")
    return p
