"""How long gradient descent stays near a saddle: logarithmic in the distance at strict ones, a power at degenerate."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Num

Rows = Float[np.ndarray, "starts p"]


def strict_escape_steps(
    distance: float | Num[np.ndarray, " k"], radius: float, step_size: float, least_curvature: float
) -> Num[np.ndarray, "..."]:
    """ln(R/d₀)/ln(1 + η|λ_min|): steps of gradient descent from distance d₀ along the escape direction to R.

    Exact for a quadratic; d₀ is the part of the start along the eigenvector of λ_min < 0.

    >>> round(float(strict_escape_steps(1e-3, 1.0, 0.1, -10.0)), 3)  # the distance doubles in each step
    9.966
    """
    if not (least_curvature < 0 and step_size > 0):
        raise ValueError(
            f"step_size = {step_size:g}, least_curvature = {least_curvature:g}: a strict saddle has negative curvature "
            "and a step size is positive; at degenerate saddles use degenerate_escape_steps."
        )
    return np.asarray(np.log(radius / np.asarray(distance, float)) / np.log1p(-step_size * least_curvature))


def degenerate_escape_steps(
    distance: float | Num[np.ndarray, " k"], radius: float, step_size: float, order: int, coefficient: float
) -> Num[np.ndarray, "..."]:
    """(d₀^{2−q} − R^{2−q})/((q − 2) q c η): steps until a loss −c r^q (q ≥ 3) takes the distance from d₀ to R.

    The time of the flow r' = q c r^{q−1} over η: descent takes a little longer, by O(log(R/d₀)) steps.

    >>> float(degenerate_escape_steps(0.01, np.inf, 0.1, 3, 1.0).round(3))
    333.333
    """
    if order < 3 or not (coefficient > 0 and step_size > 0):
        raise ValueError(
            f"order = {order}, coefficient = {coefficient:g}, step_size = {step_size:g}: give an order of 3 or more "
            "and positive numbers; order 2 is strict_escape_steps."
        )
    power = 2.0 - order
    start, end = np.asarray(distance, float) ** power, float(radius) ** power
    return np.asarray((start - end) / ((order - 2) * order * coefficient * step_size))


def escape_times(
    gradient: Callable[[Rows], Rows], starts: Rows, *, step_size: float, radius: float, max_steps: int = 100_000
) -> Float[np.ndarray, " starts"]:
    """At which step gradient descent from each start first has ‖w‖ ≥ radius, the saddle being at 0; ∞ if not in
    `max_steps`.

    Between steps the logarithm of the distance is taken as linear, so that times are not rounded to whole steps.
    `gradient` takes and gives an array of points in rows.

    >>> saddle = lambda w: w * np.array([1.0, -1.0])
    >>> escape_times(saddle, np.array([[0.0, 0.01]]), step_size=1.0, radius=1.28).round(9).tolist()
    [7.0]
    """
    w = np.array(starts, float)
    if w.ndim != 2 or not w.size:
        raise ValueError(f"starts have shape {w.shape}; give one start a row.")
    before = np.linalg.norm(w, axis=1)
    if np.any(before >= radius) or np.any(before == 0):
        raise ValueError(f"A start is at the saddle or beyond radius = {radius:g}; start at distances in between.")
    times, active = np.full(len(w), np.inf), np.arange(len(w))
    for t in range(1, max_steps + 1):
        w = w - step_size * gradient(w)
        after = np.sqrt((w * w).sum(axis=1))
        out = after >= radius
        if out.any():
            gone = np.log(radius / before[out]) / np.log(after[out] / before[out])
            times[active[out]] = t - 1 + gone
            active, w, after = active[~out], w[~out], after[~out]
            if not active.size:
                break
        before = after
    return times
