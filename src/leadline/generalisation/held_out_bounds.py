"""What a test set that nothing was chosen on says of the error: exact intervals, Hoeffding, Chernoff, and set sizes.

The errors among n independent test rows are Binomial(n, p), p the true error of the fixed classifier.
"""

import math
from typing import NamedTuple

from leadline.probability import binomial_interval
from leadline.probability.binomial_intervals import Side

from .bounds import Bound, check_confidence
from .pac_bayes_bounds import kl_inverse


class ExactInterval(NamedTuple):
    """An interval of Clopper and Pearson around `share`, at a confidence that holds for every true value."""

    share: float
    low: float
    high: float
    confidence: float

    @property
    def half(self) -> float:
        """The larger of the distances from the observed share to the ends."""
        return max(self.high - self.share, self.share - self.low)


def exact_interval(errors: int, rows: int, *, confidence: float = 0.95, side: Side = "two-sided") -> ExactInterval:
    """The interval of Clopper and Pearson for the true error (`probability.binomial_interval`).

    >>> [round(v, 4) for v in exact_interval(0, 100, side="upper")[:3]]
    [0.0, 0.0, 0.0295]
    >>> exact_interval(50, 100).low.__round__(4)
    0.3983
    """
    check_confidence(confidence, rows)
    if not 0 <= errors <= rows:
        raise ValueError(f"There are {errors} errors among {rows} rows; give a number from 0 to {rows}.")
    low, high = binomial_interval(errors, rows, confidence=confidence, side=side)
    return ExactInterval(errors / rows, float(low), float(high), confidence)


def exact_test_bound(errors: int, rows: int, *, confidence: float = 0.95, trivial: float = 1.0) -> Bound:
    """The one-sided exact upper end: the true error is at most this, at the given confidence."""
    high = exact_interval(errors, rows, confidence=confidence, side="upper").high
    return Bound(
        high,
        "true error, exact from the test set",
        trivial=trivial,
        ingredients={"errors": errors, "rows": rows, "confidence": confidence},
    )


def hoeffding_test_bound(errors: int, rows: int, *, confidence: float = 0.95, trivial: float = 1.0) -> Bound:
    """k/n + √(ln(1/δ)/(2n)) (Hoeffding 1963): for every loss in [0, 1], and looser than the exact bound.

    >>> round(hoeffding_test_bound(0, 100).value, 4)
    0.1224
    """
    delta = check_confidence(confidence, rows)
    value = errors / rows + math.sqrt(math.log(1 / delta) / (2 * rows))
    return Bound(
        value,
        "true error, Hoeffding from the test set",
        trivial=trivial,
        ingredients={"errors": errors, "rows": rows, "confidence": confidence},
    )


def chernoff_test_bound(errors: int, rows: int, *, confidence: float = 0.95, trivial: float = 1.0) -> Bound:
    """The largest p with n kl(k/n ‖ p) ≤ ln(1/δ): Chernoff's bound inverted, between the exact one and Hoeffding's.

    >>> round(chernoff_test_bound(0, 100).value, 4)
    0.0295
    """
    delta = check_confidence(confidence, rows)
    value = float(kl_inverse(errors / rows, math.log(1 / delta) / rows))
    return Bound(
        value,
        "true error, Chernoff from the test set",
        trivial=trivial,
        ingredients={"errors": errors, "rows": rows, "confidence": confidence},
    )


def hoeffding_test_size(width: float, *, confidence: float = 0.95) -> int:
    """n = ⌈ln(2/δ)/(2ε²)⌉ rows suffice for ±ε at confidence 1 − δ, whatever the true error.

    >>> hoeffding_test_size(0.01)
    18445
    """
    delta = _check_width(width, confidence)
    return math.ceil(math.log(2 / delta) / (2 * width**2))


def bernstein_test_size(width: float, error: float = 0.5, *, confidence: float = 0.95) -> int:
    """n = ⌈ln(2/δ) (2p(1 − p) + 2ε/3)/ε²⌉ rows suffice for ±ε where the true error is at most p ≤ 1/2 (Bernstein).

    >>> bernstein_test_size(0.01, 0.02)
    1692
    """
    delta = _check_width(width, confidence)
    if not 0 <= error <= 0.5:
        raise ValueError(f"The error is {error}; Bernstein's size needs an upper limit between 0 and 1/2.")
    return math.ceil(math.log(2 / delta) * (2 * error * (1 - error) + 2 * width / 3) / width**2)


def exact_test_size(width: float, error: float = 0.5, *, confidence: float = 0.95) -> int:
    """The least n from which on the exact interval around any observed share up to `error` has half-width at most ε.

    Found by bisection at the number of errors nearest below `error` n; share 1/2 is the widest, so it serves for all.

    >>> exact_test_size(0.1), hoeffding_test_size(0.1)
    (104, 185)
    """
    _check_width(width, confidence)
    if not 0 <= error <= 0.5:
        raise ValueError(f"The error is {error}; give an upper limit between 0 and 1/2.")

    def wide(n: int) -> bool:
        return bool(exact_interval(math.floor(error * n), n, confidence=confidence).half > width)

    low, high = 1, hoeffding_test_size(width, confidence=confidence) + math.ceil(2 / width)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if wide(middle) else (low, middle)
    while any(wide(n) for n in range(high, high + math.ceil(1 / max(error, width)) + 1)):
        high += 1
    return high


def _check_width(width: float, confidence: float) -> float:
    if not 0 < width < 1:
        raise ValueError(f"The half-width is {width}; give a number strictly between 0 and 1, such as 0.01.")
    return check_confidence(confidence, 1)
