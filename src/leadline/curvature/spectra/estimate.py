"""A measured constant with its error bar, and whether a certificate stands behind it."""

from typing import NamedTuple


class Estimate(NamedTuple):
    """A constant, the interval [low, high] that holds it, and how it was found.

    `certified`: a formula proves that the constant of the whole space is in the interval (for L the value is the upper
    end, for m and μ the lower one: what a rate may be built on). Otherwise the interval holds the value at the points
    that were looked at, and says of the whole space only what `how` says: sampled L are lower bounds, sampled m and μ
    upper ones.

    >>> found = Estimate(2.0, 1.9, 2.0, certified=True, how="formula")
    >>> round(found.error, 3), found.holds(1.95)
    (0.1, True)
    """

    value: float
    low: float
    high: float
    certified: bool = False
    how: str = ""

    @property
    def error(self) -> float:
        """The longer arm of the error bar."""
        return max(self.value - self.low, self.high - self.value)

    def holds(self, number: float, *, rtol: float = 0.0) -> bool:
        """Whether the interval, widened by `rtol` of the value, contains `number`."""
        room = rtol * abs(self.value)
        return bool(self.low - room <= number <= self.high + room)

    def __str__(self) -> str:
        mark = "certified" if self.certified else "measured"
        return f"{self.value:.6g} [{self.low:.6g}, {self.high:.6g}] ({mark}: {self.how})"


def exact_estimate(value: float, how: str) -> Estimate:
    """A constant that is known exactly.

    >>> exact_estimate(2.0, "largest eigenvalue").error
    0.0
    """
    return Estimate(float(value), float(value), float(value), True, how)
