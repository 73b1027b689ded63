"""What one step of gradient descent guarantees, and the linear rate that follows under PL."""

from typing import Annotated

import numpy as np

from leadline import data, optimisation
from leadline.claims.optimisation import plain_problems
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, printed


@claim(
    "sufficient-decrease",
    says=(
        "On an L-smooth function, convex or not, one step lowers l by at least η(1 − ηL/2)‖g‖²: a decrease for every "
        "0 < η < 2/L, at best ‖g‖²/(2L) at η = 1/L. Isotropic quadratics attain it."
    ),
    formula=r"l(w - \eta g) \le l(w) - \eta \left(1 - \tfrac{\eta L}{2}\right) \|g\|^2",
    sources=("eth", "sheet", "penn"),
    assumes=("the gradient is L-Lipschitz",),
)
def sufficient_decrease(
    key,
    step: Annotated[float, Range(0.01, 2.5)] = 1.2,
    dimension: Annotated[int, Range(2, 50)] = 5,
    condition: Annotated[float, Range(1.5, 1000.0, log=True)] = 20.0,
    steps: Annotated[int, Range(1, 200)] = 60,
):
    """`step` is ηL. Steps of a quadratic, a logistic regression with ridge and x² + 3 sin² x from x = 3."""
    rng = data.generator(key)
    problems = {
        "quadratic": (plain_problems.drawn_quadratic(rng, dimension, condition), rng.normal(size=dimension)),
        "logistic": (plain_problems.drawn_logistic(rng, 80, dimension, condition), rng.normal(size=dimension)),
        "x² + 3 sin² x": (plain_problems.sine_parabola(), np.array([3.0])),
        "log cosh": (plain_problems.log_cosh(), np.array([1.0])),
    }
    grid = np.linspace(0.05, 2.5, 50)
    curves = {}
    for name, (problem, start) in problems.items():
        eta = step / problem.smoothness
        points = problem.descent(start, eta, steps)
        value, square = problem.value(points), np.sum(problem.gradient(points[:-1]) ** 2, 1)
        rounding = 1e-14 * max(1.0, float(np.max(np.abs(value))))
        decrease = -np.diff(value)
        promised = optimisation.guaranteed_decrease(problem.smoothness, eta) * square
        yield at_least(decrease, promised, f"decrease of each step, {name}, against the guarantee", atol=rounding)
        half = at_least(decrease, eta / 2 * square, f"decrease of each step, {name}, against (η/2)‖g‖²", atol=rounding)
        yield half.given(step <= 1, "ηL ≤ 1")
        moving = promised > rounding
        if moving.any():
            yield at_least(decrease[moving], 0.0, f"decrease of each step, {name}: strict", strict=True)
        g = problem.gradient(start)
        after = problem.value(start - grid[:, None] / problem.smoothness * g)
        curves[name] = (grid, (problem.value(start) - after) * problem.smoothness / (g @ g))

    top = rng.normal(size=dimension)
    bowl = plain_problems.quadratic(condition * np.eye(dimension))
    eta = step / condition
    lost, square = bowl.value(top) - bowl.value(top - eta * bowl.gradient(top)), np.sum(bowl.gradient(top) ** 2)
    yield close(
        lost * condition / square,
        optimisation.guaranteed_decrease(condition, eta) * condition,
        "decrease on an isotropic quadratic, in units of ‖g‖²/L: the guarantee exactly",
        atol=1e-13 * condition,
    )
    fine = np.arange(1, 2501) / 1000
    rises = [bowl.value(top - s / condition * bowl.gradient(top)) > bowl.value(top) * (1 + 1e-12) for s in fine]
    yield close(fine[np.argmax(rises)], 2.0, "first ηL of 0.001, 0.002, … at which l rises there", atol=1.001e-3)
    best = optimisation.guaranteed_decrease(1.0, fine)
    yield exactly(float(fine[np.argmax(best)]), 1.0, "ηL with the best guarantee")

    cosh, w = plain_problems.log_cosh(), np.array([1.0])
    g, bend = np.tanh(w), 1 - np.tanh(w[0]) ** 2
    taken = cosh.value(w - step * g)
    taylor = cosh.value(w) - step * (g @ g) + step**2 / 2 * bend * (g @ g)
    form = "l(w − ηg) equals its second-order Taylor polynomial at w"
    yield printed(close(taken, taylor, "log cosh after a step from 1", atol=1e-12), "eth", form)
    scaled = 100 / np.sqrt(condition) * top / np.linalg.norm(top)  # l = 5000 there
    drop = bowl.value(scaled) - bowl.value(scaled - bowl.gradient(scaled) / condition)
    wrong = at_least(drop, bowl.value(scaled) ** 2 / (2 * condition), "decrease at η = 1/L")
    yield printed(
        wrong.given(bowl.value(scaled) ** 2 > bowl.gradient(scaled) @ bowl.gradient(scaled), "‖h‖² > ‖∇h‖²"),
        "eth", "the decrease is at least ‖h‖²/(2L), with ‖h‖² for ‖∇h‖²",
    )  # fmt: skip

    yield figure.curves(
        "No step decreases l by less than promised; the promise is best at ηL = 1 and ends at 2",
        x="ηL",
        y="decrease · L/‖g‖²",
        lines={"guaranteed: ηL(1 − ηL/2)": (grid, grid * (1 - grid / 2))},
        points=curves,
        rules={"ηL = 2": ("x", 2.0)},
    )


@claim(
    "gd-pl-linear-rate",
    says=(
        "L-smooth and PL, convex or not, one minimiser or many: at η = 1/L the gap falls by 1 − μ/L at every step. On "
        "a double well, where μ = 0, it does not."
    ),
    formula=r"l(w^t) - l^* \le (1 - \mu/L)^t \, (l(w^0) - l^*)",
    sources=("eth", "sheet", "penn"),
    assumes=("L-smooth", "½‖g‖² ≥ μ(l − l*)", "η = 1/L"),
)
def gd_pl_linear_rate(
    key,
    condition: Annotated[float, Range(1.0, 1e4, log=True)] = 50.0,
    dimension: Annotated[int, Range(2, 60)] = 10,
    start: Annotated[float, Range(-6.0, 6.0)] = 4.0,
    steps: Annotated[int, Range(1, 2000)] = 500,
):
    """A random quadratic of this κ, least squares with half as many points as weights, x² + 3 sin² x from `start`."""
    rng = data.generator(key)
    rows = max(dimension // 2, 1)
    left, right = (np.linalg.qr(rng.normal(size=(n, rows)))[0] for n in (rows, dimension))
    x = (left * np.geomspace(1.0, np.sqrt(condition), rows)) @ right.T * np.sqrt(rows)
    problems = {
        "quadratic": (plain_problems.drawn_quadratic(rng, dimension, condition), rng.normal(size=dimension)),
        "underdetermined": (plain_problems.least_squares(x, rng.normal(size=rows)), rng.normal(size=dimension)),
        "x² + 3 sin² x": (plain_problems.sine_parabola(), np.array([start])),
    }
    points, lines = {}, {}
    for name, (problem, first) in problems.items():
        gap = problem.gap(problem.descent(first, 1 / problem.smoothness, steps))
        t = np.arange(steps + 1)
        bound = optimisation.gd_pl_bound(problem.smoothness, problem.pl, float(gap[0]), t)
        kept = np.maximum.accumulate(gap[::-1])[::-1] > 1e-13
        kept[0] = True
        yield at_most(gap[kept], bound[kept], f"gap at each t, {name}", rtol=1e-9, atol=1e-12)
        if kept.sum() > 2 and problem.pl < problem.smoothness:
            last = int(np.flatnonzero(kept)[-1])
            rate = (gap[last] / gap[0]) ** (1 / last)
            promised = 1 - problem.pl / problem.smoothness
            yield at_most(rate, promised, f"mean factor per step, {name}, against 1 − μ/L", rtol=1e-9)
        every = max(1, kept.sum() // 60)
        lines[name], points[name] = (t, np.maximum(bound, 1e-13)), (t[kept][::every], gap[kept][::every])
        late = at_most(gap[0], bound[min(1, steps)], f"gap at t = 0 against (1 − μ/L)¹ gap₀, {name}", rtol=1e-12)
        yield printed(late.given(gap[0] > 0, "the start is not the minimum"), "eth",
                      "l(θ_t) − l* ≤ (1 − μ/L)^{t+1} (l(θ_0) − l*)")  # fmt: skip

    well = plain_problems.double_well()
    stuck = well.descent(np.array([0.5]), 1 / well.smoothness, 400)[-1]
    shallow = np.sort(np.roots([1.0, 0.0, -1.0, 0.1]).real)[-1]
    yield close(stuck, shallow, "double well from 0.5: the limit is the shallow minimum", atol=1e-9)
    gap = float(well.gap(stuck))
    yield close(gap, 0.199747, "gap that remains there", atol=1e-6)
    yield at_most(float(well.gradient(stuck)[0] ** 2) / (2 * gap), 1e-15, "½‖g‖²/gap there: no μ > 0")
    yield figure.curves(
        f"The gap falls by 1 − μ/L or faster at each step (κ = {condition:.3g}), also without convexity",
        x="t",
        y="l(wᵗ) − l*",
        lines=lines,
        points=points,
        log="y",
    )
