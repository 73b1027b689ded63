"""Rates of Nesterov's method, strongly convex and convex, and the step at which it breaks."""

import numpy as np

from leadline import data, optimisation
from leadline.claims.scenarios.optimisation.small_regressions import noisy_logistic
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly, reference
from leadline.optimisation.bounds.momentum_spectrum import measured_factor
from leadline.optimisation.rules.momentum_rules import nesterov_quadratic_tuning
from leadline.presentation import figure


def above_rounding(gaps, bound, minimum=0.0):
    """The part of a run that rounding does not decide."""
    kept = gaps > 1e-13 * max(1.0, abs(minimum))
    return gaps[kept], bound[kept]


@claim(sources=("sheet", "penn", "eth"))
def nesterov_rate_strongly_convex(
    key, condition: Real(5.0, 1e4, log=True) = 100.0, penalty: Real(0.001, 0.3, log=True) = 0.01
):
    r"""Accelerated rate under strong convexity.

    On m-strongly convex L-smooth functions Nesterov's method with η = 1/L and ρ = (√κ − 1)/(√κ + 1) has a gap of at
    most ((L + m)/2)(1 − 1/√κ)ᵗ R². On quadratics the factor at λ = m is exactly 1 − 1/√κ; the best tuning there
    reaches 1 − 2/√(3κ + 1).

    $$l(w^t) - l^* \le \frac{L+m}{2} \left(1 - \frac{1}{\sqrt\kappa}\right)^t R^2$$

    Assumes: l is m-strongly convex and L-smooth; η = 1/L.

    Check: The method runs on a quadratic with L = 1, on ridge-logistic regression and on Lessard's function; then
    spectral radii and numbers of steps are compared.
    """
    rng, steps = data.generator(key), 600
    t = np.arange(steps + 1)
    curvatures, start = np.geomspace(1 / condition, 1.0, 12), rng.normal(size=12)
    tuned = optimisation.nesterov_tuning(1.0, 1 / condition)
    plan = optimisation.constant_schedule(*tuned, steps)
    points = optimisation.nesterov_two_line(lambda w: curvatures * w, start, plan)
    gaps, distance = points**2 @ curvatures / 2, float(np.linalg.norm(start))
    promised = optimisation.nesterov_strongly_convex_bound
    bound = promised(1.0, 1 / condition, distance, t)
    sharp = promised(1.0, 1 / condition, distance, t, sharp=True)
    yield at_most(*above_rounding(gaps, bound), "quadratic: gap, against L(1 − 1/√κ)ᵗR²", rtol=1e-9)
    yield at_most(*above_rounding(gaps, sharp), "quadratic: gap, against (L + m)/2 (1 − 1/√κ)ᵗR²", rtol=1e-9)
    loss, best = noisy_logistic(rng, penalty)
    smoothness = loss.constants().smoothness
    begin = best + 3 * rng.normal(size=3)
    plan = optimisation.constant_schedule(*optimisation.nesterov_tuning(smoothness, penalty), steps)
    logistic = loss(optimisation.nesterov_two_line(loss.gradient, begin, plan)) - loss(best)
    promise = promised(smoothness, penalty, float(np.linalg.norm(begin - best)), t, sharp=True)
    kept = above_rounding(logistic, promise, loss(best))
    yield at_most(*kept, "ridge-logistic: gap, against the sharper bound", rtol=1e-9, atol=1e-13)
    begin = rng.uniform(-6, 6, size=20)
    plan = optimisation.constant_schedule(*optimisation.nesterov_tuning(25.0, 1.0), steps)
    lessard = optimisation.Lessard()
    cycled = lessard(optimisation.nesterov_two_line(lessard.gradient, begin[:, None], plan))
    unit = promised(25.0, 1.0, 1.0, t, sharp=True)[:, None]
    kept = above_rounding(cycled, unit * begin**2)
    yield at_most(*kept, "Lessard's function, 20 starts: gap, against the sharper bound", rtol=1e-9)
    radius = optimisation.worst_factor("nesterov", *tuned, 1.0, 1 / condition)
    yield close(radius, 1 - 1 / np.sqrt(condition), "factor at λ = m, against 1 − 1/√κ", atol=1e-6)
    best_tuning = nesterov_quadratic_tuning(1.0, 1 / condition)
    faster = optimisation.worst_factor("nesterov", *best_tuning, 1.0, 1 / condition)
    least = 1 - 2 / np.sqrt(3 * condition + 1)
    yield close(faster, least, "factor of the tuning for quadratics, against 1 − 2/√(3κ + 1)", atol=1e-6)
    pair = [
        optimisation.worst_factor("nesterov", *tuning(100.0, 1.0), 100.0, 1.0)
        for tuning in (optimisation.nesterov_tuning, nesterov_quadratic_tuning)
    ]
    yield reference(pair, [0.9, 0.884722], "factors of both tunings at κ = 100", digits=6)
    kappas, counts = np.geomspace(1e3, 1e5, 6), []
    for kappa in kappas:
        plan = optimisation.constant_schedule(*optimisation.nesterov_tuning(kappa, 1.0), int(30 * np.sqrt(kappa)))
        modes = np.geomspace(1.0, kappa, 12)
        run = optimisation.nesterov_two_line(lambda w, modes=modes: modes * w, np.ones(12), plan)
        counts.append(int(np.flatnonzero(np.linalg.norm(run, axis=1) > 1e-6)[-1]) + 1)
    fitted = np.polyfit(np.log(kappas), np.log(counts), 1)[0]
    yield close(fitted, 0.5, "slope of steps (to a distance of 10⁻⁶) against κ", atol=0.03)
    plain = (start * (1 - curvatures) ** t[:, None]) ** 2 @ curvatures / 2
    promise = optimisation.gd_strongly_convex_bound(1.0, 1 / condition, distance, t, step_size=1.0)
    whole, clear = t[sharp > 1e-14], t[gaps > 1e-16]
    lines = {"Nesterov, bound": (whole, sharp[whole]), "descent, bound": (t, promise)}
    points = {"Nesterov": (clear, gaps[clear]), "descent": (t, plain)}
    reached = f"gap {gaps[300]:.0e} at t = 300, descent {plain[300]:.0e}"
    title = f"κ = {condition:.4g}: Nesterov's factor is {1 - 1 / np.sqrt(condition):.4f} a step; {reached}"
    yield figure.curves(title, "t", "gap", lines=lines, points=points, log="y")


@claim(sources=("penn",), shows=("optimisation.growth_factor",))
def nesterov_step_size_threshold(key, condition: Real(1.5, 1e4, log=True) = 10.0, safe: Real(0.05, 1.0) = 1.0):
    r"""Nesterov's method diverges at 2/(m + L).

    With ρ = (√κ − 1)/(√κ + 1) the textbook step size η = 2/(m + L) is unstable on quadratics exactly when κ > 4: at κ
    = 10 the iterates reach 10⁵⁴ in 300 steps. η ≤ 1/L is safe.

    $$\eta L = \frac{2\kappa}{\kappa+1} > \frac{2+2\rho}{1+2\rho} \iff \kappa > 4$$

    Assumes: a quadratic with curvatures m and L.

    Check: The spectral radii of the 2 × 2 matrices are computed, and 300 steps are run from (1, 1) with curvatures 1
    and κ.
    """

    def momentum(kappa):
        return optimisation.nesterov_tuning(kappa, 1.0).momentum

    def radius(kappa, step):
        return optimisation.worst_factor("nesterov", step, momentum(kappa), kappa, 1.0)

    near = radius(3.9, 2 / 4.9)
    yield reference(near, 0.9831, "radius with η = 2/(m + L) at κ = 3.9", digits=4)
    found = [radius(k, 2 / (1 + k)) for k in (4.1, 10.0)]
    yield reference(found, [1.0164, 1.5224], "radius with η = 2/(m + L) at κ = 4.1 and 10", digits=5)
    yield close(radius(4.0, 0.4), 1.0, "radius with η = 2/(m + L) at κ = 4", atol=1e-7)
    textbook = radius(condition, 2 / (1 + condition))
    clear = abs(condition - 4) > 1e-6
    sign = at_least((textbook - 1) * (condition - 4), 0.0, "(radius − 1)(κ − 4) with η = 2/(m + L)", strict=True)
    grows = sign.given(clear, "κ ≠ 4")
    yield grows
    yield at_most(radius(condition, safe / condition), 1.0, "radius with a step ≤ 1/L", strict=True)
    said = optimisation.check_step("nesterov", 2 / (1 + condition), condition, momentum(condition))
    checked = exactly(said.stable, condition < 4, "stable, says the check before a run, against κ < 4")
    yield checked.given(clear, "κ ≠ 4")

    def run(kappa, step):
        plan = optimisation.constant_schedule(step, momentum(kappa), 300)
        points = optimisation.nesterov_two_line(lambda w: np.array([1.0, kappa]) * w, np.ones(2), plan)
        return np.max(np.abs(points), axis=1)

    exploded = run(10.0, 2 / 11.0)[-1]
    yield reference(exploded, 3.5e54, "largest coordinate after 300 steps at κ = 10", digits=2)
    near = at_most(radius(condition, 1.99 / (1 + condition)), 1.0, "radius with η = 1.99/(m + L)", strict=True)
    far = erratum(near, of=grows, by="penn", prints="any η < 2/(m + L) (steps near that bound diverge for κ > 4)")
    yield far.given(condition > 4.1, "κ > 4.1")
    kappas, few = np.geomspace(1.5, 100, 60), np.geomspace(1.5, 100, 12)
    lines, points = {}, {}
    for name, rule in {"η = 2/(m + L)": lambda k: 2 / (1 + k), "η = 1/L": lambda k: 1 / k}.items():
        lines[name] = kappas, [radius(k, rule(k)) for k in kappas]
        factors = [measured_factor("nesterov", rule(k) * np.array([1.0, k]), momentum(k), num_steps=2000) for k in few]
        points[name] = few, np.max(factors, axis=1)
    title = f"2/(m + L) crosses 1 at κ = 4; at κ = 10 it reaches {exploded:.1e} in 300 steps"
    rules = {"κ = 4": ("x", 4.0), "stable below": ("y", 1.0)}
    yield figure.curves(title, "κ", "factor per step", lines=lines, points=points, rules=rules, log="x")


@claim(sources=("penn", "eth"))
def nesterov_rate_convex(key, scaled_step: Real(0.1, 1.0) = 1.0, longest: Int(100, 2000, log=True) = 1000):
    r"""Accelerated 1/t² rate for convex functions.

    On convex L-smooth functions Nesterov's method with $\rho_t = (t-1)/(t+2)$ and η ≤ 1/L has a gap of at most
    2R²/(η(t + 1)²): of order 1/√ε steps, optimal up to a constant. The statement belongs to the look-ahead form, not
    to heavy ball.

    $$l(w^t) - l^* \le \frac{2 R^2}{\eta\,(t+1)^2}$$

    Assumes: l is convex and L-smooth; η ≤ 1/L; w¹ is counted as t = 1.

    Check: The method runs on Huber functions, the worst chain and logistic regression; both ways to count t are tried,
    and the best point in the span is computed.
    """
    rng, t = data.generator(key), np.arange(longest + 1)
    knee, links = np.geomspace(1e-5, 1.0, 41), 2 * longest + 1
    hubers, ones = optimisation.Huber(knee[:, None]), np.ones((41, 1))
    loss, best = noisy_logistic(rng)
    smoothness = loss.constants().smoothness
    start = best + 3 * rng.normal(size=3)
    scaled = {}
    for first, front, shift in ((1, 2.0, 1), (2, 2.5, 2)):  # 2R²/(η(t + 1)²), and 2.5R²/(η(t + 2)²) if w¹ has t = 2
        plan = optimisation.growing_schedule(scaled_step, longest, first=first)
        known = optimisation.nesterov_convex_bound(1.0, 1.0, t, step_size=scaled_step)
        weight = 1 / (known if first == 1 else front / (scaled_step * (t + shift) ** 2))
        huber = hubers(optimisation.nesterov_two_line(hubers.gradient, ones, plan))
        points = optimisation.nesterov_two_line(optimisation.chain_gradient, np.zeros(links), plan)
        chain = optimisation.chain_gap(points)
        points = optimisation.nesterov_two_line(loss.gradient, start, plan._replace(steps=plan.steps / smoothness))
        logistic = np.maximum(loss(points) - loss(best), 0.0)
        scaled[first] = {
            "Huber, worst knee": np.max(huber * weight[:, None], axis=1),
            "worst chain": chain * weight / optimisation.chain_distance(links) ** 2,
            "logistic": logistic * weight / (smoothness * np.sum((start - best) ** 2)),
        }
        for name, ratio in scaled[first].items():
            what = f"{name}: gap over {front:g}R²/(η(t + {shift})²), w¹ counted as t = {first}"
            yield at_most(ratio, 1.0, what, atol=1e-9)
    ratios = []
    for steps in (10, 50, 100, 400):
        plan = optimisation.growing_schedule(1.0, steps, first=2)
        end = optimisation.nesterov_two_line(optimisation.chain_gradient, np.zeros(2 * steps + 1), plan)[-1]
        ratios.append(optimisation.chain_gap(end) / optimisation.chain_best_gap(steps))
    what = "gap over the best in the span at t = 10, 50, 100, 400"
    yield reference(ratios, [2.62, 3.11, 3.20, 3.29], what, digits=3)
    plan, late = optimisation.growing_schedule(1.0, 1000), np.arange(1001)
    ball = hubers(optimisation.heavy_ball_one_line(hubers.gradient, ones, plan))
    overshoot = np.max(ball / optimisation.nesterov_convex_bound(1.0, 1.0, late)[:, None], axis=1)
    what = "heavy ball with ρ_t = (t − 1)/(t + 2) on Huber functions: largest gap over the bound"
    yield at_least(np.max(overshoot), 1.0, what, strict=True)
    points = {name: (t, np.where(r > 1e-6, r, np.nan)) for name, r in scaled[1].items()}
    points["heavy ball, Huber"] = late, overshoot
    share, times = 100 * np.max(scaled[1]["Huber, worst knee"]), np.max(overshoot)
    title = f"Nesterov's gap reaches {share:.1f}% of its bound; heavy ball's exceeds it {times:.1f} times"
    yield figure.curves(title, "t", "gap × η(t + 1)²/(2R²)", points=points, rules={"bound": ("y", 1.0)}, log="xy")
