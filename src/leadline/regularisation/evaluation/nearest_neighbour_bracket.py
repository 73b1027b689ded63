"""What the error of the nearest neighbour says about the Bayes error (Cover and Hart 1967)."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Real, Shaped

from leadline._checks import require, require_rows
from leadline.probability import binomial_interval

Scalar = Any  # a number or an array of them


def cover_hart_ceiling(bayes: Scalar, classes: int) -> Scalar:
    """R*(2 − (C/(C−1)) R*), the most that the nearest neighbour errs in the limit of many rows; at least R*.

    >>> cover_hart_ceiling(np.array([0.1, 0.5]), 2).round(12).tolist()
    [0.18, 0.5]
    """
    bayes = _error("cover_hart_ceiling", bayes, classes)
    return bayes * (2 - classes / (classes - 1) * bayes)


def cover_hart_floor(error: Scalar, classes: int) -> Scalar:
    """The least Bayes error that allows this error of the nearest neighbour: (1 − 1/C)(1 − √(1 − R C/(C−1))).

    It inverts `cover_hart_ceiling`; an error beyond 1 − 1/C, that of guessing, counts as 1 − 1/C.

    >>> cover_hart_floor(np.array([0.18, 0.5]), 2).round(12).tolist()
    [0.1, 0.5]
    """
    most = 1 - 1 / classes
    error = _error("cover_hart_floor", np.minimum(error, most), classes)
    return most * (1 - np.sqrt(np.maximum(1 - error / most, 0.0)))


class BayesBracket(NamedTuple):
    """Counted mistakes of the nearest neighbour, and the interval for the Bayes error that they leave."""

    mistakes: int
    items: int
    low: float
    high: float

    @property
    def error(self) -> float:
        return self.mistakes / self.items


def bayes_error_bracket(
    x: Real[Array | np.ndarray, "_ d"],
    y: Shaped[Array | np.ndarray, " _"],
    test_x: Real[Array | np.ndarray, "_ d"],
    test_y: Shaped[Array | np.ndarray, " _"],
    *,
    confidence: float = 0.95,
) -> BayesBracket:
    """An interval for R* = E[1 − max_c P(c|x)] from labelled rows alone: R* ≤ R₁ₙₙ ≤ R*(2 − (C/(C−1)) R*).

    The two inequalities are those of infinitely many rows; with few, the nearest neighbour errs more, which only
    raises the upper end. The ends take the exact interval of the counted error along.

    >>> x = np.linspace(0, 1, 200)[:, None]
    >>> found = bayes_error_bracket(x[::2], x[::2, 0] > 0.5, x[1::2], x[1::2, 0] > 0.5)
    >>> found.mistakes, found.low, round(found.high, 3)
    (0, 0.0, 0.036)
    """
    require("bayes_error_bracket", axes=2, x=x, test_x=test_x)
    require_rows("bayes_error_bracket", x=x, y=y)
    require_rows("bayes_error_bracket", test_x=test_x, test_y=test_y)
    from sklearn.neighbors import KNeighborsClassifier

    y, test_y = np.asarray(y), np.asarray(test_y)
    classes = len(np.unique(y))
    if classes < 2:
        raise ValueError(f"bayes_error_bracket got labels of one class, {y[0]}; give rows of at least two.")
    said = KNeighborsClassifier(1).fit(np.asarray(x), y).predict(np.asarray(test_x))
    mistakes = int((said != test_y).sum())
    low, high = binomial_interval(mistakes, len(test_y), confidence=confidence)
    return BayesBracket(mistakes, len(test_y), float(cover_hart_floor(low, classes)), float(high))


def _error(function: str, error: Scalar, classes: int) -> np.ndarray:
    error = np.asarray(error, float)
    if classes < 2 or not np.all((error >= 0) & (error <= 1 - 1 / classes + 1e-12)):
        raise ValueError(
            f"{function} got an error of {np.max(error):g} for {classes} classes; give 0 to 1 − 1/C, and C ≥ 2."
        )
    return error
