"""What one step of gradient descent guarantees, and the linear rate that follows under PL."""

import numpy as np

from leadline import data, optimisation
from leadline.claims.scenarios.optimisation.small_regressions import drawn_logistic, drawn_quadratic
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly, reference
from leadline.optimisation.bounds.rate_bounds import guaranteed_decrease
from leadline.presentation import figure


@claim(sources=("eth", "sheet", "penn"))
def sufficient_decrease(
    key,
    step_size: Real(0.01, 2.5) = 1.2,
    dimension: Int(2, 50) = 5,
    condition: Real(1.5, 1000.0, log=True) = 20.0,
    num_steps: Int(1, 200) = 60,
):
    r"""Sufficient decrease of one gradient step.

    On an L-smooth function, convex or not, one step lowers l by at least η(1 − ηL/2)‖g‖²: a decrease for every 0 < η <
    2/L, and at best ‖g‖²/(2L), at η = 1/L. Isotropic quadratics attain it.

    $$l(w - \eta g) \le l(w) - \eta \left(1 - \tfrac{\eta L}{2}\right) \|g\|^2$$

    Assumes: the gradient is L-Lipschitz.

    Check: The parameter `step_size` is ηL. Steps are taken on a quadratic, on a logistic regression with ridge and on
    x² + 3 sin² x from x = 3.
    """
    rng = data.generator(key)
    problems = {
        "quadratic": (drawn_quadratic(rng, dimension, condition), rng.normal(size=dimension)),
        "logistic": (drawn_logistic(rng, 80, dimension, condition), rng.normal(size=dimension)),
        "x² + 3 sin² x": (optimisation.SineParabola(), np.array([3.0])),
        "log cosh": (optimisation.LogCoshBowl([0.0], [1.0]), np.array([1.0])),
    }
    grid = np.linspace(0.05, 2.5, 50)
    curves = {}
    for name, (problem, start) in problems.items():
        smoothness = problem.constants().smoothness
        eta = step_size / smoothness
        points = optimisation.gradient_path(problem.gradient, start, eta, num_steps)
        value, square = problem(points), np.sum(problem.gradient(points[:-1]) ** 2, 1)
        rounding = 1e-14 * max(1.0, np.max(np.abs(value)))
        decrease = -np.diff(value)
        promised = guaranteed_decrease(smoothness, eta) * square
        kept = at_least(decrease, promised, f"decrease of each step, {name}, against the guarantee", atol=rounding)
        yield kept
        half = at_least(decrease, eta / 2 * square, f"decrease of each step, {name}, against (η/2)‖g‖²", atol=rounding)
        yield half.given(step_size <= 1, "ηL ≤ 1")
        moving = promised > rounding
        if moving.any():
            yield at_least(decrease[moving], 0.0, f"decrease of each step, {name}: strict", strict=True)
        g = problem.gradient(start)
        after = problem(start - grid[:, None] / smoothness * g)
        curves[name] = (grid, (problem(start) - after) * smoothness / (g @ g))
    top = rng.normal(size=dimension)
    bowl = optimisation.Quadratic(condition * np.eye(dimension), np.zeros(dimension))
    eta = step_size / condition
    g = bowl.gradient(top)
    lost = (bowl(top) - bowl(top - eta * g)) * condition / (g @ g)
    promised = guaranteed_decrease(condition, eta) * condition
    what = "decrease on an isotropic quadratic, in units of ‖g‖²/L: the guarantee exactly"
    yield close(lost, promised, what, atol=1e-13 * condition)
    fine = np.arange(1, 2501) / 1000
    rises = bowl(top - fine[:, None] / condition * g) > bowl(top) * (1 + 1e-12)
    what = "isotropic quadratic: first ηL of 0.001, 0.002, … at which l rises"
    yield close(fine[np.argmax(rises)], 2.0, what, atol=1.001e-3)
    yield exactly(fine[np.argmax(guaranteed_decrease(1.0, fine))], 1.0, "ηL with the best guarantee")
    cosh, w = problems["log cosh"]
    g, bend = np.tanh(w), 1 - np.tanh(w[0]) ** 2
    taylor = cosh(w) - step_size * (g @ g) + step_size**2 / 2 * bend * (g @ g)
    equal = close(cosh(w - step_size * g), taylor, "log cosh after a step from 1, by Taylor", atol=1e-12)
    yield erratum(equal, of=kept, by="eth", prints="l(w − ηg) equals its second-order Taylor polynomial at w")
    title = "No step decreases l by less than promised; the promise is best at ηL = 1 and ends at 2"
    lines, rules = {"guaranteed: ηL(1 − ηL/2)": (grid, grid * (1 - grid / 2))}, {"ηL = 2": ("x", 2.0)}
    yield figure.curves(title, "ηL", "decrease · L/‖g‖²", lines=lines, points=curves, rules=rules)


@claim(sources=("eth", "sheet", "penn"))
def gd_pl_linear_rate(
    key,
    condition: Real(1.0, 1e4, log=True) = 50.0,
    dimension: Int(2, 60) = 10,
    start: Real(-6.0, 6.0) = 4.0,
    num_steps: Int(1, 2000) = 500,
):
    r"""Linear rate under the Polyak–Łojasiewicz condition.

    For an L-smooth function that satisfies the PL condition, convex or not, with one minimiser or many, the gap falls
    at η = 1/L by the factor 1 − μ/L or better at every step. On a double well, where μ = 0, it does not.

    $$l(w^t) - l^* \le (1 - \mu/L)^t \, (l(w^0) - l^*)$$

    Assumes: l is L-smooth; ½‖g‖² ≥ μ(l − l*); η = 1/L.

    Check: Gradient descent runs on a random quadratic of the given κ, on least squares with half as many points as
    weights, and on x² + 3 sin² x from `start`.
    """
    rng = data.generator(key)
    rows = max(dimension // 2, 1)
    left, right = (np.linalg.qr(rng.normal(size=(n, rows)))[0] for n in (rows, dimension))
    x = (left * np.geomspace(1.0, np.sqrt(condition), rows)) @ right.T * np.sqrt(rows)
    problems = {
        "quadratic": (drawn_quadratic(rng, dimension, condition), rng.normal(size=dimension)),
        "underdetermined": (optimisation.LeastSquares(x, rng.normal(size=rows)), rng.normal(size=dimension)),
        "x² + 3 sin² x": (optimisation.SineParabola(), np.array([start])),
    }
    points, lines, t = {}, {}, np.arange(num_steps + 1)
    for name, (problem, first) in problems.items():
        smoothness, pl = problem.constants().smoothness, problem.constants().pl
        gap = problem.gap(optimisation.gradient_path(problem.gradient, first, 1 / smoothness, num_steps))
        bound = optimisation.gd_pl_bound(smoothness, pl, float(gap[0]), t)
        kept = np.maximum.accumulate(gap[::-1])[::-1] > 1e-13
        kept[0] = True
        yield at_most(gap[kept], bound[kept], f"gap at each t, {name}, against (1 − μ/L)ᵗ gap₀", rtol=1e-9, atol=1e-12)
        if kept.sum() > 2 and pl < smoothness:
            last = np.flatnonzero(kept)[-1]
            rate, promised = (gap[last] / gap[0]) ** (1 / last), 1 - pl / smoothness
            yield at_most(rate, promised, f"mean factor per step, {name}, against 1 − μ/L", rtol=1e-9)
        lines[name], points[name] = (t, np.maximum(bound, 1e-13)), (t[kept], gap[kept])
    well = optimisation.DoubleWell(radius=1.3)
    stuck = optimisation.gradient_path(well.gradient, np.array([0.5]), 1 / well.constants().smoothness, 400)[-1]
    shallow = np.sort(np.roots([1.0, 0.0, -1.0, 0.1]).real)[-1]
    yield close(stuck, shallow, "double well from 0.5: the limit is the shallow minimum", atol=1e-9)
    gap = well.gap(stuck)
    yield reference(gap, 0.199747, "double well: gap that remains at its shallow minimum", digits=6)
    ratio = well.gradient(stuck) ** 2 / (2 * gap)
    yield at_most(ratio, 1e-15, "double well: ½‖g‖²/gap at its shallow minimum, so no μ > 0")
    title = f"The gap falls by 1 − μ/L or faster at each step (κ = {condition:.3g}), also without convexity"
    yield figure.curves(title, "t", "l(wᵗ) − l*", lines=lines, points=points, log="y")
