"""Growth functions Π(n): how many labellings of n points a class realises at most; exact, of Sauer, and of networks."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Int

from leadline.linear_classifiers.dichotomies import cover_count

CLASSES = ("thresholds", "intervals", "half-spaces", "affine half-spaces")
ClassName = Literal["thresholds", "intervals", "half-spaces", "affine half-spaces"]


def growth(kind: ClassName, n: int, dim: int = 1) -> int:
    """Π(n), exactly: thresholds n + 1, intervals n(n + 1)/2 + 1, half-spaces of Rᵈ through the origin C(n, d),
    affine ones C(n, d + 1), with Cover's count C.

    >>> [growth(k, 4, 2) for k in CLASSES]
    [5, 11, 8, 14]
    """
    if n < 1 or dim < 1:
        raise ValueError(f"Got n = {n} points and dimension {dim}; both must be at least 1.")
    if kind == "thresholds":
        return n + 1
    if kind == "intervals":
        return n * (n + 1) // 2 + 1
    if kind not in CLASSES:
        raise ValueError(f"There is no class {kind!r} here; choose one of {', '.join(CLASSES)}.")
    return cover_count(n, dim if kind == "half-spaces" else dim + 1)


def log_sauer(n: int, dimension: int) -> float:
    """ln Σ_{i ≤ V} C(n, i), which no class of VC dimension V exceeds (Sauer 1972, Shelah 1972); n ln 2 where V ≥ n.

    >>> round(math.exp(log_sauer(10, 2)), 6)
    56.0
    """
    from scipy.special import gammaln, logsumexp

    if n < 1 or dimension < 0:
        raise ValueError(f"Got n = {n} points and VC dimension {dimension}; give n >= 1 and V >= 0.")
    if dimension >= n:
        return n * math.log(2)
    i = np.arange(dimension + 1)
    return min(float(logsumexp(gammaln(n + 1) - gammaln(i + 1) - gammaln(n - i + 1))), n * math.log(2))


def class_vc_dimension(members: Int[np.ndarray, "m x"]) -> int:
    """The VC dimension of a finite class on a finite domain, one row of 0 and 1 per member: the size of the largest set
    of columns on which all patterns occur, by search over shattered sets (every subset of one is shattered).

    >>> class_vc_dimension(np.array([[0, 0], [0, 1], [1, 0], [1, 1]])), class_vc_dimension(np.array([[0, 1]]))
    (2, 0)
    """
    rows = np.unique(np.asarray(members), axis=0)
    if rows.ndim != 2 or rows.size == 0 or not np.isin(rows, (0, 1)).all():
        raise ValueError("The class must be an array of 0 and 1 with one row per member; give at least one row.")
    shattered, dimension = [()], 0
    while True:
        wider = []
        for columns in shattered:
            for column in range(columns[-1] + 1 if columns else 0, rows.shape[1]):
                chosen = rows[:, [*columns, column]]
                if len(np.unique(chosen @ (1 << np.arange(chosen.shape[1])))) == 1 << chosen.shape[1]:
                    wider.append((*columns, column))
        if not wider:
            return dimension
        shattered, dimension = wider, dimension + 1


def log_growth_of_network(
    n: int, units: Sequence[int], parameters: Sequence[int], *, pieces: int = 2, classes: int = 2
) -> float:
    """ln of the number of error patterns that a piecewise linear network shows on n labelled rows, bounded from above.

    With kᵢ units and Wᵢ parameters up to layer i, the patterns number at most ∏ᵢ 2(2e n kᵢ(p − 1) i/Wᵢ)^{Wᵢ} for
    activations of p pieces, since layer i asks for the signs of n kᵢ(p − 1) polynomials of degree i in Wᵢ numbers
    (Bartlett, Harvey, Liaw, Mehrabian 2019, theorem 7, with Warren's bound 2(2e M i/W)^W on M ≥ W signs and 2^M on
    fewer). The last layer asks for the order of `classes` scores: k(k − 1)/2 signs a row. Never above n ln 2.

    `units` are those of the hidden layers; `parameters` are the cumulative counts Wᵢ, of all layers.

    >>> log_growth_of_network(1000, [], [3]) < log_growth_of_network(1000, [4], [12, 17]) < 1000 * math.log(2)
    True
    """
    if n < 1 or len(parameters) != len(units) + 1 or min(parameters) < 1 or pieces < 2 or classes < 2:
        raise ValueError(
            f"Got {len(units)} hidden layers, {len(parameters)} parameter counts, {pieces} pieces, {classes} classes; "
            "give one cumulative count per layer with its parameters, 2 pieces or more and 2 classes or more."
        )
    return min(_log_patterns(n, units, parameters, pieces, classes), n * math.log(2))


def network_vc_ceiling(units: Sequence[int], parameters: Sequence[int], *, pieces: int = 2) -> int:
    """A number that the VC dimension of a piecewise linear network with one output does not exceed: the largest n at
    which the bound of `log_growth_of_network` still allows all 2ⁿ labellings.

    >>> network_vc_ceiling([], [3]) >= 3
    True
    """

    def all_allowed(n: int) -> bool:
        return _log_patterns(n, units, parameters, pieces, 2) >= n * math.log(2)

    high = 2 * max(parameters)
    while all_allowed(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if all_allowed(middle) else (low, middle)
    return low


def _log_patterns(n: int, units: Sequence[int], parameters: Sequence[int], pieces: int, classes: int) -> float:
    asked = [n * k * (pieces - 1) for k in units] + [n * classes * (classes - 1) // 2]
    total = 0.0
    for layer, (signs, weights) in enumerate(zip(asked, parameters, strict=True), start=1):
        everything = signs * math.log(2)
        warren = math.log(2) + weights * math.log(2 * math.e * signs * layer / weights)
        total += min(everything, warren) if signs >= weights else everything
    return total
