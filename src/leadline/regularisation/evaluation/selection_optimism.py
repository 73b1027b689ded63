"""How far a validation score deceives when it chooses: the best of many models, and an attack on the score."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int


def expected_maximum(count: float) -> float:
    """E max of K independent N(0, 1) variables, by quadrature of 1 − Φ(x)^K and Φ(x)^K; at most √(2 ln K).

    >>> round(expected_maximum(2), 6), round(np.pi**-0.5, 6)
    (0.56419, 0.56419)
    """
    from scipy.integrate import quad
    from scipy.special import log_ndtr

    if count < 1:
        raise ValueError(f"expected_maximum got {count} variables; give at least one.")
    above = quad(lambda x: -np.expm1(count * log_ndtr(x)), 0, 12, epsabs=1e-12, epsrel=1e-12, limit=200)[0]
    below = quad(lambda x: np.exp(count * log_ndtr(x)), -12, 0, epsabs=1e-12, epsrel=1e-12, limit=200)[0]
    return above - below


class SelectionOptimism(NamedTuple):
    """By how much the validation accuracy of the best of K models exceeds their true accuracy, expected."""

    exact: float  # of independent models: the largest of K binomial scores
    gaussian: float  # sd·E[max of K normals]
    ceiling: float  # sd·√(2 ln K); holds for a true accuracy of at least ½


def selection_optimism(accuracy: float, rows: int, models: int) -> SelectionOptimism:
    """E max of K scores Bin(n, a)/n less a, with its normal approximation and its upper bound; sd = √(a(1−a)/n).

    All K models are equally good, and independent: what is chosen is chance. Scores of similar models vary together
    and deceive less.

    >>> found = selection_optimism(0.8, 1000, 100)
    >>> round(found.exact, 4), round(found.gaussian, 4), round(found.ceiling, 4)
    (0.0311, 0.0317, 0.0384)
    """
    from scipy.stats import binom

    if not 0 < accuracy < 1 or rows < 1 or models < 1:
        raise ValueError(
            f"selection_optimism got accuracy {accuracy}, {rows} rows and {models} models; give an accuracy between 0 "
            "and 1, and at least one of both."
        )
    below = binom.logcdf(np.arange(rows), rows, accuracy)  # E max = Σ_{j<n} P(max > j)/n
    exact = float(-np.expm1(models * below).sum() / rows - accuracy)
    sd = float(np.sqrt(accuracy * (1 - accuracy) / rows))
    return SelectionOptimism(exact, sd * expected_maximum(models), sd * float(np.sqrt(2 * np.log(models))))


def orient_and_vote(
    guesses: Bool[np.ndarray, "models n"], labels: Bool[np.ndarray, " n"], fresh: Bool[np.ndarray, "models m"]
) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " m"]]:
    """Turn round every guesser that scores below ½ on the validation labels, then let the majority vote.

    The votes on the validation rows, and on fresh rows (Blum and Hardt 2015): a score that is asked K times is fitted,
    with nothing learned. A tie votes for True.

    >>> wrong = np.array([[False, False, True]])
    >>> [vote.tolist() for vote in orient_and_vote(wrong, np.array([True, True, True]), wrong)]
    [[True, True, False], [True, True, False]]
    """
    turned = (guesses == labels).mean(axis=1) < 0.5
    return tuple(2 * (rows ^ turned[:, None]).sum(axis=0) >= len(rows) for rows in (guesses, fresh))


class AttackAccuracy(NamedTuple):
    """The expected validation accuracy of the majority: exact for random guessers, and as Φ(√(2K/(πn)))."""

    exact: float
    gaussian: float


def attack_accuracy(models: int, rows: int) -> AttackAccuracy:
    """P(Bin(K, p) > K/2), ties by a coin, where p = E max(B, n − B)/n, B ~ Bin(n, ½): an oriented guesser's score.

    K guessers are independent on any one row, so that the first is exact. p is about ½ + 1/√(2πn).

    >>> found = attack_accuracy(1000, 1000)
    >>> round(found.exact, 3), round(found.gaussian, 3)
    (0.787, 0.788)
    """
    from scipy.special import ndtr
    from scipy.stats import binom

    if models < 1 or rows < 1:
        raise ValueError(f"attack_accuracy got {models} guessers and {rows} rows; give at least one of both.")
    right: Int[np.ndarray, " counts"] = np.arange(rows + 1)
    chance: Float[np.ndarray, " counts"] = binom.pmf(right, rows, 0.5)
    p = float(np.maximum(right, rows - right) @ chance) / rows
    tie = binom.pmf(models / 2, models, p) / 2 if models % 2 == 0 else 0.0
    return AttackAccuracy(
        float(binom.sf(models // 2, models, p) + tie), float(ndtr(np.sqrt(2 * models / (np.pi * rows))))
    )
