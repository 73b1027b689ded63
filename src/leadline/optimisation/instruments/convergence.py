"""How a run converges: the class of a sequence of gaps, and the measures of how far it has come."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from leadline.curvature.spectra.estimate import Estimate
from leadline.data import generator

_FEWEST = 4


class ConvergenceOrder(NamedTuple):
    """The class of a sequence of gaps and the number that goes with it, fitted on iterations `window` (ends included).

    `name` and what `fitted` is: "sublinear", the exponent a of t^−a; "linear", the rate ρ of ρᵗ; "superlinear", the
    order q of gapₜ₊₁ ≈ c gapₜ^q; "stalled" and "diverging", the rate again, near 1 and above it.
    """

    name: str
    fitted: Estimate
    window: tuple[int, int]


def convergence_order(
    gaps: Float[np.ndarray | Array, " steps"],
    *,
    first: int = 0,
    floor: float | None = None,
    kept: float = 0.6,
    resamples: int = 200,
    key: PRNGKeyArray | None = None,
) -> ConvergenceOrder:
    """Class and rate of gaps l(wᵗ) − l*, t = first, first + 1, … , from the last part `kept` of those above rounding.

    ρ = lim gapₜ₊₁/gapₜ decides: 1 is sublinear, 0 < ρ < 1 LINEAR, 0 superlinear. Power and geometric laws are fitted to
    the decreasing envelope max_{s ≥ t} gap_s (momentum oscillates) in logarithms and the closer one is taken. The
    interval is a 95% bootstrap over windows and points. `floor` is where rounding begins (found if not given).

    >>> found = convergence_order(0.9 ** np.arange(200.0))
    >>> found.name, round(found.fitted.value, 6)
    ('linear', 0.9)
    >>> convergence_order(2.0 ** -(2.0 ** np.arange(6))).name
    'superlinear'
    """
    g = np.asarray(gaps, dtype=float)
    if g.ndim != 1 or g.size < _FEWEST:
        raise ValueError(f"convergence_order got gaps of shape {g.shape}; give one vector of at least {_FEWEST} gaps.")
    if not 0 < kept <= 1:
        raise ValueError(
            f"convergence_order got kept = {kept}; give the part of the run to fit, above 0 and at most 1."
        )
    if not (np.isfinite(g[0]) and g[0] > 0):
        raise ValueError(f"convergence_order got the first gap {g[0]}; gaps are l − l* > 0: give a smaller l*.")
    times = np.arange(first, first + g.size)
    if not np.all(np.isfinite(g)) or g[-1] > 1e3 * g[0]:
        return _diverging(g, times)
    g, times = _above_rounding(g, times, floor)
    if (order := _superlinear(g)) is not None:
        return ConvergenceOrder("superlinear", order, (int(times[0]), int(times[-1])))
    g = np.maximum.accumulate(g[::-1])[::-1]
    start = min(int((1 - kept) * g.size), g.size - _FEWEST)
    early = min(start, g.size // 10)  # where noise blurs the difference of the rates, a longer window tells them apart
    wide, wide_times = np.log(g[early:]), times[early:].astype(float)
    g, times = np.log(g[start:]), times[start:].astype(float)
    window = (int(times[0]), int(times[-1]))
    rng = generator(jax.random.key(0) if key is None else key)
    power_times = np.log(np.maximum(times, 0.5))
    power, power_error = _line(power_times, g)
    slope, slope_error = _line(times, g)
    if power > -0.02 and slope * (times[-1] - times[0]) > -0.02:
        return ConvergenceOrder("stalled", _bootstrap(times, g, np.exp, rng, resamples, "gaps do not fall"), window)
    if 0.7 < (power_error + 1e-300) / (slope_error + 1e-300) < 1 / 0.7:
        power_error, slope_error = (_line(x, wide)[1] for x in (np.log(np.maximum(wide_times, 0.5)), wide_times))
    if power_error < slope_error:
        fitted = _bootstrap(
            power_times, g, np.negative, rng, resamples, "exponent a of t^-a, least squares in logarithms"
        )
        return ConvergenceOrder("sublinear", fitted, window)
    fitted = _bootstrap(times, g, np.exp, rng, resamples, "rate of a geometric law, least squares in logarithms")
    return ConvergenceOrder("linear", fitted, window)


def _above_rounding(g: np.ndarray, times: np.ndarray, floor: float | None) -> tuple[np.ndarray, np.ndarray]:
    """The run up to the first gap at the level where it no longer falls, if that is rounding and not a stall."""
    if floor is None:
        eighth = max(1, g.size // 8)
        tail, before = np.median(np.abs(g[-eighth:])), np.median(np.abs(g[-2 * eighth : -eighth]))
        flat = g.size >= 16 and tail >= 0.999 * before and tail <= 1e-8 * g[0]
        floor = 10 * float(np.max(np.abs(g[-2 * eighth :]))) if flat else 0.0
        floor = max(floor, 4 * np.finfo(float).eps * float(np.max(g)))
    low = np.flatnonzero(g <= floor)
    end = int(low[0]) if low.size else g.size
    if end < _FEWEST:  # too fast or too flat to leave a window: take what is positive
        positive = np.flatnonzero(g <= 0)
        end = int(positive[0]) if positive.size else g.size
    if end < _FEWEST:
        raise ValueError(
            f"convergence_order has {end} gaps above rounding; give at least {_FEWEST}, from a worse start."
        )
    return g[:end], times[:end]


def _superlinear(g: np.ndarray) -> Estimate | None:
    """The order q from the last steps, if each of the last three shrinks the gap by more than the one before."""
    logs = np.log(g)
    steps = -np.diff(logs)
    tail = steps[-3:]
    if not (np.all(np.diff(tail) > 0) and tail[0] > 0 and tail[-1] > np.log(20)):
        return None
    orders = tail[1:] / tail[:-1]  # log(gₜ₊₂/gₜ₊₁)/log(gₜ₊₁/gₜ) → q
    if orders[-1] < 1.2:
        return None
    return Estimate(
        float(orders[-1]), float(orders.min()), float(orders.max()), False, "ratio of successive drops of log gap"
    )


def _diverging(g: np.ndarray, times: np.ndarray) -> ConvergenceOrder:
    finite = np.isfinite(g) & (g > 0)
    end = int(np.argmin(finite)) if not finite.all() else g.size
    growth = np.diff(np.log(g[:end])) if end > 1 else np.array([np.inf])
    tail = growth[growth.size // 2 :]
    fitted = Estimate(
        float(np.exp(np.median(tail))), float(np.exp(tail.min())), float(np.exp(tail.max())), False, "growth of the gap"
    )
    return ConvergenceOrder("diverging", fitted, (int(times[0]), int(times[end - 1])))


def _line(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Least-squares slope and the sum of squared residuals."""
    x, y = x - x.mean(), y - y.mean()
    slope = float(x @ y / (x @ x))
    return slope, float(np.sum((y - slope * x) ** 2))


def _bootstrap(x, y, number, rng: np.random.Generator, resamples: int, how: str) -> Estimate:
    """number(slope), with the 95% interval over resampled points of random windows (the last quarter to all)."""
    best = float(number(_line(x, y)[0]))
    starts = rng.integers(0, max(1, 3 * x.size // 4), resamples)
    found = [best]
    for start in starts:
        rows = rng.integers(min(start, x.size - _FEWEST), x.size, max(_FEWEST, x.size - start))
        if np.unique(rows).size > 1:
            found.append(float(number(_line(x[rows], y[rows])[0])))
    low, high = np.quantile(found, [0.025, 0.975])
    return Estimate(best, min(best, float(low)), max(best, float(high)), False, how)
