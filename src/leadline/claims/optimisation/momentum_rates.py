"""Rates of Nesterov's method, strongly convex and convex, and the step at which it breaks."""

from typing import Annotated

import numpy as np

from leadline import data, optimisation
from leadline.claims.optimisation.momentum_problems import huber_gap, lessard_slope, lessard_value, noisy_logistic
from leadline.evidence import (
    Range,
    at_most,
    claim,
    close,
    exactly,
    figure,
    printed,
)


def above_rounding(gaps, bound, minimum=0.0):
    """The part of a run that rounding does not decide."""
    kept = gaps > 1e-13 * max(1.0, abs(minimum))
    return gaps[kept], bound[kept]


@claim(
    "nesterov-rate-strongly-convex",
    says=(
        "On m-strongly convex L-smooth functions Nesterov's method with η = 1/L and ρ = (√κ − 1)/(√κ + 1) has "
        "gap ≤ (L + m)/2 (1 − 1/√κ)ᵗ R². On quadratics the factor at λ = m is exactly 1 − 1/√κ; the best tuning there "
        "reaches 1 − 2/√(3κ + 1)."
    ),
    formula=r"l(w^t) - l^* \le \frac{L+m}{2} \left(1 - \frac{1}{\sqrt\kappa}\right)^t R^2",
    sources=("sheet", "penn", "eth"),
    assumes=("m-strongly convex, L-smooth", "η = 1/L"),
    shows=("optimisation.nesterov_quadratic_tuning", "optimisation.nesterov_strongly_convex_bound"),
)
def nesterov_rate_strongly_convex(
    key,
    condition: Annotated[float, Range(5.0, 1e4, log=True)] = 100.0,
    penalty: Annotated[float, Range(0.001, 0.3, log=True)] = 0.01,
):
    """A quadratic with L = 1, ridge-logistic regression and Lessard's function; then radii and numbers of steps."""
    rng, steps = data.generator(key), 600
    t = np.arange(steps + 1)
    curvatures, start = np.geomspace(1 / condition, 1.0, 12), rng.normal(size=12)
    tuned = optimisation.nesterov_tuning(1.0, 1 / condition)
    points = optimisation.nesterov_two_line(
        lambda w: curvatures * w, start, optimisation.constant_schedule(*tuned, steps)
    )
    gaps, distance = points**2 @ curvatures / 2, float(np.linalg.norm(start))
    bound = optimisation.nesterov_strongly_convex_bound(1.0, 1 / condition, distance, t)
    sharp = optimisation.nesterov_strongly_convex_bound(1.0, 1 / condition, distance, t, sharp=True)
    yield at_most(*above_rounding(gaps, bound), "quadratic: gap, against L(1 − 1/√κ)ᵗR²", rtol=1e-9)
    yield at_most(*above_rounding(gaps, sharp), "quadratic: gap, against (L + m)/2 (1 − 1/√κ)ᵗR²", rtol=1e-9)
    value, gradient, smoothness, best = noisy_logistic(rng, penalty)
    begin = best + 3 * rng.normal(size=3)
    plan = optimisation.constant_schedule(*optimisation.nesterov_tuning(smoothness, penalty), steps)
    logistic = value(optimisation.nesterov_two_line(gradient, begin, plan)) - value(best)
    promise = optimisation.nesterov_strongly_convex_bound(
        smoothness, penalty, float(np.linalg.norm(begin - best)), t, sharp=True
    )
    yield at_most(*above_rounding(logistic, promise, value(best)), "ridge-logistic: gap", rtol=1e-9, atol=1e-13)
    begin = rng.uniform(-6, 6, size=20)
    plan = optimisation.constant_schedule(*optimisation.nesterov_tuning(25.0, 1.0), steps)
    cycled = lessard_value(optimisation.nesterov_two_line(lessard_slope, begin, plan))
    unit = optimisation.nesterov_strongly_convex_bound(25.0, 1.0, 1.0, t, sharp=True)[:, None]
    yield at_most(*above_rounding(cycled, unit * begin**2), "Lessard's function, 20 starts: gap", rtol=1e-9)

    radius = optimisation.worst_factor("nesterov", *tuned, 1.0, 1 / condition)
    yield close(radius, 1 - 1 / np.sqrt(condition), "factor at λ = m, against 1 − 1/√κ", atol=1e-6)
    best_tuning = optimisation.nesterov_quadratic_tuning(1.0, 1 / condition)
    faster = optimisation.worst_factor("nesterov", *best_tuning, 1.0, 1 / condition)
    yield close(faster, 1 - 2 / np.sqrt(3 * condition + 1), "factor of the tuning for quadratics", atol=1e-6)
    pair = [
        optimisation.worst_factor("nesterov", *tuning(100.0, 1.0), 100.0, 1.0)
        for tuning in (optimisation.nesterov_tuning, optimisation.nesterov_quadratic_tuning)
    ]
    yield close(pair, [0.9, 0.884722], "both factors at κ = 100: reference", atol=1e-6)
    kappas, counts = np.geomspace(1e3, 1e5, 6), []
    for kappa in kappas:
        plan = optimisation.constant_schedule(*optimisation.nesterov_tuning(kappa, 1.0), int(30 * np.sqrt(kappa)))
        modes = np.geomspace(1.0, kappa, 12)
        run = optimisation.nesterov_two_line(lambda w, modes=modes: modes * w, np.ones(12), plan)
        counts.append(int(np.flatnonzero(np.linalg.norm(run, axis=1) > 1e-6)[-1]) + 1)
    fitted = np.polyfit(np.log(kappas), np.log(counts), 1)[0]
    yield close(fitted, 0.5, "slope of steps (to a distance of 10⁻⁶) against κ", atol=0.03)

    misread = distance**2 * (1 - 1 / np.sqrt(1.0 / tuned.step)) ** t[1:]  # κ = L/η with L = 1, η = 1/L
    yield printed(at_most(gaps[1:], misread, "gap on the quadratic, L = 1"), "sheet", "κ = L/η")
    wild = optimisation.nesterov_two_line(
        lambda w: curvatures * w, start, optimisation.constant_schedule(1.9, tuned.momentum, 200)
    )
    yield printed(
        at_most(wild[-1] ** 2 @ curvatures / 2, bound[200], "gap after 200 steps with η = 1.9/L"),
        "sheet", "the theorem without η = 1/L",
    )  # fmt: skip
    plain = (start * (1 - curvatures) ** t[:, None]) ** 2 @ curvatures / 2
    promise = optimisation.gd_strongly_convex_bound(1.0, 1 / condition, distance, t, step=1.0)
    shown, whole = np.arange(0, steps + 1, 10), t[sharp > 1e-14]
    yield figure.curves(
        f"κ = {condition:.4g}: Nesterov's factor is {1 - 1 / np.sqrt(condition):.4f} a step; gap {gaps[300]:.0e} at "
        f"t = 300, descent {plain[300]:.0e}",
        x="t",
        y="gap",
        lines={"Nesterov, bound": (whole, sharp[whole]), "descent, bound": (t, promise)},
        points={"Nesterov": (shown, np.where(gaps > 1e-16, gaps, np.nan)[shown]), "descent": (shown, plain[shown])},
        log="y",
    )


@claim(
    "nesterov-step-size-threshold",
    says=(
        "With ρ = (√κ − 1)/(√κ + 1) the step η = 2/(m + L), the textbook's, is unstable on quadratics exactly when "
        "κ > 4: at κ = 10 the iterates reach 10 to the 54 in 300 steps. η ≤ 1/L is safe."
    ),
    formula=r"\eta L = \frac{2\kappa}{\kappa+1} > \frac{2+2\rho}{1+2\rho} \iff \kappa > 4",
    sources=("penn",),
    assumes=("a quadratic with curvatures m and L",),
    shows=("optimisation.check_step", "optimisation.growth_factor"),
)
def nesterov_step_size_threshold(
    key,
    condition: Annotated[float, Range(1.5, 1e4, log=True)] = 10.0,
    safe: Annotated[float, Range(0.05, 1.0)] = 1.0,
):
    """Radii of the 2 × 2 matrices, and 300 steps from (1, 1) with curvatures 1 and κ."""

    def radius(kappa, step):
        return optimisation.worst_factor(
            "nesterov", step, optimisation.nesterov_tuning(kappa, 1.0).momentum, kappa, 1.0
        )

    yield close(
        [radius(k, 2 / (1 + k)) for k in (3.9, 4.0, 4.1, 10.0)],
        [0.9831, 1.0, 1.0164, 1.5224],
        "radius at κ = 3.9, 4, 4.1, 10: reference",
        atol=6e-5,
    )
    printed_radius = radius(condition, 2 / (1 + condition))
    clear = abs(condition - 4) > 1e-6
    yield exactly(printed_radius > 1, condition > 4, "step 2/(m + L) grows").given(clear, "κ ≠ 4")
    yield at_most(radius(condition, safe / condition), 1.0, "radius with a step ≤ 1/L", strict=True)
    said = optimisation.check_step(
        "nesterov", 2 / (1 + condition), condition, optimisation.nesterov_tuning(condition, 1.0).momentum
    )
    yield exactly(said.stable, condition < 4, "the check before a run says so").given(clear, "κ ≠ 4")

    def run(kappa, step):
        plan = optimisation.constant_schedule(step, optimisation.nesterov_tuning(kappa, 1.0).momentum, 300)
        return np.max(
            np.abs(optimisation.nesterov_two_line(lambda w: np.array([1.0, kappa]) * w, np.ones(2), plan)), axis=1
        )

    exploded = run(10.0, 2 / 11.0)
    yield close(exploded[-1], 3.5e54, "largest coordinate after 300 steps at κ = 10: reference", rtol=0.02)
    far = printed(at_most(printed_radius, 1.0, "radius with η = 2/(m + L)", strict=True), "penn", "η up to 2/(m + L)")
    yield far.given(condition > 4, "κ > 4")
    kappas, few = np.geomspace(1.5, 100, 60), np.geomspace(1.5, 100, 12)
    seen = {}
    for name, rule in {"η = 2/(m + L)": lambda k: 2 / (1 + k), "η = 1/L": lambda k: 1 / k}.items():
        seen[name] = [
            np.max(
                optimisation.measured_factor(
                    "nesterov", rule(k) * np.array([1.0, k]), optimisation.nesterov_tuning(k, 1.0).momentum, steps=2000
                )
            )
            for k in few
        ]
    yield figure.curves(
        f"2/(m + L) crosses 1 at κ = 4; at κ = 10 it reaches {exploded[-1]:.1e} in 300 steps",
        x="κ",
        y="factor per step",
        lines={
            "η = 2/(m + L)": (kappas, [radius(k, 2 / (1 + k)) for k in kappas]),
            "η = 1/L": (kappas, [radius(k, 1 / k) for k in kappas]),
        },
        points={name: (few, values) for name, values in seen.items()},
        rules={"κ = 4": ("x", 4.0), "stable below": ("y", 1.0)},
        log="x",
    )


@claim(
    "nesterov-rate-convex",
    says=(
        "On convex L-smooth functions Nesterov's method with ρ_t = (t − 1)/(t + 2) and η ≤ 1/L has "
        "gap ≤ 2R²/(η(t + 1)²): 1/√ε steps, optimal up to a constant. The statement belongs to the look-ahead "
        "form, not to heavy ball."
    ),
    formula=r"l(w^t) - l^* \le \frac{2 R^2}{\eta\,(t+1)^2}",
    sources=("penn", "eth"),
    assumes=("convex, L-smooth", "η ≤ 1/L", "w¹ is counted as t = 1"),
    shows=("optimisation.nesterov_convex_bound",),
)
def nesterov_rate_convex(
    key,
    scaled_step: Annotated[float, Range(0.1, 1.0)] = 1.0,
    longest: Annotated[int, Range(100, 2000, log=True)] = 1000,
):
    """Huber functions, the worst chain and logistic regression; both ways to count t; the best in the span."""
    rng, t = data.generator(key), np.arange(longest + 1)
    knee, links = np.geomspace(1e-5, 1.0, 41), 2 * longest + 1
    value, gradient, smoothness, best = noisy_logistic(rng)
    start = best + 3 * rng.normal(size=3)
    scaled = {}
    for first, front, shift in ((1, 2.0, 1), (2, 2.5, 2)):  # 2R²/(η(t + 1)²), and 2.5R²/(η(t + 2)²) if w¹ has t = 2
        plan = optimisation.growing_schedule(scaled_step, longest, first=first)
        known = optimisation.nesterov_convex_bound(1.0, 1.0, t, step=scaled_step)
        weight = 1 / (known if first == 1 else front / (scaled_step * (t + shift) ** 2))
        huber = huber_gap(optimisation.nesterov_two_line(lambda w: np.clip(w, -knee, knee), np.ones(41), plan), knee)
        chain = optimisation.chain_gap(
            optimisation.nesterov_two_line(optimisation.chain_gradient, np.zeros(links), plan)
        )
        points = optimisation.nesterov_two_line(gradient, start, plan._replace(steps=plan.steps / smoothness))
        logistic = np.maximum(value(points) - value(best), 0.0)
        scaled[first] = {
            "Huber, worst knee": np.max(huber * weight[:, None], axis=1),
            "worst chain": chain * weight / optimisation.chain_distance(links) ** 2,
            "logistic": logistic * weight / (smoothness * np.sum((start - best) ** 2)),
        }
        for name, ratio in scaled[first].items():
            yield at_most(
                ratio, 1.0, f"{name}: gap over {front:g}R²/(η(t + {shift})²), w¹ counted as t = {first}", atol=1e-9
            )
    ratios = []
    for steps in (10, 50, 100, 400):
        plan = optimisation.growing_schedule(1.0, steps, first=2)
        end = optimisation.nesterov_two_line(optimisation.chain_gradient, np.zeros(2 * steps + 1), plan)[-1]
        ratios.append(optimisation.chain_gap(end) / optimisation.chain_best_gap(steps))
    yield close(
        ratios, [2.62, 3.11, 3.20, 3.29], "gap over the best in the span at t = 10, 50, 100, 400: reference", atol=0.006
    )
    late = np.arange(1001)
    ball = optimisation.heavy_ball_one_line(
        lambda w: np.clip(w, -knee, knee), np.ones(41), optimisation.growing_schedule(1.0, 1000)
    )
    overshoot = np.max(huber_gap(ball, knee) / optimisation.nesterov_convex_bound(1.0, 1.0, late)[:, None], axis=1)
    yield printed(
        at_most(overshoot, 1.0, "heavy ball with ρ_t = (t − 1)/(t + 2) on Huber functions: gap over the bound"),
        "penn", "the statement, referred to the heavy-ball equation",
    )  # fmt: skip
    shown = np.unique(np.geomspace(1, longest, 60).astype(int))
    yield figure.curves(
        f"Nesterov's gap reaches {100 * np.max(scaled[1]['Huber, worst knee']):.1f}% of its bound; heavy ball's "
        f"exceeds it {np.max(overshoot):.1f} times",
        x="t",
        y="gap × η(t + 1)²/(2R²)",
        points={name: (shown, np.where(r > 1e-6, r, np.nan)[shown]) for name, r in scaled[1].items()}
        | {"heavy ball, Huber": (shown[shown <= 1000], overshoot[shown[shown <= 1000]])},
        rules={"bound": ("y", 1.0)},
        log="xy",
    )
