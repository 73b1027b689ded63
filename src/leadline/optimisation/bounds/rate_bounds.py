"""What theory promises before a run: bounds on the gap l(wᵗ) − l* and on the number of steps, from L, m, μ and R.

R = ‖w⁰ − w*‖, gap₀ = l(w⁰) − l*, η the step (1/L where none is given). Each bound is a function of t, a number or an
array; each `_steps` function inverts one: the least t at which the bound is at most the goal.
"""

import math

import numpy as np
from jaxtyping import Float, Int

from leadline._checks import require_counts

Steps = int | Float[np.ndarray, "..."] | Int[np.ndarray, "..."]
Bound = float | Float[np.ndarray, "..."]
_ROUNDING = 1e-12


def guaranteed_decrease(smoothness: float, step_size: float | Float[np.ndarray, "..."]) -> Bound:
    """η(1 − ηL/2): the multiple of ‖g‖² by which one step on an L-smooth l lowers it at least, convex or not.

    >>> guaranteed_decrease(4.0, 0.25)  # at 1/L the best guarantee, 1/(2L)
    0.125
    """
    return step_size * (1 - step_size * smoothness / 2)


def gd_stationarity_bound(smoothness: float, gap: float, t: Steps, *, step_size: float | None = None) -> Bound:
    """min_{s<t} ‖g(wˢ)‖² ≤ gap₀/(t η(1 − ηL/2)), for any L-smooth l bounded below and 0 < η < 2/L; 2L gap₀/t at 1/L.

    >>> gd_stationarity_bound(2.0, 1.0, 4)
    1.0
    """
    step_size = _step(smoothness, step_size, 2 / smoothness, "gd_stationarity_bound", "2/L", strict=True)
    return gap / (_from_one(t) * guaranteed_decrease(smoothness, step_size))


def gd_stationarity_steps(smoothness: float, gap: float, accuracy: float, *, step_size: float | None = None) -> int:
    """⌈gap₀/(ε² η(1 − ηL/2))⌉ steps, and ‖g‖ ≤ ε has been met: ⌈2L gap₀/ε²⌉ at η = 1/L.

    >>> gd_stationarity_steps(2.0, 1.0, 0.1)
    400
    """
    step_size = _step(smoothness, step_size, 2 / smoothness, "gd_stationarity_steps", "2/L", strict=True)
    return _ceil(gap / (_positive("accuracy", accuracy) ** 2 * float(guaranteed_decrease(smoothness, step_size))))


def gd_pl_bound(smoothness: float, pl: float, gap: float, t: Steps) -> Bound:
    """(1 − μ/L)ᵗ gap₀ at η = 1/L, for L-smooth l with ½‖g‖² ≥ μ(l − l*); m-strongly convex l has μ = m (Polyak 1963).

    >>> gd_pl_bound(2.0, 1.0, 8.0, 3)
    1.0
    """
    return gap * (1 - _ordered(pl, smoothness)) ** t


def gd_pl_steps(smoothness: float, pl: float, gap: float, goal: float) -> int:
    """The least t with (1 − μ/L)ᵗ gap₀ ≤ goal.

    >>> gd_pl_steps(2.0, 1.0, 8.0, 1.0)
    3
    """
    return _geometric(gap, 1 - _ordered(pl, smoothness), goal)


def gd_convex_bound(smoothness: float, distance: float, t: Steps, *, step_size: float | None = None) -> Bound:
    """R²/(2ηt) for convex L-smooth l and 0 < η ≤ 1/L; without a step, at 1/L, the sharp L R²/(4t + 2).

    The sharp one is attained by a Huber function (Drori, Teboulle 2014).

    >>> gd_convex_bound(1.0, 1.0, 5), gd_convex_bound(1.0, 1.0, 5, step_size=0.5)  # 1/22, 1/5
    (0.045454545454545456, 0.2)
    """
    if step_size is None:
        return smoothness * distance**2 / (4 * t + 2)
    step_size = _step(smoothness, step_size, 1 / smoothness, "gd_convex_bound", "1/L")
    return distance**2 / (2 * step_size * _from_one(t))


def gd_convex_steps(smoothness: float, distance: float, goal: float, *, step_size: float | None = None) -> int:
    """The least t with `gd_convex_bound` ≤ goal: of the order of R²/(2ηε).

    >>> gd_convex_steps(1.0, 1.0, 0.2, step_size=0.5), gd_convex_steps(1.0, 1.0, 0.05)
    (5, 5)
    """
    goal = _positive("goal", goal)
    if step_size is None:
        return _ceil((smoothness * distance**2 / goal - 2) / 4)
    return _ceil(distance**2 / (2 * _step(smoothness, step_size, 1 / smoothness, "gd_convex_steps", "1/L") * goal))


def gd_squared_contraction(smoothness: float, convexity: float, step_size: float) -> float:
    """c = 1 − 2ηmL/(m + L): ‖wᵗ⁺¹ − w*‖² ≤ c ‖wᵗ − w*‖², m-strongly convex and L-smooth, 0 < η ≤ 2/(m + L).

    >>> gd_squared_contraction(3.0, 1.0, 0.5)  # ((κ − 1)/(κ + 1))²
    0.25
    """
    _ordered(convexity, smoothness)
    step_size = _step(smoothness, step_size, 2 / (convexity + smoothness), "gd_squared_contraction", "2/(m + L)")
    return 1 - 2 * step_size * convexity * smoothness / (convexity + smoothness)


def gd_strongly_convex_bound(
    smoothness: float, convexity: float, distance: float, t: Steps, *, step_size: float | None = None
) -> Bound:
    """(L/2) cᵗ R² with c = 1 − 2ηmL/(m + L), for 0 < η ≤ 2/(m + L) (that step where none is given).

    >>> gd_strongly_convex_bound(3.0, 1.0, 2.0, 2)
    0.375
    """
    step_size = 2 / (convexity + smoothness) if step_size is None else step_size
    return smoothness / 2 * distance**2 * gd_squared_contraction(smoothness, convexity, step_size) ** t


def gd_steps(
    smoothness: float, convexity: float, distance: float, goal: float, *, step_size: float | None = None
) -> int:
    """The least t at which theory has the gap at most `goal`: `gd_strongly_convex_bound`, or the convex one if m = 0.

    >>> gd_steps(3.0, 1.0, 2.0, 0.375), gd_steps(1.0, 0.0, 1.0, 0.05)
    (2, 5)
    """
    if convexity == 0:
        return gd_convex_steps(smoothness, distance, goal, step_size=step_size)
    step_size = 2 / (convexity + smoothness) if step_size is None else step_size
    factor = gd_squared_contraction(smoothness, convexity, step_size)
    return _geometric(smoothness / 2 * distance**2, factor, goal)


def nesterov_convex_bound(smoothness: float, distance: float, t: Steps, *, step_size: float | None = None) -> Bound:
    """2R²/(η(t + 1)²) for convex L-smooth l, momentum (t − 1)/(t + 2) and 0 < η ≤ 1/L.

    >>> nesterov_convex_bound(1.0, 1.0, 9)
    0.02
    """
    require_counts("nesterov_convex_bound", least=0, t=t)
    step_size = _step(smoothness, step_size, 1 / smoothness, "nesterov_convex_bound", "1/L")
    return 2 * distance**2 / (step_size * (t + 1) ** 2)


def nesterov_strongly_convex_bound(
    smoothness: float, convexity: float, distance: float, t: Steps, *, sharp: bool = False
) -> Bound:
    """L(1 − 1/√κ)ᵗ R² at η = 1/L, momentum (√κ − 1)/(√κ + 1); `sharp` has (L + m)/2 in the place of L.

    >>> nesterov_strongly_convex_bound(4.0, 1.0, 1.0, 2)
    1.0
    """
    front = (smoothness + convexity) / 2 if sharp else smoothness
    return front * distance**2 * (1 - math.sqrt(_ordered(convexity, smoothness))) ** t


def nesterov_steps(smoothness: float, convexity: float, distance: float, goal: float) -> int:
    """The least t at which Nesterov's bound is at most `goal`; growing momentum if m = 0.

    >>> nesterov_steps(4.0, 1.0, 1.0, 1.0), nesterov_steps(1.0, 0.0, 1.0, 0.02)
    (2, 9)
    """
    if convexity == 0:
        return _ceil(math.sqrt(2 * smoothness * distance**2 / _positive("goal", goal)) - 1)
    return _geometric(smoothness * distance**2, 1 - math.sqrt(_ordered(convexity, smoothness)), goal)


def newton_local_bound(hessian_lipschitz: float, convexity: float, distance: float, t: Steps) -> Bound:
    """(2m/M)(M R/(2m))^(2ᵗ) ≥ ‖wᵗ − w*‖ for H ≥ mI and M-Lipschitz H: from R < 2m/M on; beyond, it says nothing.

    >>> newton_local_bound(2.0, 1.0, 0.5, 3)
    0.00390625
    """
    region = 2 * _positive("strong convexity", convexity) / _positive("hessian_lipschitz", hessian_lipschitz)
    if distance >= region:
        return np.full(np.shape(t), math.inf) if np.ndim(t) else math.inf
    return region * (distance / region) ** (2.0**t)


def _geometric(first: float, factor: float, goal: float) -> int:
    if first <= _positive("goal", goal):
        return 0
    return 1 if factor <= 0 else _ceil(math.log(goal / first) / math.log(factor))


def _ceil(value: float) -> int:
    return max(0, math.ceil(value * (1 - _ROUNDING) - _ROUNDING))


def _from_one(t: Steps) -> Steps:
    if np.min(t) < 1:
        raise ValueError(f"This bound speaks of t >= 1 steps; t = {np.min(t)} was given.")
    return t


def _positive(name: str, value: float) -> float:
    if not value > 0:
        raise ValueError(f"{name} is {value:g}; a number above 0 is needed.")
    return value


def _ordered(lower: float, smoothness: float) -> float:
    if not 0 < lower <= smoothness * (1 + _ROUNDING):
        raise ValueError(f"Constants {lower:g} (m or mu) and L = {smoothness:g} do not fit: 0 < m <= L is needed.")
    return min(lower / smoothness, 1.0)


def _step(smoothness: float, step_size: float | None, most: float, who: str, name: str, strict: bool = False) -> float:
    _positive("smoothness", smoothness)
    if step_size is None:
        return 1 / smoothness
    if not 0 < step_size <= most * (1 + _ROUNDING) or (strict and step_size >= most):
        sign = "<" if strict else "<="
        raise ValueError(
            f"{who} holds for 0 < step {sign} {name} = {most:g}; the step is {step_size:g}: take a shorter one."
        )
    return step_size
