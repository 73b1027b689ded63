"""The strength of one mode of a linear network in training: a sigmoid in time, and its half time."""

import numpy as np
from jaxtyping import Float

Times = Float[np.ndarray, " times"]


def mode_strength(times: Times, target: float, start: float) -> Times:
    """a(t) = s e^{2st} / (e^{2st} - 1 + s/a₀), the solution of ȧ = 2a(s - a): one mode of AB under gradient flow on
    ½‖AB - G‖², from balanced factors aligned with the singular vectors of G (Saxe, McClelland and Ganguli 2014).

    s is the singular value of G, a₀ the strength at the start.

    >>> mode_strength(np.array([0.0, 100.0]), 2.0, 0.001).round(6).tolist()
    [0.001, 2.0]
    """
    _check(target, start)
    with np.errstate(over="ignore"):
        return target / (1 + (target / start - 1) * np.exp(-2 * target * np.asarray(times)))


def mode_half_time(target: float, start: float) -> float:
    """ln(s/a₀ - 1)/(2s): when the mode has half its final strength; the stronger mode is the earlier.

    >>> [round(mode_half_time(s, 0.001), 3) for s in (4.0, 3.0, 2.0, 1.0)]
    [1.037, 1.334, 1.9, 3.453]
    """
    _check(target, start)
    if start >= target / 2:
        raise ValueError(f"The mode begins at {start}, beyond half its target {target}; begin below {target / 2}.")
    return float(np.log(target / start - 1) / (2 * target))


def deep_mode_strength(times: Times, target: float, start: float, *, depth: int) -> Times:
    """The solution of ȧ = L a^{2 - 2/L} (s - a): one mode of W_L … W_1 under gradient flow, balanced and aligned.

    L = 2 is `mode_strength`. Integrated numerically (Dormand and Prince, relative error 1e-10).

    >>> t = np.array([0.0, 1.0, 2.0])
    >>> bool(np.allclose(deep_mode_strength(t, 2.0, 0.001, depth=2), mode_strength(t, 2.0, 0.001), rtol=1e-7))
    True
    """
    from scipy.integrate import solve_ivp

    _check(target, start)
    times = np.asarray(times, float)
    if depth < 1 or np.any(np.diff(times) < 0) or times[0] < 0:
        raise ValueError("deep_mode_strength needs a depth of at least 1 and times from 0 on in increasing order.")
    growth = 2 - 2 / depth

    def velocity(_, log_strength):  # in ln a, where small strengths lose no digits
        strength = np.exp(log_strength)
        return depth * strength ** (growth - 1) * (target - strength)

    if times[-1] == 0:
        return np.full(times.shape, float(start))
    found = solve_ivp(velocity, (0.0, times[-1]), [np.log(start)], t_eval=times, rtol=1e-10, atol=1e-10)
    return np.exp(found.y[0])


def _check(target: float, start: float) -> None:
    if not (target > 0 and start > 0):
        raise ValueError(f"A mode needs a positive target and start; it got target {target} and start {start}.")
