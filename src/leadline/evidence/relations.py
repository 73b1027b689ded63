"""The relations a prediction and a measurement can stand in; each function makes a `Comparison`.

Arrays are compared element by element and the element with the least slack is reported.
"""

import math
from typing import Any, Literal

import numpy as np

from .comparison import Comparison, Value

Side = Literal["two-sided", "at most", "at least"]

_STRICT_TIE = -float(np.finfo(np.float64).eps)
_ROUNDING = 1e-12


def at_most(
    measured: Any,
    bound: Any,
    what: str,
    *,
    atol: float = 0.0,
    rtol: float = 0.0,
    strict: bool = False,
    trivial: float | None = None,
) -> Comparison:
    """measured ≤ bound + atol + rtol |bound|; `vacuous` where the bound is infinite or at least `trivial`.

    >>> at_most(23, 99.8, "updates").slack.__round__(3)
    0.77
    """
    m, b = _pair(measured, bound)
    return _one_sided("below" if strict else "at most", m, b, 1, what, atol, rtol, strict, _says_nothing(b, trivial))


def at_least(
    measured: Any,
    bound: Any,
    what: str,
    *,
    atol: float = 0.0,
    rtol: float = 0.0,
    strict: bool = False,
    trivial: float | None = None,
) -> Comparison:
    """measured ≥ bound - atol - rtol |bound|; `vacuous` where the bound is -infinite or at most `trivial`."""
    m, b = _pair(measured, bound)
    return _one_sided(
        "above" if strict else "at least",
        m,
        b,
        -1,
        what,
        atol,
        rtol,
        strict,
        _says_nothing(-b, None if trivial is None else -trivial),
    )


def close(measured: Any, predicted: Any, what: str, *, atol: float = 0.0, rtol: float = 0.0) -> Comparison:
    """|measured - predicted| ≤ atol + rtol |predicted|."""
    m, p = _pair(measured, predicted)
    with np.errstate(invalid="ignore"):
        error = np.where(m == p, 0.0, np.abs(m - p))  # equal infinities are close
    tolerance = atol + rtol * np.abs(np.where(np.isfinite(p), p, 0.0))
    slack = _room(tolerance, error)
    i = _worst(slack)
    return Comparison(
        what,
        "close",
        _scalar(m[i]),
        _scalar(p[i]),
        _number(slack[i]),
        cases=m.size,
        interval=(float(p[i] - tolerance[i]), float(p[i] + tolerance[i])),
    )


def exactly(measured: Any, predicted: Any, what: str) -> Comparison:
    """measured == predicted, for integers, truth values, words, and arrays of them.

    >>> str(exactly([4, 10, 26], [4, 10, 26], "counts").verdict)
    'holds'
    """
    m, p = np.broadcast_arrays(np.asarray(measured), np.asarray(predicted))
    if m.size == 0:
        raise ValueError(f"'{what}' compares nothing: the arrays are empty; compare at least one element.")
    m, p = m.ravel(), p.ravel()
    equal = m == p
    if m.dtype.kind in "US" or m.dtype.kind == "b":
        slack = np.where(equal, 1.0, -1.0)
    else:
        with np.errstate(invalid="ignore"):  # equal infinities
            error = np.abs(m.astype(float) - p.astype(float))
        slack = np.where(equal, 1.0, _room(np.zeros(m.size), error))
        slack = np.where(~equal & (slack >= 0), -1.0, slack)  # differences below the resolution of float
    i = _worst(slack)
    return Comparison(what, "exactly", _scalar(m[i]), _scalar(p[i]), _number(slack[i]), cases=m.size)


def reference(measured: Any, value: Any, what: str, *, digits: int) -> Comparison:
    """measured agrees with a number of the specification to `digits` significant digits.

    It reproduces a number and tests no theory; pages say so.

    >>> str(reference(1.231168, 1.23117, "entropy", digits=6).verdict)
    'holds'
    """
    m, v = _pair(measured, value)
    with np.errstate(divide="ignore"):
        unit = 10.0 ** (np.floor(np.log10(np.abs(v))) - digits + 1)
    tolerance = np.where(v == 0, 10.0**-digits, unit) / 2 * (1 + _ROUNDING)
    slack = _room(tolerance, np.abs(m - v))
    i = _worst(slack)
    return Comparison(what, "reference", _scalar(m[i]), _scalar(v[i]), _number(slack[i]), cases=m.size)


def slope(x: Any, y: Any, predicted: float, what: str, *, confidence: float = 0.999, within: float = 0.0) -> Comparison:
    """The least-squares slope of log y on log x: its Student t-interval, widened by `within`, holds `predicted`."""
    from scipy.special import stdtrit

    x, y = np.asarray(x, float).ravel(), np.asarray(y, float).ravel()
    if x.size < 3 or not ((x > 0).all() and (y > 0).all()):
        raise ValueError(f"'{what}' needs at least 3 points with x > 0 and y > 0 for a slope on a log-log plot.")
    u, v = np.log(x), np.log(y)
    centred = u - u.mean()
    spread = float(centred @ centred)
    estimate = float(centred @ v) / spread
    residual = v - v.mean() - estimate * centred
    error = math.sqrt(float(residual @ residual) / (u.size - 2) / spread)
    half = stdtrit(u.size - 2, 0.5 + confidence / 2) * error + within
    return _estimate(
        "slope",
        np.array([estimate]),
        np.array([predicted]),
        np.array([half]),
        np.array([half]),
        "two-sided",
        what,
        1 - confidence,
    )


def frequency(
    successes: Any, trials: Any, probability: Any, what: str, *, confidence: float = 0.999, side: Side = "two-sided"
) -> Comparison:
    """Successes in independent trials against a stated probability, by the Clopper-Pearson interval.

    With `side="at most"` the statement is that the true probability is at most the stated one: it fails only if
    the whole interval lies above. `confidence` is that of all elements together (Bonferroni).
    """
    from leadline.probability import binomial_interval

    k, n = _pair(successes, trials)
    k, p = np.broadcast_arrays(k, np.asarray(probability, float).ravel())
    n = np.broadcast_to(n, k.shape)
    if np.any(n < 1) or np.any(k < 0) or np.any(k > n):
        raise ValueError(f"'{what}' needs 0 <= successes <= trials with trials >= 1.")
    tail = _tail(confidence, k.size, side)
    low, high = binomial_interval(k, n, confidence=1 - 2 * tail)
    return _estimate("frequency", k / n, p, k / n - low, high - k / n, side, what, 1 - confidence)


def mean(
    samples: Any,
    predicted: float,
    what: str,
    *,
    confidence: float = 0.999,
    side: Side = "two-sided",
    deviation: float | None = None,
) -> Comparison:
    """The mean of independent samples against a stated expectation, by Student's t-interval.

    Where theory gives the standard deviation too, pass it: the interval is then the normal one, which holds for
    skewed distributions whose rare large values a sample may lack.
    """
    from scipy.special import ndtri, stdtrit

    s = np.asarray(samples, float).ravel()
    if s.size < 2:
        raise ValueError(f"'{what}' needs at least 2 samples for an interval; it has {s.size}.")
    quantile = 1 - _tail(confidence, 1, side)
    spread = stdtrit(s.size - 1, quantile) * s.std(ddof=1) if deviation is None else ndtri(quantile) * deviation
    half = spread / math.sqrt(s.size)
    half = np.array([max(half, _ROUNDING * max(abs(s.mean()), abs(predicted)))])
    return _estimate("mean", np.array([s.mean()]), np.array([float(predicted)]), half, half, side, what, 1 - confidence)


def distributed_as(samples: Any, law: Any, what: str, *, confidence: float = 0.999) -> Comparison:
    """Independent samples follow a continuous law (a frozen SciPy distribution or a cdf), by Kolmogorov's test."""
    from scipy.stats import kstest

    test = kstest(np.asarray(samples, float).ravel(), law if callable(law) else law.cdf)
    return _p_value(test.pvalue, "distribution", what, confidence)


def same_distribution(a: Any, b: Any, what: str, *, confidence: float = 0.999) -> Comparison:
    """Two independent samples have one distribution: two-sample Kolmogorov-Smirnov test (exact where feasible)."""
    from scipy.stats import ks_2samp

    test = ks_2samp(np.asarray(a, float).ravel(), np.asarray(b, float).ravel())
    return _p_value(test.pvalue, "distribution", what, confidence)


def counts_as(counts: Any, probabilities: Any, what: str, *, confidence: float = 0.999) -> Comparison:
    """Counts of independent draws follow exact cell probabilities, by Pearson's chi-square test.

    Neighbouring cells are pooled until each is expected at least 5 times, as the test's distribution needs.
    """
    from scipy.special import chdtrc

    k, p = _pair(counts, probabilities)
    if not math.isclose(p.sum(), 1.0, abs_tol=1e-9):
        raise ValueError(f"'{what}' needs probabilities that sum to 1; they sum to {p.sum():.6g}.")
    observed, expected = _pool(k, p * k.sum(), least=5.0)
    if len(expected) < 2:
        raise ValueError(f"'{what}' needs at least two cells expected 5 times or more; draw more samples.")
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return _p_value(chdtrc(len(expected) - 1, statistic), "distribution", what, confidence)


def smaller(a: Any, b: Any, what: str, *, confidence: float = 0.999) -> Comparison:
    """Sample `a` tends to be smaller than sample `b`: the one-sided Mann-Whitney test rejects that it is not.

    Here the burden of proof is reversed: the statement holds only if the p-value is at most 1 - confidence.
    """
    from scipy.stats import mannwhitneyu

    p = float(mannwhitneyu(np.asarray(a, float), np.asarray(b, float), alternative="less").pvalue)
    level = 1 - confidence
    return Comparison(what, "smaller", p, level, _number(_room(np.array([level]), np.array([p]))[0]))


def _one_sided(relation, m, b, sign, what, atol, rtol, strict, says_nothing) -> Comparison:
    """sign (b - m), the gap, is positive when the bound holds; infinite bounds hold with slack 1."""
    tolerance = atol + rtol * np.abs(np.where(np.isfinite(b), b, 0.0))
    with np.errstate(invalid="ignore"):
        gap = np.where(m == b, 0.0, sign * (b - m))  # equal infinities are on the bound
        scale = np.maximum(np.maximum(np.abs(b), np.abs(m)), tolerance)
        slack = np.where(np.isfinite(scale), (gap + tolerance) / np.where(scale > 0, scale, 1.0), np.sign(gap))
    if strict:
        slack = np.where(slack == 0, _STRICT_TIE, slack)
    i = _worst(slack)
    return Comparison(
        what,
        relation,
        _scalar(m[i]),
        _scalar(b[i]),
        _number(slack[i]),
        cases=m.size,
        says_nothing=bool(np.all(says_nothing)),
    )


def _estimate(relation, estimate, predicted, below, above, side, what, chance) -> Comparison:
    """Intervals [estimate - below, estimate + above] against predictions; the least slack is reported."""
    miss = estimate - predicted
    if side == "at most":
        slack = _room(below, miss)
    elif side == "at least":
        slack = _room(above, -miss)
    else:
        slack = np.where(miss > 0, _room(below, np.abs(miss)), _room(above, np.abs(miss)))
    i = _worst(slack)
    interval = (
        float("-inf") if side == "at least" else float(estimate[i] - below[i]),
        float("inf") if side == "at most" else float(estimate[i] + above[i]),
    )
    relation = relation if side == "two-sided" else f"{relation} {side}"
    return Comparison(
        what,
        relation,
        float(estimate[i]),
        _scalar(predicted[i]),
        _number(slack[i]),
        cases=estimate.size,
        chance=chance,
        interval=interval,
    )


def _p_value(p: float, relation: str, what: str, confidence: float) -> Comparison:
    level = 1 - confidence
    slack = _number((p - level) / max(p, level))
    return Comparison(what, relation, float(p), level, slack, chance=level)


def _room(tolerance: np.ndarray, error: np.ndarray) -> np.ndarray:
    """(tolerance - error) / max(tolerance, |error|): 1 without error, 0 on the edge, towards -1 far outside."""
    scale = np.maximum(tolerance, np.abs(error))
    with np.errstate(invalid="ignore"):
        room = np.where(
            np.isinf(scale), np.where(np.isinf(error), -1.0, 1.0), (tolerance - error) / np.where(scale > 0, scale, 1.0)
        )
    return np.where((tolerance == 0) & (error == 0), 1.0, room)


def _pool(observed: np.ndarray, expected: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    cells: list[list[float]] = []
    for o, e in zip(observed, expected, strict=True):
        if cells and cells[-1][1] < least:
            cells[-1][0] += o
            cells[-1][1] += e
        else:
            cells.append([o, e])
    if len(cells) > 1 and cells[-1][1] < least:
        o, e = cells.pop()
        cells[-1][0] += o
        cells[-1][1] += e
    return np.array([c[0] for c in cells]), np.array([c[1] for c in cells])


def _pair(measured: Any, predicted: Any) -> tuple[np.ndarray, np.ndarray]:
    m, p = np.broadcast_arrays(np.asarray(measured, float), np.asarray(predicted, float))
    if m.size == 0:
        raise ValueError("A comparison compares nothing: the arrays are empty; compare at least one element.")
    return m.ravel(), p.ravel()


def _says_nothing(bound: np.ndarray, trivial: float | None) -> np.ndarray:
    return bound >= (math.inf if trivial is None else trivial)


def _tail(confidence: float, cases: int, side: Side) -> float:
    return (1 - confidence) / cases / (2 if side == "two-sided" else 1)


def _worst(slack: np.ndarray) -> int:
    return int(np.argmin(np.where(np.isnan(slack), -np.inf, slack)))


def _number(slack: Any) -> float:
    """A slack that is not a number comes from a measurement that is not one: the worst there is."""
    return -math.inf if math.isnan(slack) else float(slack)


def _scalar(value: Any) -> Value:
    """A plain Python value; floats that are whole numbers stay floats, so that JSON keeps the type."""
    return value.item() if hasattr(value, "item") else value
