"""The rates of gradient descent: 1/t on convex functions, geometric on strongly convex ones."""

from typing import Annotated

import numpy as np

from leadline import data, optimisation
from leadline.claims.optimisation import plain_problems
from leadline.evidence import Range, at_least, at_most, claim, close, figure, printed


@claim(
    "gd-rate-convex",
    says=(
        "Convex and L-smooth with a minimiser, 0 < η ≤ 1/L: the gap after t steps is at most R²/(2ηt). At η = 1/L the "
        "sharp bound is LR²/(4t + 2), attained by the Huber function with knee R/(2t + 1). Both bound from above."
    ),
    formula=r"l(w^t) - l^* \le \frac{R^2}{2 \eta t}, \qquad l(w^t) - l^* \le \frac{L R^2}{4t + 2} \;\; (\eta = 1/L)",
    sources=("penn",),
    assumes=("convex", "L-smooth", "a minimiser exists", "0 < η ≤ 1/L"),
)
def gd_rate_convex(
    key,
    step: Annotated[float, Range(0.01, 1.0)] = 1.0,
    steps: Annotated[int, Range(5, 2000)] = 300,
    radius: Annotated[float, Range(0.1, 10.0, log=True)] = 1.0,
    links: Annotated[int, Range(2, 200)] = 60,
):
    """`step` is ηL. Huber, w⁴/4 on a ball, the worst chain; then one Huber function for each of several t."""
    problems = {
        "Huber": (plain_problems.huber(radius / 40), np.array([radius])),
        "w⁴/4": (plain_problems.quartic(radius), np.array([radius])),
        "worst chain": (plain_problems.chain(links), np.zeros(links)),
    }
    t, gaps = np.arange(1, steps + 1), {}
    for name, (problem, start) in problems.items():
        distance = float(np.linalg.norm(start - problem.minimiser))
        smoothness, eta = problem.smoothness, step / problem.smoothness
        gap = gaps[name] = problem.gap(problem.descent(start, eta, steps))[1:]
        rounding = 1e-13 * max(1.0, distance**2)
        bound = optimisation.gd_convex_bound(smoothness, distance, t, step=eta)
        yield at_most(gap, bound, f"gap at each t, {name}, against R²/(2ηt)", atol=rounding)
        tight = optimisation.gd_convex_bound(smoothness, distance, t)
        sharp = at_most(gap, tight, f"gap at each t, {name}, against LR²/(4t + 2)", atol=rounding)
        yield sharp.given(step == 1, "η = 1/L")
        least = max(float(gap[-1]), rounding)
        goals = np.geomspace(least, gap[0], 6)[1:]
        hits = 1 + np.array([np.argmax(gap <= goal * (1 + 1e-12)) for goal in goals])
        most = [optimisation.gd_convex_steps(smoothness, distance, goal, step=eta) for goal in goals]
        yield at_most(hits, np.maximum(most, 1), f"steps to five goals, {name}, against R²/(2ηε)")
        late = (gap > 1e-12 * gap[0]) & (gap < gap[0] / 4)
        if late.sum() > 20 and name != "worst chain":  # whose gap falls like t^−1/2 until t is about links²
            rate = np.polyfit(np.log(1 / gap[late]), np.log(t[late]), 1)[0]
            yield at_most(rate, 1.0, f"exponent of 1/ε in the number of steps, {name}")

    counts = np.array([5, 50, *([steps] if steps > 50 else [])])
    attained = []
    for count in counts:
        worst = plain_problems.huber(radius / (2 * count + 1))
        attained.append(float(worst.gap(worst.descent(np.array([radius]), 1.0, int(count))[-1])))
    sharp = optimisation.gd_convex_bound(1.0, radius, counts)
    yield close(attained, sharp, "gap of the Huber function with knee R/(2t + 1) at t, η = 1/L", rtol=1e-12)
    yield close(np.array(attained[:2]) / radius**2, [1 / 22, 1 / 202], "for t = 5 and 50, R = 1", rtol=1e-12)

    bowl = plain_problems.drawn_quadratic(data.generator(key), 3, 10.0)
    gap = bowl.gap(bowl.descent(np.ones(3), 1 / bowl.smoothness, 400))
    two, ten = (int(np.argmax(gap <= goal * gap[0])) for goal in (1e-2, 1e-10))
    needed = at_least(ten, two * 1e8, "steps to ε = 1e-10 on a quadratic, if they grew like 1/ε from those to 1e-2")
    yield printed(needed, "penn", "at least O(1/ε) iterations are needed")
    x = np.array([[1.0], [2.0]])
    apart = np.mean(np.logaddexp(0.0, -np.linspace(1, 30, 30)[:, None] * x.T), 1)
    empty = at_most(apart[-1], optimisation.gd_convex_bound(1.0, radius, 1), "gap of separable logistic regression")
    yield empty.given(False, "a minimiser exists (separable data have none)")

    yield figure.curves(
        f"Convex gaps are under R²/(2ηt), ηL = {step:.3g}; a Huber function for each t meets LR²/(4t + 2)",
        x="t",
        y="gap/(LR²)",
        lines={"R²/(2ηt)": (t, 1 / (2 * step * t)), "LR²/(4t + 2)": (t, 1 / (4 * t + 2))},
        points={"Huber with knee R/(2t + 1), η = 1/L": (counts, np.array(attained) / radius**2)}
        | {name: _few(t, gaps[name] / _unit(*problems[name])) for name in problems},
        log="xy",
    )


def _unit(problem, start):
    return problem.smoothness * float(np.sum((start - problem.minimiser) ** 2))


def _few(t, gap):
    shown = np.unique(np.geomspace(1, len(t), 30).astype(int)) - 1
    shown = shown[gap[shown] > 1e-14]
    return t[shown], gap[shown]


@claim(
    "gd-rate-strongly-convex",
    says=(
        "m-strongly convex, L-smooth, 0 < η ≤ 2/(m + L): each step multiplies the squared distance to w* by at most "
        "c = 1 − 2ηmL/(m + L). The logarithm of the distance falls along a straight line; merely convex problems bend."
    ),
    formula=(
        r"\|w^{t+1} - w^*\|^2 \le \Bigl(1 - \frac{2 \eta m L}{m + L}\Bigr) \|w^t - w^*\|^2, \quad "
        r"l(w^t) - l^* \le \tfrac{L}{2} c^t R^2"
    ),
    sources=("penn",),
    assumes=("m-strongly convex", "L-smooth", "0 < η ≤ 2/(m + L)"),
)
def gd_rate_strongly_convex(
    key,
    step: Annotated[float, Range(0.02, 2.0)] = 2.0,
    condition: Annotated[float, Range(2.0, 1e4, log=True)] = 30.0,
    dimension: Annotated[int, Range(2, 50)] = 6,
    steps: Annotated[int, Range(5, 1000)] = 200,
):
    """`step` is η(m + L). Ridge and logistic regression with this κ = L/m; w⁴/4 beside them."""
    rng = data.generator(key)
    x = np.linalg.qr(rng.normal(size=(60, dimension)))[0] * np.sqrt(60 * np.geomspace(1.0, 2 * condition, dimension))
    ridge = plain_problems.least_squares(x, rng.normal(size=60), condition / (condition - 1))  # (2κ + a)/(1 + a) = κ
    problems = {
        "ridge": (ridge, rng.normal(size=dimension)),
        "logistic with ridge": (
            plain_problems.drawn_logistic(rng, 80, dimension, condition), 3 * rng.normal(size=dimension),
        ),
    }  # fmt: skip
    t, points, lines = np.arange(steps + 1), {}, {}
    for name, (problem, start) in problems.items():
        smoothness, m = problem.smoothness, problem.convexity
        eta = step / (m + smoothness)
        path = problem.descent(start, eta, steps)
        distance = np.linalg.norm(path - problem.minimiser, axis=1)
        root = np.sqrt(optimisation.gd_squared_contraction(smoothness, m, eta))
        rounding = 1e-10 * distance[0]
        yield at_most(distance[1:], root * distance[:-1], f"distance after each step, {name}", atol=rounding)
        bound = optimisation.gd_strongly_convex_bound(smoothness, m, float(distance[0]), t, step=eta)
        yield at_most(problem.gap(path), bound, f"gap at each t, {name}, against (L/2)cᵗR²", rtol=1e-9, atol=1e-12)
        kept = distance > 1e-7 * distance[0]
        if kept.sum() > 4:
            rate = np.polyfit(t[kept], np.log(distance[kept]), 1)[0]
            yield at_most(rate, np.log(max(root, 1e-300)), f"slope of log distance, {name}, against ½ log c", atol=1e-7)
        every = max(1, steps // 50)
        drawn = root**t > 1e-8
        lines[name] = (t[drawn], root ** t[drawn])
        points[name] = (t[kept][::every], distance[kept][::every] / distance[0])
    flat = np.abs(plain_problems.quartic(1.0).descent(np.ones(1), 1 / 3, steps)[:, 0])
    half, end = steps // 2, steps
    first, second = np.log(flat[0] / flat[half]), np.log(flat[half] / flat[end])
    yield at_most(second, 0.7 * first, "w⁴/4: fall of log distance in the second half of the run, against the first")
    points["w⁴/4, merely convex"] = (t[:: max(1, steps // 50)], flat[:: max(1, steps // 50)])
    yield figure.curves(
        f"Strongly convex: log distance falls along a line under ½ t log c (κ = {condition:.3g}); w⁴/4 bends",
        x="t",
        y="‖wᵗ − w*‖/R",
        lines=lines,
        points=points,
        log="y",
    )
