"""The PAC-Bayes theorem: what training error and divergence from a prior say of the risk of a randomised classifier."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

Number = float | Num[np.ndarray, "..."]


def bernoulli_kl(q: Number, p: Number) -> Float[np.ndarray, "..."]:
    """kl(q ‖ p) = q ln(q/p) + (1 − q) ln((1 − q)/(1 − p)) of two coins, with 0 ln 0 = 0; infinite where p misses q.

    >>> float(bernoulli_kl(0.5, 0.25).round(6))
    0.143841
    """
    q, p = np.broadcast_arrays(_shares(q, "bernoulli_kl"), _shares(p, "bernoulli_kl"))
    return _kl_at_distance(q, np.asarray(p - q))


def kl_inverse(q: Number, c: Number) -> Float[np.ndarray, "..."]:
    """The largest p in [q, 1] with kl(q ‖ p) ≤ c, element by element, by bisection to rounding error.

    Exact at the ends: 1 − e^(−c) at q = 0, and 1 at q = 1. A mean q of n independent losses in [0, 1] has expectation
    at most kl_inverse(q, ln(1/δ)/n) with probability 1 − δ (Chernoff).

    >>> [float(kl_inverse(q, np.log(2)).round(6)) for q in (0.0, 0.1, 1.0)]
    [0.5, 0.662296, 1.0]
    """
    q, c = np.broadcast_arrays(_shares(q, "kl_inverse"), np.asarray(c, float))
    if np.any(~(c >= 0)):
        raise ValueError(f"kl_inverse got the budget {float(np.min(c)):g}; give numbers c >= 0.")
    low, high = np.zeros(q.shape), np.asarray(1 - q)  # the distance p − q, so that small budgets keep their accuracy
    for _ in range(80):
        middle = np.asarray((low + high) / 2)
        inside = _kl_at_distance(q, middle) <= c
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.where(q == 0, -np.expm1(-c), np.minimum(q + high, 1.0))


class PacBayesBound(NamedTuple):
    """Bounds on the risk E_Q R of a classifier drawn from Q; they hold for all Q at once with probability 1 − δ.

    `value` inverts kl(E_Q R̂ ‖ E_Q R) ≤ budget; `relaxed` is E_Q R̂ + √(budget/2), never smaller; `budget` is
    (KL(Q ‖ P) + ln(2√n/δ))/n.
    """

    value: Float[np.ndarray, "..."]
    relaxed: Float[np.ndarray, "..."]
    budget: Float[np.ndarray, "..."]

    def vacuous(self, trivial: float = 1.0) -> bool:
        """Whether the bound is no better than `trivial`, the error of a guess say."""
        return bool(np.all(self.value >= trivial))


def pac_bayes_bound(empirical: Number, kl: Number, n: int, delta: float = 0.05) -> PacBayesBound:
    """kl(E_Q R̂ ‖ E_Q R) ≤ (KL(Q ‖ P) + ln(2√n/δ))/n for losses in [0, 1], n ≥ 8, P fixed before the data.

    McAllester 1999, Seeger 2002; the constant 2√n is Maurer's (2004).

    >>> bound = pac_bayes_bound(0.0, np.array([0.0, 500.0]), 1000)
    >>> bound.relaxed.round(3).tolist(), bound.value.round(3).tolist()
    ([0.06, 0.504], [0.007, 0.398])
    """
    if n < 8 or not 0 < delta < 1 or np.any(~(np.asarray(kl) >= 0)):
        raise ValueError(
            f"pac_bayes_bound got n = {n}, delta = {delta:g} and KL = {float(np.min(kl)):g}; give n >= 8, "
            "0 < delta < 1 and KL >= 0."
        )
    empirical = _shares(empirical, "pac_bayes_bound")
    budget = (np.asarray(kl, float) + np.log(2 * np.sqrt(n) / delta)) / n
    relaxed = empirical + np.sqrt(budget / 2)
    return PacBayesBound(kl_inverse(empirical, budget), np.asarray(relaxed), np.asarray(budget))


def sampled_pac_bayes_bound(
    errors: Float[np.ndarray, " m"], kl: float, n: int, *, delta: float = 0.05, choices: int = 1
) -> float:
    """The bound where E_Q R̂ is known only through the training errors of m independent draws from Q, n ≥ 8.

    With half of δ the training error of Q is at most kl⁻¹(mean error | ln(1/δ′)/m), with the other half its risk is at
    most kl⁻¹(that | (KL + ln(2√n/δ′))/n); δ′ = δ/(2 choices) where the best of several priors is reported (Langford
    and Caruana 2001). An error may also be that of one draw on a few rows, if these are drawn independently too.

    >>> round(sampled_pac_bayes_bound(np.zeros(1000), 10.0, 1000), 2)
    0.03
    """
    errors = _shares(errors, "sampled_pac_bayes_bound")
    if errors.size == 0 or choices < 1 or not 0 < delta < 1:
        raise ValueError("sampled_pac_bayes_bound needs at least one error, choices >= 1 and 0 < delta < 1.")
    share = delta / (2 * choices)
    training = kl_inverse(errors.mean(), np.log(1 / share) / errors.size)
    return float(pac_bayes_bound(training, kl, n, share).value)


def change_of_measure_gap(q: Float[np.ndarray, " m"], p: Float[np.ndarray, " m"], z: Float[np.ndarray, " m"]) -> float:
    """KL(Q ‖ P) + ln E_P e^Z − E_Q Z ≥ 0 for finite distributions, 0 iff q ∝ p e^z; it is KL(Q ‖ P e^Z/E_P e^Z).

    Donsker and Varadhan 1975.

    >>> half = np.array([0.5, 0.5])
    >>> round(change_of_measure_gap(half, half, np.array([0.0, 2.0])), 6)  # ln cosh 1
    0.433781
    """
    from scipy.special import logsumexp, rel_entr

    for law in (q, p):
        if np.min(law) < 0 or not np.isclose(np.sum(law), 1.0, atol=1e-9):
            raise ValueError(f"change_of_measure_gap got a law that sums to {np.sum(law):.6g}; give probabilities.")
    return float(np.sum(rel_entr(q, p)) + logsumexp(z, b=p) - q @ z)


def diagonal_gaussian_kl(
    mean: Num[Array | np.ndarray, "..."],
    deviation: float | Num[Array | np.ndarray, "..."],
    prior_mean: float | Num[Array | np.ndarray, "..."],
    prior_deviation: float | Num[Array | np.ndarray, "..."],
) -> Float[Array | np.ndarray, ""]:
    """KL(N(μ, diag s²) ‖ N(μ₀, diag λ²)) = Σᵢ [ln(λᵢ/sᵢ) + (sᵢ² + (μᵢ − μ₀ᵢ)²)/(2λᵢ²) − ½]; numbers stand for arrays.

    NumPy arrays are summed in double precision; JAX arrays in their own, differentiably.

    >>> float(diagonal_gaussian_kl(np.array([1.0, 0.0]), 1.0, 0.0, 1.0))
    0.5
    """
    given = (mean, deviation, prior_mean, prior_deviation)
    if any(isinstance(a, jax.Array) for a in given):
        xp, (mu, s, mu0, lam) = jnp, given
    else:
        xp, (mu, s, mu0, lam) = np, (np.asarray(a, float) for a in given)
        if np.any(s <= 0) or np.any(lam <= 0):
            raise ValueError("diagonal_gaussian_kl got a deviation that is not positive; give deviations > 0.")
    ratio = (s / lam) ** 2
    terms = 0.5 * (ratio - 1 - xp.log(ratio) + ((mu - mu0) / lam) ** 2)
    return xp.asarray(xp.sum(terms))


def _kl_at_distance(q: np.ndarray, d: np.ndarray) -> np.ndarray:
    """kl(q ‖ q + d) without the cancellation of terms of first order in d."""
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = d / q, -d / (1 - q)
        wrong = np.where(q > 0, q * (x - np.log1p(np.maximum(x, -1.0))), d)
        right = np.where(q < 1, (1 - q) * (y - np.log1p(np.maximum(y, -1.0))), -d)
    return np.asarray(np.maximum(wrong + right, 0.0))


def _shares(values: Number, who: str) -> np.ndarray:
    values = np.asarray(values, float)
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        raise ValueError(f"{who} got {float(values.min()):g} to {float(values.max()):g}; give shares in [0, 1].")
    return values
