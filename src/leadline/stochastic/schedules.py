"""Step-size schedules: η_t for every update of a run, and which of Robbins and Monro's conditions one meets."""

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Float

Shape = Literal["constant", "harmonic", "power", "cosine", "drops", "warm-up"]
STEP_SHAPES: tuple[str, ...] = get_args(Shape)
_BORDER = 0.15  # a tail that is no pure power is not judged nearer than this to a border


class ScheduleClass(NamedTuple):
    """What becomes of Σηₜ and Σηₜ², with the exponent a of the tail ηₜ ~ t^{−a}, and what follows for SGD.

    `sum_diverges` and `squares_converge` are None where the exponent is too near the border (1, and ½) to decide and is
    not on it. `converges` is convergence in mean square on a strongly convex quadratic, for which ηₜ → 0 and Σηₜ = ∞ is
    enough; `verdict` says it in words.
    """

    exponent: float
    sum_diverges: bool | None
    squares_converge: bool | None
    robbins_monro: bool | None
    converges: bool | None
    verdict: str


def power_schedule(scale: float, exponent: float) -> Callable[[np.ndarray], np.ndarray]:
    """ηₜ = c t^{−a}, t = 1, 2, …

    >>> power_schedule(2.0, 0.5)(np.array([1.0, 4.0])).tolist()
    [2.0, 1.0]
    """
    return lambda t: scale * np.asarray(t, float) ** -exponent


def step_sizes(
    shape: str, eta: float, num_steps: int, *, delay: float = 1.0, power: float = 0.5, drops: int = 3, warm: float = 0.1
) -> Float[np.ndarray, " steps"]:
    """η_t, t = 0 … T−1: constant η; harmonic η d/(t + d) with delay d; power η (t+1)^−a; cosine η (1 + cos πt/T)/2;
    `drops` halvings at equal distances; warm-up from 0 over the share `warm` of the run, then constant.

    >>> step_sizes("harmonic", 1.0, 3).round(3).tolist(), step_sizes("drops", 1.0, 4).tolist()
    ([1.0, 0.5, 0.333], [1.0, 0.5, 0.25, 0.125])
    """
    if shape not in STEP_SHAPES:
        raise ValueError(f"step_sizes got '{shape}'; choose one of {', '.join(STEP_SHAPES)}.")
    t = np.arange(num_steps)
    if shape == "harmonic":
        return eta * delay / (t + delay)
    if shape == "power":
        return power_schedule(eta, power)(t + 1)
    if shape == "cosine":
        return eta * (1 + np.cos(np.pi * t / max(num_steps, 1))) / 2
    if shape == "drops":
        return eta * 0.5 ** (t * (drops + 1) // max(num_steps, 1))
    if shape == "warm-up":
        return eta * np.minimum(1.0, (t + 1) / max(warm * num_steps, 1))
    return np.full(num_steps, float(eta))


def classify_schedule(schedule: Callable[[np.ndarray], np.ndarray], *, decades: int = 12) -> ScheduleClass:
    """Judge a schedule t ↦ ηₜ (of an array of t ≥ 1) by how its sums grow from one decade of t to the next.

    A decade of t holds about t ηₜ of Σηₜ and t ηₜ² of Σηₜ²; the tail exponent a is fitted to windowed means over the
    last decades (so cycles average out). Σηₜ = ∞ iff a ≤ 1, Σηₜ² < ∞ iff a > ½. No finite look can prove it: a
    schedule that changes after 10^`decades` steps is judged by what it does before; near a border the answer is None.

    >>> classify_schedule(power_schedule(0.5, 0.75)).robbins_monro
    True
    >>> classify_schedule(lambda t: 0.1 + 0 * t).verdict
    'does not converge: the step does not go to 0, so a floor proportional to it stays'
    """
    means, squares = _window_means(schedule, decades)
    if not (np.all(np.isfinite(means)) and np.all(means >= 0) and means[0] > 0):
        raise ValueError("The schedule has steps that are negative or not finite; give eta(t) >= 0 for t >= 1.")
    if means[-1] <= 0 or means[-1] < means[0] * 10.0 ** (-5 * decades):
        return ScheduleClass(
            np.inf, False, True, False, False, "stalls: the steps end or die out, so their sum is finite"
        )
    half = len(means) // 2
    decade = np.arange(len(means))[half:]
    exponent = float(-np.polyfit(decade, np.log10(means[half:]), 1)[0])
    exponent_squares = float(-np.polyfit(decade, np.log10(squares[half:]), 1)[0]) / 2
    bend = float(-np.polyfit(decade, np.log10(means[half:]), 2)[0])
    pure = abs(bend) < 1e-4
    diverges = _decide(1 - exponent, pure, at_border=True)
    converge = _decide(exponent_squares - 0.5, pure, at_border=False)
    vanishes = exponent > 1e-3
    both = None if diverges is None or converge is None else diverges and converge
    if not vanishes:
        words = "does not converge: the step does not go to 0, so a floor proportional to it stays"
        return ScheduleClass(exponent, True, False, False, False, words)
    if diverges is None:
        words = "undecided: the tail is too near 1/t to say whether the sum of the steps is infinite"
    elif not diverges:
        words = "stalls: the sum of the steps is finite, so a start far away is never forgotten"
    elif converge:
        words = "converges: it meets Robbins and Monro's two conditions"
    elif converge is None:
        words = "converges on quadratics; too near t^(-1/2) to say whether the sum of the squares is finite"
    else:
        words = "converges on quadratics, although the sum of the squares is infinite"
    return ScheduleClass(exponent, diverges, converge, both, diverges, words)


def _window_means(schedule: Callable, decades: int) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Means of ηₜ and of ηₜ² over [10ᵏ, 2·10ᵏ] for k = 1 … `decades` − 1, from at most 2000 points each."""
    means, squares = [], []
    for k in range(1, decades):
        t = np.unique(np.linspace(10.0**k, 2 * 10.0**k, 2000).round())
        eta = np.broadcast_to(np.asarray(schedule(t), float), t.shape)
        means.append(np.mean(eta))
        squares.append(np.mean(eta**2))
    return np.array(means), np.array(squares)


def _decide(margin: float, pure: bool, *, at_border: bool) -> bool | None:
    """The sign of a margin; on the border itself, where the tail is a pure power, the known answer."""
    if pure:
        return at_border if abs(margin) < 1e-4 else margin > 0
    return margin > 0 if abs(margin) > _BORDER else None
