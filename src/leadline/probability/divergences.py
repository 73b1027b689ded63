"""Divergences between two distributions: finite ones by sums over the last axis, densities by quadrature."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from jaxtyping import Array, Float, Num

Kind = Literal["kl", "reverse kl", "total variation", "chi-square", "hellinger", "jensen-shannon"]
Law = Num[Array | np.ndarray, "*batch m"]


def divergence(p: Law, q: Law, kind: Kind = "kl") -> Float[np.ndarray, "*batch"]:
    """D(p, q) of finite distributions along the last axis, in nats; infinite where q = 0 < p and the kind divides by q.

    kl: Σ p log(p/q) with 0 log 0 = 0; reverse kl: Σ q log(q/p); total variation: ½Σ|p − q|; chi-square: Σ(p − q)²/q;
    hellinger: ½Σ(√p − √q)² (the square of the distance); jensen-shannon: the mean of KL to (p + q)/2. All are
    f-divergences, so no Markov step applied to both distributions increases them.

    >>> p, q = np.array([0.5, 0.5]), np.array([0.9, 0.1])
    >>> [round(float(divergence(p, q, kind)), 4) for kind in ("kl", "reverse kl", "total variation", "chi-square")]
    [0.5108, 0.3681, 0.4, 1.7778]
    """
    p, q = np.asarray(p, float), np.asarray(q, float)
    for law in (p, q):
        total = law.sum(axis=-1)
        if np.any(law < 0) or not np.allclose(total, 1.0, atol=1e-6):
            off = float(np.ravel(total)[np.argmax(np.abs(np.ravel(total) - 1))])
            raise ValueError(
                f"divergence needs probabilities that are not negative and sum to 1; one law sums to {off:.6g}."
            )
    return np.asarray(np.sum(divergence_terms(p, q, kind), axis=-1))


def density_divergence(
    p: Callable[[float], float], q: Callable[[float], float], low: float, high: float, kind: Kind = "kl"
) -> float:
    """The same divergences of two densities on [low, high], by adaptive quadrature.

    >>> round(density_divergence(lambda x: 2 * x, lambda x: 1.0, 0.0, 1.0), 6)  # ∫2x log 2x dx = log 2 − ½
    0.193147
    """
    from scipy.integrate import quad

    if not low < high:
        raise ValueError(f"density_divergence got the interval [{low:g}, {high:g}]; give low < high.")
    value, _ = quad(lambda x: float(divergence_terms(p(x), q(x), kind)), low, high, limit=400, epsabs=1e-12)
    return float(value)


def divergence_terms(
    p: float | Num[np.ndarray, "..."], q: float | Num[np.ndarray, "..."], kind: Kind = "kl"
) -> Float[np.ndarray, "..."]:
    """What is summed or integrated: for kl the terms p log(p/q), some of them negative."""
    from scipy.special import rel_entr

    p, q = np.asarray(p, float), np.asarray(q, float)
    if kind == "kl":
        return np.asarray(rel_entr(p, q))
    if kind == "reverse kl":
        return np.asarray(rel_entr(q, p))
    if kind == "total variation":
        return np.asarray(np.abs(p - q) / 2)
    if kind == "hellinger":
        return np.asarray((np.sqrt(p) - np.sqrt(q)) ** 2 / 2)
    if kind == "jensen-shannon":
        return np.asarray((rel_entr(p, (p + q) / 2) + rel_entr(q, (p + q) / 2)) / 2)
    if kind == "chi-square":
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(p == q, 0.0, (p - q) ** 2 / q)
    raise ValueError(
        f"divergence does not know the kind '{kind}'; give kl, reverse kl, total variation, chi-square, hellinger or "
        "jensen-shannon."
    )
