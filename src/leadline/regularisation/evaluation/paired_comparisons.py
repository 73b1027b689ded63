"""Two models on the same items or seeds: McNemar's test, paired intervals, and Holm's correction for several."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, Real, Shaped

from leadline._checks import require, require_rows
from leadline.data import generator

_ALL_SUBSETS = 14  # of up to so many items every subset is taken, 2¹⁴ of them
_ENTRIES = 2**22  # of a block of random subsets, so that 10⁶ items need little memory


class McNemar(NamedTuple):
    """Items that only the first model has right, and only the second; the exact p-value of equal error rates."""

    only_first: int
    only_second: int
    items: int
    p_value: float

    @property
    def difference(self) -> float:
        """Error rate of the first model less that of the second."""
        return (self.only_second - self.only_first) / self.items


def mcnemar(first_right: Shaped[Array | np.ndarray, " _"], second_right: Shaped[Array | np.ndarray, " _"]) -> McNemar:
    """McNemar's exact test (1947): of the items on which just one model is right, half belong to each.

    Given b + c such items, b ~ Bin(b + c, ½) if the error rates are equal; p = P(as uneven as this or more). Items that
    both have right, or both wrong, say nothing.

    >>> mcnemar(np.array([True] * 9 + [False]), np.array([True] * 4 + [False] * 5 + [True]))
    McNemar(only_first=5, only_second=1, items=10, p_value=0.21875)
    """
    require("mcnemar", axes=1, first_right=first_right, second_right=second_right)
    require_rows("mcnemar", first_right=first_right, second_right=second_right)
    from scipy.stats import binomtest

    first, second = np.asarray(first_right), np.asarray(second_right)
    if first.dtype != bool or second.dtype != bool:
        raise ValueError(f"mcnemar got {first.dtype} and {second.dtype}; give truth values: predicted == labels.")
    b, c = int((first & ~second).sum()), int((~first & second).sum())
    return McNemar(b, c, len(first), float(binomtest(b, b + c).pvalue) if b + c else 1.0)


class PairedDifference(NamedTuple):
    """The mean of aᵢ − bᵢ with an interval of this level by this method, and the p-value of 'no difference'."""

    mean: float
    low: float
    high: float
    p_value: float
    pairs: int
    level: float = 0.95
    method: str = "t"

    @property
    def interval(self) -> str:
        """The interval in words, with the degrees of freedom of Student's.

        >>> paired_difference(np.array([3.0, 4.0, 2.0]), np.zeros(3), level=0.99).interval
        '99% interval (t, 2 degrees of freedom)'
        """
        how = f"t, {self.pairs - 1} degrees of freedom" if self.method == "t" else self.method
        return f"{100 * self.level:g}% interval ({how})"

    @property
    def settled(self) -> bool:
        """Whether the interval leaves 0 out, so that the sign of the difference is known."""
        return not self.low <= 0 <= self.high


def paired_difference(
    a: Real[Array | np.ndarray, " _"],
    b: Real[Array | np.ndarray, " _"],
    method: str = "t",
    *,
    level: float = 0.95,
    resamples: int = 9999,
    key: PRNGKeyArray | None = None,
) -> PairedDifference:
    """The mean of a − b over items (their losses) or seeds (their scores), which both models share.

    "t": Student's interval, for about normal differences; the choice for a handful of seeds. "bootstrap": Efron's BCa
    interval of the mean, and p from the centred resamples; for 30 items or more. "sign-flip": the exact permutation
    test for differences that are symmetric about 0 if nothing differs; its interval, the shifts that the test does not
    reject, ends at two of the means of subsets of the differences (Hartigan 1969), and is infinite below 6 pairs at
    95%, since 2ⁿ flips cannot be that sure. Up to 14 pairs every subset is taken, beyond `resamples` random ones.

    >>> found = paired_difference(np.array([3.0, 4.0, 2.0, 5.0]), np.array([2.0, 2.0, 1.0, 3.0]))
    >>> round(found.mean, 3), round(found.low, 3), round(found.high, 3), round(found.p_value, 4)
    (1.5, 0.581, 2.419, 0.0138)
    >>> paired_difference(np.arange(1.0, 8.0), np.zeros(7), "sign-flip").p_value
    0.015625
    """
    require("paired_difference", axes=1, a=a, b=b)
    require_rows("paired_difference", a=a, b=b)
    d = np.asarray(a, float) - np.asarray(b, float)
    if len(d) < 2 or not 0 < level < 1 or resamples < 1:
        raise ValueError(
            f"paired_difference got {len(d)} pairs, level {level} and {resamples} resamples; give at least 2 pairs, a "
            "level between 0 and 1 and at least one resample."
        )
    if not np.isfinite(d).all():
        raise ValueError(
            f"paired_difference got a pair, number {int(np.argmin(np.isfinite(d)))}, whose difference is no finite "
            "number; clip infinite losses, or leave such pairs out of both."
        )
    if method == "t":
        low, high, p = _student(d, level)
    elif method == "bootstrap":
        low, high, p = _bootstrap(d, level, resamples, _need(key, method))
    elif method == "sign-flip":
        means = _subset_means(d, resamples, None if len(d) <= _ALL_SUBSETS else _need(key, method))
        low, high, p = _sign_flip(means, level)
    else:
        raise ValueError(f"paired_difference got method '{method}'; choose 't', 'bootstrap' or 'sign-flip'.")
    return PairedDifference(float(d.mean()), float(low), float(high), float(p), len(d), level, method)


def holm(p_values: Real[Array | np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """Holm's adjusted p-values (1979): of sorted p₍₁₎ ≤ … ≤ p₍ₘ₎, max over j ≤ k of (m − j + 1) p₍ⱼ₎, at most 1.

    Rejecting where they are at most α keeps the chance of even one false rejection among the m at most α, whatever
    the tests have to do with each other.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(10).tolist()
    [0.03, 0.06, 0.06]
    """
    require("holm", axes=1, p_values=p_values)
    p = np.asarray(p_values, float)
    if p.min() < 0 or p.max() > 1:
        raise ValueError(f"holm got p-values from {p.min():g} to {p.max():g}; give numbers from 0 to 1.")
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order])
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted


class Against(NamedTuple):
    """One model against the baseline: the paired difference, model less baseline, and Holm's adjusted p-value."""

    difference: PairedDifference
    adjusted: float


def compare_with_baseline(
    scores: Mapping[str, Real[Array | np.ndarray, " _"]],
    baseline: str,
    method: str = "t",
    *,
    level: float = 0.95,
    key: PRNGKeyArray | None = None,
) -> dict[str, Against]:
    """Every model's paired difference from the baseline, with p-values that Holm corrected for their number.

    `scores` holds for each model one number a seed, or one loss an item, in the same order for all.

    >>> runs = {"none": np.array([0.20, 0.22, 0.19]), "decay": np.array([0.11, 0.12, 0.11])}
    >>> found = compare_with_baseline(runs, "none")["decay"]
    >>> round(found.difference.mean, 3), found.difference.settled, found.adjusted == found.difference.p_value
    (-0.09, True, True)
    """
    others = [name for name in scores if name != baseline]
    if baseline not in scores or not others:
        raise ValueError(
            f"compare_with_baseline got {', '.join(scores)} and baseline '{baseline}'; give it and others."
        )
    found = [paired_difference(scores[name], scores[baseline], method, level=level, key=key) for name in others]
    adjusted = holm(np.array([one.p_value for one in found]))
    return {name: Against(one, float(p)) for name, one, p in zip(others, found, adjusted, strict=True)}


def _need(key: PRNGKeyArray | None, method: str) -> np.random.Generator:
    if key is None:
        raise ValueError(f"paired_difference by {method} draws at random; give key=jax.random.key(seed).")
    return generator(key)


def _student(d: np.ndarray, level: float) -> tuple[float, float, float]:
    from scipy.special import stdtr, stdtrit

    centre, error = d.mean(), d.std(ddof=1) / np.sqrt(len(d))
    half = stdtrit(len(d) - 1, 0.5 + level / 2) * error
    if error == 0:
        return centre, centre, float(centre == 0)
    return centre - half, centre + half, 2 * stdtr(len(d) - 1, -abs(centre) / error)


def _bootstrap(d: np.ndarray, level: float, resamples: int, rng: np.random.Generator) -> tuple[float, float, float]:
    from scipy.stats import bootstrap

    if np.ptp(d) == 0:
        return d[0], d[0], float(d[0] == 0)
    found = bootstrap((d,), np.mean, confidence_level=level, n_resamples=resamples, method="BCa", rng=rng)
    away = np.abs(found.bootstrap_distribution - d.mean()) >= abs(d.mean())
    return *found.confidence_interval, (1 + away.sum()) / (1 + resamples)


def _subset_means(d: np.ndarray, resamples: int, rng: np.random.Generator | None) -> np.ndarray:
    """The means of the differences over subsets, sorted: all that are not empty, or random ones.

    Flipping the signs of dᵢ − δ for i in A makes the mean at least as large as before exactly if the mean of d over A
    is at most δ: so these means are all that the test and its interval depend on.
    """
    n = len(d)
    if rng is None:
        chosen = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
        return np.sort(chosen @ d / chosen.sum(axis=1))
    means = []
    for rows in np.array_split(np.arange(resamples), -(-resamples * n // _ENTRIES)):
        chosen = rng.integers(0, 2, size=(len(rows), n), dtype=np.int8)
        chosen = chosen[chosen.any(axis=1)]
        means.append(chosen @ d / chosen.sum(axis=1))
    return np.sort(np.concatenate(means))


def _sign_flip(means: np.ndarray, level: float) -> tuple[float, float, float]:
    """δ is rejected from above where (1 + #{means ≤ δ})/(1 + #means) ≤ (1 − level)/2, and so from below."""
    flips = len(means) + 1  # with the flip of none
    edge = int(np.floor((1 - level) / 2 * flips + 1e-9))  # so many flips, that of none included, may be as extreme
    low, high = (means[edge - 1], means[-edge]) if edge else (-np.inf, np.inf)
    slack = 1e-12 * np.abs(means).max()
    below, above = 1 + (means <= slack).sum(), 1 + (means >= -slack).sum()
    return low, high, min(1.0, 2 * min(below, above) / flips)
