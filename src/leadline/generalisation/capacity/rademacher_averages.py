"""Rademacher complexity: how well a class correlates with random signs; closed forms, samples, what SGD reaches."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray

from leadline.data import generator

from ..bounds import Bound, check_confidence

EXACT = 14  # signs up to which all 2ⁿ vectors are listed


class SignAverage(NamedTuple):
    """A mean over random signs with its standard error, 0 where all signs were listed."""

    value: float
    standard_error: float
    samples: Float[np.ndarray, " draws"]


def signs_to_try(n: int, draws: int, key: PRNGKeyArray) -> tuple[Num[np.ndarray, "m n"], bool]:
    """All 2ⁿ sign vectors where there are at most 2¹⁴, else so many random ones; and whether they are all."""
    if n < 1 or draws < 2:
        raise ValueError(f"Got {n} points and {draws} draws; give at least one point and two draws.")
    if n <= EXACT:
        bits = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
        return 2.0 * bits - 1, True
    return generator(key).choice([-1.0, 1.0], size=(draws, n)), False


def rademacher_of_patterns(
    patterns: Num[np.ndarray, "members n"], *, key: PRNGKeyArray, draws: int = 2000
) -> SignAverage:
    """Rad_S(F) = E_σ max_f (1/n) Σ σᵢ f(xᵢ) of a finite class, given by its values on the points.

    >>> import jax
    >>> rademacher_of_patterns(np.array([[1.0, 1.0], [-1.0, -1.0]]), key=jax.random.key(0)).value
    0.5
    """
    patterns = np.asarray(patterns, float)
    signs, listed = signs_to_try(patterns.shape[1], draws, key)
    return _average((signs @ patterns.T).max(axis=1) / patterns.shape[1], listed)


def rademacher_of_linear_ball(
    x: Num[Array | np.ndarray, "n d"], radius: float, *, key: PRNGKeyArray, draws: int = 2000
) -> SignAverage:
    """Rad_S of {x ↦ w·x : ‖w‖ ≤ B} = (B/n) E‖Σ σᵢxᵢ‖: the best w lies along Σ σᵢxᵢ.

    >>> import jax
    >>> rademacher_of_linear_ball(np.array([[3.0], [4.0]]), 2.0, key=jax.random.key(0)).value
    4.0
    """
    x = np.asarray(x, float)
    signs, listed = signs_to_try(len(x), draws, key)
    return _average(radius * np.linalg.norm(signs @ x, axis=1) / len(x), listed)


def linear_ball_ceiling(x: Num[Array | np.ndarray, "n d"], radius: float) -> float:
    """B √(Σ‖xᵢ‖²)/n, above Rad_S of the ball (Jensen) by a factor of at most √2 (Khinchin, Szarek).

    >>> linear_ball_ceiling(np.array([[3.0], [4.0]]), 2.0)
    5.0
    """
    x = np.asarray(x, float)
    return radius * float(np.linalg.norm(x)) / len(x)


def massart_ceiling(log_patterns: float, n: int) -> float:
    """√(2 ln N/n), above Rad_S of every class with at most N = Π(n) patterns of ±1 on the points (Massart 2000).

    >>> round(massart_ceiling(math.log(11), 10), 4)
    0.6925
    """
    if not log_patterns >= 0 or n < 1:
        raise ValueError(f"Got ln N = {log_patterns} and n = {n}; give at least one pattern on at least one point.")
    return math.sqrt(2 * log_patterns / n)


def rademacher_bound(
    training_error: float, loss_complexity: float, samples: int, *, confidence: float = 0.95, trivial: float = 1.0
) -> Bound:
    """R ≤ R̂ + 2 Rad_S(ℓ∘F) + 3√(ln(2/δ)/(2n)) for all f at once, losses in [0, 1] (Bartlett, Mendelson 2002).

    For the 0-1 loss of ±1 classifiers Rad_S(ℓ∘F) = Rad_S(F)/2.

    >>> rademacher_bound(0.0, 0.5, 10_000).vacuous
    True
    """
    delta = check_confidence(confidence, samples)
    value = training_error + 2 * loss_complexity + 3 * math.sqrt(math.log(2 / delta) / (2 * samples))
    return Bound(
        value,
        "true error, from the correlation with random signs",
        trivial=trivial,
        ingredients={
            "training error": training_error,
            "Rad of the losses": loss_complexity,
            "rows": samples,
            "confidence": confidence,
        },
    )


def reached_correlation(
    learn: Callable[[Num[np.ndarray, " n"], int], Num[np.ndarray, "checkpoints n"]],
    n: int,
    *,
    key: PRNGKeyArray,
    draws: int = 3,
) -> Float[np.ndarray, "draws checkpoints"]:
    """The "algorithmic" complexity, below Rad_S(F): the (1/n) Σ σᵢ sgn fᵢ that training on random signs σ reaches.

    learn(signs, draw) trains on these labels of the n points and returns the outputs on them, one row per checkpoint.

    >>> import jax
    >>> reached_correlation(lambda signs, draw: signs[None], 20, key=jax.random.key(0), draws=2).tolist()
    [[1.0], [1.0]]
    """
    rng = generator(key)
    rows = []
    for draw in range(draws):
        signs = rng.choice([-1.0, 1.0], size=n)
        rows.append(np.mean(np.sign(learn(signs, draw)) * signs, axis=1))
    return np.stack(rows)


def _average(samples: np.ndarray, listed: bool) -> SignAverage:
    error = 0.0 if listed else float(samples.std(ddof=1) / math.sqrt(len(samples)))
    return SignAverage(float(samples.mean()), error, samples)
