"""Cover's count of linear dichotomies in general position, in exact integers."""

from fractions import Fraction
from math import comb


def cover_count(n: int, d: int) -> int:
    """C(n, d) = 2 Σ_{i<d} binom(n-1, i): linear dichotomies of n points in general position in Rᵈ (Cover 1965).

    For half-spaces with a bias use d + 1.

    >>> [cover_count(n, 3) for n in (1, 2, 3, 4, 6, 8)]
    [2, 4, 8, 14, 32, 58]
    """
    _check(n, d)
    return 2 * sum(comb(n - 1, i) for i in range(min(d, n)))


def cover_share(n: int, d: int) -> Fraction:
    """C(n, d)/2ⁿ = P(Bin(n-1, 1/2) ≤ d-1), the share of labelings that a hyperplane realises, as an exact fraction.

    >>> cover_share(40, 20), round(float(cover_share(36, 20)), 3)
    (Fraction(1, 2), 0.75)
    """
    return Fraction(cover_count(n, d), 2**n)


def points_at_share(share: float, d: int) -> float:
    """The real n at which the realisable share falls to `share`: n = 2d at 1/2, between d and infinity otherwise.

    The tail P(Bin(n-1, 1/2) ≤ d-1) is the regularised beta function I_{1/2}(n-d, d), which is defined for real n > d.

    >>> round(points_at_share(0.5, 50), 6), round(points_at_share(0.25, 50), 2)
    (100.0, 106.95)
    """
    from scipy.optimize import brentq
    from scipy.special import betainc

    _check(1, d)
    if not 0 < share < 1:
        raise ValueError(f"share = {share}; expected a number strictly between 0 and 1: at n = d it is 1, and never 0.")
    beyond = 4.0 * d
    while betainc(beyond - d, d, 0.5) > share:
        beyond *= 2
    return float(brentq(lambda n: betainc(n - d, d, 0.5) - share, d * (1 + 1e-12), beyond, xtol=1e-9))


def cover_table(n: int, d: int) -> list[list[int]]:
    """C(m, k), m = 1..n (rows), k = 1..d, by C(m+1, k) = C(m, k) + C(m, k-1) from C(1, k) = C(m, 1) = 2.

    >>> cover_table(4, 3)
    [[2, 2, 2], [2, 4, 4], [2, 6, 8], [2, 8, 14]]
    """
    _check(n, d)
    rows = [[2] * d]
    for _ in range(n - 1):
        above = rows[-1]
        rows.append([2] + [above[k] + above[k - 1] for k in range(1, d)])
    return rows


def _check(n: int, d: int) -> None:
    if n < 1 or d < 1:
        raise ValueError(f"n = {n} points in R^{d}: both the number of points and the dimension must be at least 1.")
