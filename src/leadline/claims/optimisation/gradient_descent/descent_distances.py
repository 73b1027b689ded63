"""Distance to the minimiser along gradient descent on convex functions: what a step gains, and that it never grows."""

import numpy as np

from leadline import data, optimisation
from leadline.claims.scenarios.optimisation.small_regressions import drawn_logistic, drawn_quadratic
from leadline.evidence import Int, Real, at_least, at_most, claim, close
from leadline.presentation import figure


def _convex_problems(rng, dimension, condition, radius):
    """Logistic with ridge, Huber, and ‖w‖⁴/4 on the ball that holds its start."""
    direction, ball = rng.normal(size=dimension), optimisation.QuarticBowl(radius, dimension)
    logistic = drawn_logistic(rng, 80, dimension, condition)
    return {
        "logistic with ridge": (logistic, rng.normal(size=dimension)),
        "Huber": (optimisation.Huber(radius / 10), np.array([radius])),
        "‖w‖⁴/4": (ball, radius * direction / np.linalg.norm(direction)),
    }


def _gain(problem, points):
    """(‖wᵗ − w*‖² − ‖wᵗ⁺¹ − w*‖²)/(2η) as g·(wᵗ − w* + wᵗ⁺¹ − w*)/2, which loses no digits to cancellation."""
    g, away = problem.gradient(points[:-1]), points - problem.constants().minimiser
    return np.sum(g * (away[:-1] + away[1:]), 1) / 2


@claim(sources=("penn",))
def gd_convex_one_step_bound(
    key,
    step_size: Real(0.01, 1.0) = 0.8,
    dimension: Int(1, 50) = 5,
    condition: Real(2.0, 1000.0, log=True) = 50.0,
    radius: Real(0.1, 10.0, log=True) = 1.0,
    num_steps: Int(2, 500) = 60,
):
    r"""One-step bound for convex descent.

    On a convex L-smooth function with η ≤ 1/L, the gap after a step is at most the decrease of the squared distance to
    w*, divided by 2η. Summed over the steps it gives the 1/t rate. It fails without convexity.

    $$l(w^{t+1}) - l^* \le \frac{\|w^t - w^*\|^2 - \|w^{t+1} - w^*\|^2}{2 \eta}$$

    Assumes: l is convex; l is L-smooth; η ≤ 1/L.

    Check: The parameter `step_size` is ηL, on three convex functions; a double well is started in its shallow well.
    """
    panels, worst = [], []
    for name, (problem, start) in _convex_problems(data.generator(key), dimension, condition, radius).items():
        known = problem.constants()
        eta = step_size / known.smoothness
        points = optimisation.gradient_path(problem.gradient, start, eta, num_steps)
        gap, gain = problem(points[1:]) - known.minimum, _gain(problem, points)
        scale = 1e-12 * max(1.0, gap[0], abs(known.minimum))
        yield at_most(gap, gain, f"gap after each step, {name}, against the gain of squared distance/(2η)", atol=scale)
        total = eta * 2 * np.cumsum(gain)
        direct = np.sum((start - known.minimiser) ** 2) - np.sum((points[1:] - known.minimiser) ** 2, 1)
        yield close(total, direct, f"summed gains, {name}: they telescope", atol=1e-12 * max(1.0, direct[-1]))
        t = np.flatnonzero(gap > 1e-13)
        worst.append(np.max(gap[t] / gain[t], initial=0.0))
        lines, points = {"squared distance gained/(2η)": (t + 1, gain[t])}, {"gap after the step": (t + 1, gap[t])}
        panels.append(figure.curves(name, "step", "gap", lines=lines, points=points, log="y"))
    well = optimisation.DoubleWell(radius=1.3)
    eta = step_size / well.constants().smoothness
    points = optimisation.gradient_path(well.gradient, np.array([0.8]), eta, 50)
    excess = well.gap(points[1:]) - _gain(well, points)
    yield at_least(excess, 0.0, "gap minus gain at each step in the shallow well of a double well", strict=True)
    title = f"Each gap is at most {max(worst):.2f} of the squared distance gained/(2η), ηL = {step_size:.3g}"
    yield figure.beside(title, *panels)


@claim(sources=("penn",))
def gd_distance_monotone(
    key,
    step_size: Real(0.01, 2.2) = 1.8,
    dimension: Int(1, 50) = 5,
    condition: Real(2.0, 1000.0, log=True) = 50.0,
    radius: Real(0.1, 10.0, log=True) = 1.0,
    num_steps: Int(2, 500) = 60,
):
    r"""Distance to the minimiser never grows.

    On a convex L-smooth function with η ≤ 2/L, each step takes at least η(2/L − η)‖g‖² off the squared distance to
    every minimiser: the distance never grows. It can grow beyond 2/L, and without convexity.

    $$\|w^{t+1} - w^*\|^2 \le \|w^t - w^*\|^2 - \eta \left(\tfrac{2}{L} - \eta\right) \|g\|^2$$

    Assumes: l is convex; l is L-smooth; η ≤ 2/L.

    Check: The parameter `step_size` is ηL, on three convex functions; the counterexamples are the step 2.1/L on a
    quadratic, and a double well started on its wrong side.
    """
    rng, curves, t = data.generator(key), {}, np.arange(num_steps + 1)
    for name, (problem, start) in _convex_problems(rng, dimension, condition, radius).items():
        smoothness = problem.constants().smoothness
        eta = step_size / smoothness
        points = optimisation.gradient_path(problem.gradient, start, eta, num_steps)
        square = np.sum(problem.gradient(points[:-1]) ** 2, 1)
        promised = (2 / smoothness - eta) * square / 2
        rounding = 1e-12 * max(1.0, square[0] / smoothness)
        inside = step_size <= 2 or name != "‖w‖⁴/4"  # beyond 2/L the run may leave the ball on which L was taken
        what = f"gain of squared distance/(2η) at each step, {name}"
        more = at_least(_gain(problem, points), promised, what, atol=rounding)
        yield more.given(inside, "the run stays where L was taken")
        distance = np.linalg.norm(points - problem.constants().minimiser, axis=1)
        what = f"change of distance at each step, {name}"
        grows = at_most(np.diff(distance), 0.0, what, atol=1e-12 * max(1.0, radius))
        yield grows.given(step_size <= 2, "ηL ≤ 2")
        curves[name] = (t, distance / distance[0])
    bowl = drawn_quadratic(rng, max(dimension, 2), condition)
    top = np.linalg.eigh(bowl.matrix)[1][:, -1]
    factor = np.linalg.norm(top - 2.1 / condition * bowl.gradient(top))
    yield close(factor, 1.1, "factor of the distance in a step 2.1/L along the top curvature", atol=1e-10)
    well = optimisation.DoubleWell()
    path = optimisation.gradient_path(well.gradient, np.array([0.3]), 0.1, num_steps)
    away = np.linalg.norm(path - well.constants().minimiser, axis=1)
    what = "double well: change of distance to the global minimiser at the first steps"
    yield at_least(np.diff(away)[:20], 0.0, what, strict=True)
    grown = away[-1] / away[0] - 1
    title = f"Convex: no distance grows at ηL = {step_size:.3g}; in a double well it grows by {grown:.0%}"
    points = curves | {"double well": (t, away / away[0])}
    yield figure.curves(title, "t", "‖wᵗ − w*‖, relative to the start", points=points)
