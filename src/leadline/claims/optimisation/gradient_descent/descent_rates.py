"""The rates of gradient descent: 1/t on convex functions, geometric on strongly convex ones."""

import numpy as np

from leadline import data, optimisation
from leadline.claims.scenarios.optimisation.small_regressions import drawn_logistic
from leadline.evidence import Int, Real, at_most, claim, close
from leadline.optimisation.bounds.rate_bounds import gd_convex_steps, gd_squared_contraction
from leadline.presentation import figure


@claim(sources=("penn",))
def gd_rate_convex(
    key,
    step_size: Real(0.01, 1.0) = 1.0,
    num_steps: Int(5, 2000) = 300,
    radius: Real(0.1, 10.0, log=True) = 1.0,
    links: Int(2, 200) = 60,
):
    r"""The 1/t rate for convex functions.

    If l is convex and L-smooth with a minimiser, and 0 < η ≤ 1/L, the gap after t steps is at most R²/(2ηt). At η =
    1/L the sharp bound is LR²/(4t + 2), attained by the Huber function with knee R/(2t + 1). Both are upper bounds.

    $$l(w^t) - l^* \le \frac{R^2}{2 \eta t}, \qquad l(w^t) - l^* \le \frac{L R^2}{4t + 2} \;\; (\eta = 1/L)$$

    Assumes: l is convex; l is L-smooth; a minimiser exists; 0 < η ≤ 1/L.

    Check: The parameter `step_size` is ηL. Gradient descent runs on a Huber function, on w⁴/4 on a ball and on the
    worst chain; then on one Huber function for each of several t.
    """
    problems = {
        "Huber": (optimisation.Huber(radius / 40), np.array([radius])),
        "w⁴/4": (optimisation.QuarticBowl(radius), np.array([radius])),
        "worst chain": (optimisation.WorstChain(links), np.zeros(links)),
    }
    t, points = np.arange(1, num_steps + 1), {}
    for name, (problem, start) in problems.items():
        smoothness, minimiser = problem.constants().smoothness, problem.constants().minimiser
        distance, eta = float(np.linalg.norm(start - minimiser)), step_size / smoothness
        gap = problem.gap(optimisation.gradient_path(problem.gradient, start, eta, num_steps))[1:]
        unit, rounding = smoothness * distance**2, 1e-13 * max(1.0, distance**2)
        points[name] = (t[gap > 1e-14 * unit], gap[gap > 1e-14 * unit] / unit)
        bound = optimisation.gd_convex_bound(smoothness, distance, t, step_size=eta)
        yield at_most(gap, bound, f"gap at each t, {name}, against R²/(2ηt)", atol=rounding)
        tight = optimisation.gd_convex_bound(smoothness, distance, t)
        sharp = at_most(gap, tight, f"gap at each t, {name}, against LR²/(4t + 2)", atol=rounding)
        yield sharp.given(step_size == 1, "η = 1/L")
        goals = np.geomspace(max(gap[-1], rounding), gap[0], 6)[1:]
        hits = 1 + np.array([np.argmax(gap <= goal * (1 + 1e-12)) for goal in goals])
        most = [gd_convex_steps(smoothness, distance, goal, step_size=eta) for goal in goals]
        yield at_most(hits, np.maximum(most, 1), f"steps to five goals, {name}, against R²/(2ηε)")
        late = (gap > 1e-12 * gap[0]) & (gap < gap[0] / 4)
        if late.sum() > 20 and name != "worst chain":  # whose gap falls like t^−1/2 until t is about links²
            rate = np.polyfit(np.log(1 / gap[late]), np.log(t[late]), 1)[0]
            yield at_most(rate, 1.0, f"exponent of 1/ε in the number of steps, {name}")
    counts = np.array([5, 50, *([num_steps] if num_steps > 50 else [])])
    attained = []
    for count in counts:
        worst = optimisation.Huber(radius / (2 * count + 1))
        attained.append(worst(optimisation.gradient_path(worst.gradient, np.array([radius]), 1.0, int(count))[-1]))
    sharp, what = optimisation.gd_convex_bound(1.0, radius, counts), "Huber function with knee R/(2t + 1), η = 1/L"
    yield close(attained, sharp, f"{what}: gap at t against LR²/(4t + 2)", rtol=1e-12)
    scaled = np.array(attained) / radius**2
    yield close(scaled[:2], [1 / 22, 1 / 202], f"{what}: gap/(LR²) at t = 5 and 50", rtol=1e-12)
    apart = np.mean(np.logaddexp(0.0, [-30.0, -60.0]))  # x = 1 and 2 at w = 30
    empty = at_most(apart, optimisation.gd_convex_bound(1.0, radius, 1), "gap of separable logistic regression")
    yield empty.given(False, "a minimiser exists (separable data have none)")
    title = f"Convex gaps are under R²/(2ηt), ηL = {step_size:.3g}; a Huber function for each t meets LR²/(4t + 2)"
    lines = {"R²/(2ηt)": (t, 1 / (2 * step_size * t)), "LR²/(4t + 2)": (t, 1 / (4 * t + 2))}
    yield figure.curves(title, "t", "gap/(LR²)", lines=lines, points={what: (counts, scaled)} | points, log="xy")


@claim(sources=("penn",))
def gd_rate_strongly_convex(
    key,
    step_size: Real(0.02, 2.0) = 2.0,
    condition: Real(2.0, 1e4, log=True) = 30.0,
    dimension: Int(2, 50) = 6,
    num_steps: Int(5, 1000) = 200,
):
    r"""Linear rate for strongly convex functions.

    If l is m-strongly convex and L-smooth, and 0 < η ≤ 2/(m + L), each step multiplies the squared distance to w* by
    at most c = 1 − 2ηmL/(m + L). The logarithm of the distance falls along a straight line; on merely convex problems
    the line bends.

    $$\|w^{t+1} - w^*\|^2 \le \Bigl(1 - \frac{2 \eta m L}{m + L}\Bigr) \|w^t - w^*\|^2, \quad l(w^t) - l^* \le
    \tfrac{L}{2} c^t R^2$$

    Assumes: l is m-strongly convex; l is L-smooth; 0 < η ≤ 2/(m + L).

    Check: The parameter `step_size` is η(m + L). Ridge and logistic regression with the given κ = L/m are run, with
    w⁴/4 beside them.
    """
    rng = data.generator(key)
    x = np.linalg.qr(rng.normal(size=(60, dimension)))[0] * np.sqrt(60 * np.geomspace(1.0, 2 * condition, dimension))
    ridge = optimisation.LeastSquares(x, rng.normal(size=60), condition / (condition - 1))  # (2κ + a)/(1 + a) = κ
    problems = {"ridge": (ridge, rng.normal(size=dimension))}
    logistic = drawn_logistic(rng, 80, dimension, condition)
    problems["logistic with ridge"] = (logistic, 3 * rng.normal(size=dimension))
    t, points, lines = np.arange(num_steps + 1), {}, {}
    for name, (problem, start) in problems.items():
        smoothness, m, _, minimiser, minimum = problem.constants()
        eta = step_size / (m + smoothness)
        path = optimisation.gradient_path(problem.gradient, start, eta, num_steps)
        distance = np.linalg.norm(path - minimiser, axis=1)
        root = np.sqrt(gd_squared_contraction(smoothness, m, eta))
        what = f"distance after each step, {name}, against √c times that before"
        yield at_most(distance[1:], root * distance[:-1], what, atol=1e-10 * distance[0])
        bound = optimisation.gd_strongly_convex_bound(smoothness, m, float(distance[0]), t, step_size=eta)
        yield at_most(
            problem(path) - minimum, bound, f"gap at each t, {name}, against (L/2)cᵗR²", rtol=1e-9, atol=1e-12
        )
        kept = distance > 1e-7 * distance[0]
        if kept.sum() > 4:
            rate = np.polyfit(t[kept], np.log(distance[kept]), 1)[0]
            yield at_most(rate, np.log(max(root, 1e-300)), f"slope of log distance, {name}, against ½ log c", atol=1e-7)
        drawn = root**t > 1e-8
        lines[name], points[name] = (t[drawn], root ** t[drawn]), (t[kept], distance[kept] / distance[0])
    flat = optimisation.gradient_path(optimisation.QuarticBowl(1.0).gradient, np.ones(1), 1 / 3, num_steps)[:, 0]
    half = num_steps // 2
    first, second = np.log(flat[0] / flat[half]), np.log(flat[half] / flat[-1])
    yield at_most(second, 0.7 * first, "w⁴/4: fall of log distance in the second half of the run, against the first")
    points["w⁴/4, merely convex"] = (t, flat)
    title = f"Strongly convex: log distance falls along a line under ½ t log c (κ = {condition:.3g}); w⁴/4 bends"
    yield figure.curves(title, "t", "‖wᵗ − w*‖/R", lines=lines, points=points, log="y")
