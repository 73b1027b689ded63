"""Distance to the minimiser along gradient descent on convex functions: what a step gains, and that it never grows."""

from typing import Annotated

import numpy as np

from leadline import data
from leadline.claims.optimisation import plain_problems
from leadline.evidence import Range, at_least, at_most, claim, close, figure


def _convex_problems(rng, dimension, condition, radius):
    """Logistic with ridge, Huber, and ‖w‖⁴/4 on the ball that holds its start."""
    direction = rng.normal(size=dimension)
    return {
        "logistic with ridge": (
            plain_problems.drawn_logistic(rng, 80, dimension, condition),
            rng.normal(size=dimension),
        ),
        "Huber": (plain_problems.huber(radius / 10), np.array([radius])),
        "‖w‖⁴/4": (plain_problems.quartic(radius), radius * direction / np.linalg.norm(direction)),
    }


def _gain(problem, points, step):
    """(‖wᵗ − w*‖² − ‖wᵗ⁺¹ − w*‖²)/(2η) as g·(wᵗ − w* + wᵗ⁺¹ − w*)/2, which loses no digits to cancellation."""
    g, away = problem.gradient(points[:-1]), points - problem.minimiser
    return np.sum(g * (away[:-1] + away[1:]), 1) / 2


@claim(
    "gd-convex-one-step-bound",
    says=(
        "On a convex L-smooth function with η ≤ 1/L, the gap after a step is at most the loss of squared distance to "
        "w*, divided by 2η. Added up over steps it gives the 1/t rate. It fails without convexity."
    ),
    formula=r"l(w^{t+1}) - l^* \le \frac{\|w^t - w^*\|^2 - \|w^{t+1} - w^*\|^2}{2 \eta}",
    sources=("penn",),
    assumes=("convex", "L-smooth", "η ≤ 1/L"),
)
def gd_convex_one_step_bound(
    key,
    step: Annotated[float, Range(0.01, 1.0)] = 0.8,
    dimension: Annotated[int, Range(1, 50)] = 5,
    condition: Annotated[float, Range(2.0, 1000.0, log=True)] = 50.0,
    radius: Annotated[float, Range(0.1, 10.0, log=True)] = 1.0,
    steps: Annotated[int, Range(2, 500)] = 60,
):
    """`step` is ηL, on three convex functions; and a double well, started in the shallow well."""
    panels, worst = [], []
    for name, (problem, start) in _convex_problems(data.generator(key), dimension, condition, radius).items():
        eta = step / problem.smoothness
        points = problem.descent(start, eta, steps)
        gap, gain = problem.gap(points[1:]), _gain(problem, points, eta)
        scale = 1e-12 * max(1.0, float(gap[0]), abs(problem.minimum))
        yield at_most(gap, gain, f"gap after each step, {name}, against the gain of squared distance/(2η)", atol=scale)
        total = eta * 2 * np.cumsum(gain)
        direct = np.sum((start - problem.minimiser) ** 2) - np.sum((points[1:] - problem.minimiser) ** 2, 1)
        yield close(total, direct, f"summed gains, {name}: they telescope", atol=1e-12 * max(1.0, float(direct[-1])))
        t, shown = np.arange(1, steps + 1), gap > 1e-13
        worst.append(np.max(gap[shown] / gain[shown], initial=0.0))
        panels.append(
            figure.curves(
                name,
                x="step",
                y="gap",
                lines={"squared distance gained/(2η)": (t[shown], gain[shown])},
                points={"gap after the step": (t[shown], gap[shown])},
                log="y",
            )
        )
    well = plain_problems.double_well()
    points = well.descent(np.array([0.8]), step / well.smoothness, 50)
    excess = well.gap(points[1:]) - _gain(well, points, step / well.smoothness)
    yield at_least(
        excess, 0.0, "gap minus gain in the shallow well of a double well: violated at each step", strict=True
    )
    yield figure.beside(
        f"Each gap is below the squared distance gained/(2η), ηL = {step:.3g}: at most {max(worst):.2f} of it", *panels
    )


@claim(
    "gd-distance-monotone",
    says=(
        "On a convex L-smooth function with η ≤ 2/L each step takes at least η(2/L − η)‖g‖² off the squared distance "
        "to every minimiser: the distance never grows. It grows beyond 2/L, and without convexity."
    ),
    formula=r"\|w^{t+1} - w^*\|^2 \le \|w^t - w^*\|^2 - \eta \left(\tfrac{2}{L} - \eta\right) \|g\|^2",
    sources=("penn",),
    assumes=("convex", "L-smooth", "η ≤ 2/L"),
)
def gd_distance_monotone(
    key,
    step: Annotated[float, Range(0.01, 2.2)] = 1.8,
    dimension: Annotated[int, Range(1, 50)] = 5,
    condition: Annotated[float, Range(2.0, 1000.0, log=True)] = 50.0,
    radius: Annotated[float, Range(0.1, 10.0, log=True)] = 1.0,
    steps: Annotated[int, Range(2, 500)] = 60,
):
    """`step` is ηL, on three convex functions; 2.1/L on a quadratic; a double well from its wrong side."""
    rng, curves, t = data.generator(key), {}, np.arange(steps + 1)
    for name, (problem, start) in _convex_problems(rng, dimension, condition, radius).items():
        eta = step / problem.smoothness
        points = problem.descent(start, eta, steps)
        square = np.sum(problem.gradient(points[:-1]) ** 2, 1)
        promised = (2 / problem.smoothness - eta) * square / 2
        gain = _gain(problem, points, eta)
        rounding = 1e-12 * max(1.0, float(square[0]) / problem.smoothness)
        inside = step <= 2 or name != "‖w‖⁴/4"  # beyond 2/L the run may leave the ball on which L was taken
        more = at_least(gain, promised, f"gain of squared distance/(2η) at each step, {name}", atol=rounding)
        yield more.given(inside, "the run stays where L was taken")
        distance = np.linalg.norm(points - problem.minimiser, axis=1)
        grows = at_most(
            np.diff(distance), 0.0, f"change of distance at each step, {name}", atol=1e-12 * max(1.0, radius)
        )
        yield grows.given(step <= 2, "ηL ≤ 2")
        curves[name] = (t, distance / distance[0])

    bowl = plain_problems.drawn_quadratic(rng, max(dimension, 2), condition)
    top = np.linalg.eigh(np.stack([bowl.gradient(e) for e in np.eye(max(dimension, 2))]))[1][:, -1]
    factor = np.linalg.norm(bowl.descent(top, 2.1 / condition, 1)[-1])
    yield close(factor, 1.1, "factor of the distance in a step 2.1/L along the top curvature", atol=1e-10)
    well = plain_problems.double_well()
    away = np.linalg.norm(well.descent(np.array([0.3]), 0.1, steps) - well.minimiser, axis=1)
    first = np.diff(away)[:20]
    yield at_least(
        first, 0.0, "change of distance to the global minimiser at the first steps, double well", strict=True
    )
    yield figure.curves(
        f"Convex: no distance grows at ηL = {step:.3g}; in a double well it grows by {away[-1] / away[0] - 1:.0%}",
        x="t",
        y="‖wᵗ − w*‖, relative to the start",
        points=curves | {"double well": (t, away / away[0])},
    )
