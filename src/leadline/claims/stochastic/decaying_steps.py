"""SGD with steps that decay: which schedules converge, how fast, and what convexity alone allows."""

from typing import Annotated

import numpy as np

from leadline import data, stochastic
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, mean, printed

_TIMES = np.unique(np.geomspace(1, 1e6, 50).round().astype(int))


def _last_gaps(steps, curvature=1.0, spread=1.0):
    """Exact gaps of w¹ … w^T on (h/2)w² with noise of variance 1."""
    return curvature / 2 * stochastic.affine_recurrence((1 - steps * curvature) ** 2, steps**2, spread)


@claim(
    "robbins-monro-schedule",
    says=(
        "Σηₜ = ∞ and Σηₜ² < ∞ suffice for convergence: c t^(−a) qualifies for ½ < a ≤ 1. They are not necessary: on a "
        "quadratic every 0 < a ≤ 1 converges in mean square, with a gap of about ηₜσ²/4; a > 1 stalls at a distance."
    ),
    formula=r"\sum_t \eta_t = \infty, \qquad \sum_t \eta_t^2 < \infty",
    sources=("penn", "eth"),
    assumes=("a quadratic with additive noise, for the exact gaps",),
    shows=("stochastic.classify_schedule", "stochastic.affine_recurrence"),
)
def robbins_monro_schedule(
    key,
    exponent: Annotated[float, Range(0.2, 0.8)] = 0.75,
    scale: Annotated[float, Range(0.2, 1.5)] = 0.5,
):
    """Exact recursion, h = 1, noise 1, E(w⁰)² = 1, a million steps; then the classifier on known schedules."""
    t = np.arange(1.0, 1e6 + 1)
    last = 10**6
    gaps = _last_gaps(scale * t**-exponent)
    eta = scale * last**-exponent
    lag = exponent / (2 * eta * last)  # how far the gap lags behind a step that falls by a/t a step
    predicted = eta / 4 * (1 + eta / 2 + lag)
    yield close(gaps[-1], predicted, "gap at 10⁶, against (ηₜ/4)(1 + ηₜ/2 + a/(2ηₜt))", rtol=4 * (eta / 2 + lag) ** 2)
    local = np.log(gaps[-1] / gaps[last // 2 - 1]) / np.log(2)
    yield close(local, -exponent, "slope of the gap at the end", atol=2 * lag + eta)

    known = {0.3: 1.99e-3, 0.6: 3.15e-5, 0.75: 4.05e-6, 1.0: 2.0e-6, 1.5: 0.0554}
    shown = {a: _last_gaps(0.5 * t**-a) for a in known}
    yield close(
        [g[-1] for g in shown.values()],
        list(known.values()),
        "c = ½: gap at 10⁶ for a = 0.3, 0.6, 0.75, 1, 1.5",
        rtol=0.02,
    )
    yield at_least(shown[1.5][-1] / shown[1.5][last // 10 - 1], 0.99, "a = 1.5: gap at 10⁶ over that at 10⁵, stalled")
    words = {a: stochastic.classify_schedule(stochastic.power_schedule(scale, a)) for a in (0.3, 0.5, 0.6, 1.0, 1.5)}
    yield exactly(
        [c.robbins_monro for c in words.values()], [False, False, True, True, False], "Robbins-Monro: a ∈ (½, 1]"
    )
    yield exactly([c.converges for c in words.values()], [True, True, True, True, False], "converges on quadratics")
    others = {
        "constant": (lambda n: 0.1 + 0 * n, False),
        "β/(t + t₀)": (lambda n: 2 / (n + 50), True),
        "geometric": (lambda n: 0.1 * 0.999**n, False),
        "cyclic with falling peaks": (lambda n: (1 + 0.5 * np.sin(n)) * n**-0.7, True),
    }
    found = [stochastic.classify_schedule(schedule).robbins_monro for schedule, _ in others.values()]
    yield exactly(found, [meets for _, meets in others.values()], "Robbins-Monro: " + ", ".join(others))
    late = _TIMES[_TIMES >= 1000]
    yield figure.curves(
        f"Every exponent up to 1 converges, a = 1.5 stalls at {shown[1.5][-1]:.3g}",
        x="steps t",
        y="expected gap",
        lines={f"a = {a:g}": (late, 0.125 * late**-a) for a in (0.3, 0.6, 0.75)},  # ηₜ/4
        points={f"a = {a:g}": (_TIMES, g[_TIMES - 1]) for a, g in shown.items()},
        log="xy",
    )


@claim(
    "sgd-rate-decaying-step",
    says=(
        "With ηₜ = β/(t + t₀), β > 1/m, the expected gap is at most ν/(t + t₀). On a quadratic the step c/t gives "
        "t · gap → c²hσ²/(2(2ch − 1)) if 2ch > 1, but only t^(−2ch) if 2ch < 1: it is not robust to an unknown m."
    ),
    formula=r"E\, gap(w^t) \le \frac{\nu}{t + t_0}, \quad \nu = \max\left\{\frac{\beta^2 L \sigma_0}{2(\beta m - 1)},"
    r" (t_0 + 1)\, gap(w^1)\right\}",
    sources=("penn",),
    assumes=("β > 1/m", "η₁ ≤ 1/(Lσ)"),
)
def sgd_rate_decaying_step(
    key,
    product: Annotated[float, Range(0.05, 3.0)] = 1.0,
    curvature: Annotated[float, Range(0.2, 5.0, log=True)] = 1.0,
    factor: Annotated[float, Range(1.1, 10.0)] = 2.0,
    spread: Annotated[float, Range(0.0, 10.0)] = 1.0,
):
    """Exact recursions: the bound with β = `factor`/h, then the step c/t with ch = `product`; E(w¹)² = `spread`."""
    t = np.arange(1.0, 1e5 + 1)
    shift = factor - 1  # the least t₀ for which η₁ ≤ 1/h
    steps = factor / curvature / (t + shift)
    gaps = np.append(curvature * spread / 2, _last_gaps(steps[:-1], curvature, spread))  # w¹ is the start
    bound = stochastic.decaying_step_bound(
        t, gaps[0], scale=factor / curvature, shift=shift, smoothness=curvature, strong_convexity=curvature, sigma0=1.0
    )
    yield at_most(gaps, bound, "expected gap at t = 1 … 10⁵", rtol=1e-12)
    unit = 2 * stochastic.decaying_step_bound(
        1, 0.5, scale=2.0, shift=1.0, smoothness=1.0, strong_convexity=1.0, sigma0=1.0
    )
    yield close(unit, 2.0, "L = m = σ₀ = σ = 1, β = 2, t₀ = 1: ν", atol=1e-12)

    t = np.arange(1.0, 1e6 + 1)
    run = _last_gaps(product / curvature / t, curvature, spread=1.0)
    rest = 1e6 ** -abs(2 * product - 1)  # the size of the next term of the expansion
    clear = abs(2 * product - 1) > 0.15
    if product > 0.5:
        limit = (product / curvature) ** 2 * curvature / (2 * (2 * product - 1))
        what = "t · gap at 10⁶, against c²hσ²/(2(2ch − 1))"
        yield close(1e6 * run[-1], limit, what, rtol=20 * rest * max(1, curvature**2) + 1e-4).given(
            clear, "ch is not near ½"
        )
    else:
        local = np.log(run[-1] / run[10**5 - 1]) / np.log(10)
        what = "slope over the last decade, against −2ch"
        yield close(local, -2 * product, what, atol=20 * rest / curvature + 1e-3).given(clear, "ch is not near ½")
    grid = np.array([0.1, 0.25, 0.4, 1.0, 2.0])
    table = np.array([_last_gaps(c / t)[[10**5 - 1, 10**6 - 1]] for c in grid])
    slopes = np.log10(table[:, 1] / table[:, 0])
    yield close(slopes[[0, 1, 3]], [-0.2, -0.5, -1.0], "h = 1: slopes for c = 0.1, 0.25, 1", atol=0.005)
    yield close(slopes[2], -0.79, "h = 1: slope for c = 0.4", atol=0.015)
    yield close(1e6 * table[3:, 1], [0.5, 2 / 3], "h = 1: t · gap for c = 1, 2", rtol=1e-4)
    line = np.linspace(0.02, 2.0, 100)
    yield figure.curves(
        f"The step c/t is as slow as t^(−2ch) below ch = ½: slope {slopes[0]:.2f} at ch = 0.1, {slopes[3]:.2f} at 1",
        x="c h",
        y="slope of the gap over the last decade",
        lines={"−min(2ch, 1)": (line, -np.minimum(2 * line, 1))},
        points={"exact recursion, 10⁵ to 10⁶ steps": (grid, slopes)},
        rules={"corner at ½": ("x", 0.5)},
    )


_CONVEX = {
    # value, and the stochastic gradient at x with an independent sign s; |ĝ| ≤ √2 or 1
    "|x|": (np.abs, lambda x, s: np.sign(x) + s, 2.0),
    "x⁴/4, clipped": (
        lambda x: np.where(np.abs(x) < 1, x**4 / 4, np.abs(x) - 0.75),
        lambda x, s: np.clip(x, -1, 1) ** 3 + s,
        2.0,
    ),
    "logistic": (
        lambda x: (np.logaddexp(0, x) + np.logaddexp(0, -x)) / 2 - np.log(2),
        lambda x, s: -s / (1 + np.exp(s * x)),
        1.0,
    ),
}  # fmt: skip


def _hard_instance(root, ratios):
    """√T times the expected gap of averaged SGD on x ∈ [−1, 1] with gradients −s, P(s = ±1) = (1 ± δ)/2, δ = c/√T.

    With η = 1/√T and T = root² the iterates are on the lattice k/root: the law is computed, not sampled.
    """
    up = (1 + ratios / root)[:, None] / 2
    law = np.zeros((len(ratios), 2 * root + 1))
    law[:, root] = 1.0
    places = np.arange(-root, root + 1) / root
    total = np.zeros(len(ratios))
    for _ in range(root**2):
        total += law @ places
        rise, fall = up * law, (1 - up) * law
        law = np.zeros_like(law)
        law[:, 1:] += rise[:, :-1]
        law[:, -1] += rise[:, -1]
        law[:, :-1] += fall[:, 1:]
        law[:, 0] += fall[:, 0]
    return ratios * (1 - total / root**2)


@claim(
    "sgd-rate-convex",
    says=(
        "For a convex loss with E‖ĝ‖² ≤ B² the averaged iterate has E gap ≤ (R² + B²Σηₜ²)/(2Σηₜ), so RB/√T at the step "
        "R/(B√T), and no more can be had: a hard instance attains the rate. The step 1/t is wrong here."
    ),
    formula=r"E\, l(\bar w) - l^* \le \frac{R^2 + B^2 \sum \eta_t^2}{2 \sum \eta_t}",
    sources=("penn", "sheet"),
    assumes=("l is convex", "E‖ĝ‖² ≤ B²", "R = ‖w⁰ − w*‖"),
)
def sgd_rate_convex(
    key,
    root: Annotated[int, Range(10, 110)] = 100,
    radius: Annotated[float, Range(0.2, 5.0, log=True)] = 1.0,
    runs: Annotated[int, Range(50, 1000)] = 200,
):
    """T = `root`²: three convex functions by `runs` independent runs, and the hard instance by its exact law."""
    rng = data.generator(key)
    horizon = min(root**2, 2500)
    for name, (value, gradient, square) in _CONVEX.items():
        eta = radius / np.sqrt(square * horizon)
        x, total, looks = np.full(runs, radius), np.zeros(runs), {}
        for t in range(1, horizon + 1):
            total += x
            x = x - eta * gradient(x, rng.choice([-1.0, 1.0], runs))
            if t in (horizon // 10, horizon):
                looks[t] = value(total / t)
        for t, gaps in looks.items():
            bound = stochastic.convex_bound(np.full(t, eta), radius=radius, gradient_bound=np.sqrt(square))
            yield mean(gaps, bound, f"{name}: gap of the average at T = {t}", side="at most")
    ratios = np.arange(0.5, 4.01, 0.1)
    roots = sorted({10, 32, root})
    worst = np.array([_hard_instance(r, ratios).max() for r in roots])
    yield at_most(worst, 1.0, "hard instance: √T · gap at the worst c, against RB = 1")
    yield at_least(worst, 0.85, "hard instance: √T · gap at the worst c stays above a constant")

    x, total, marks = 0.5, 0.5, {}  # from 1 the first step would land on the minimum
    for t in range(2, 10**6 + 1):
        x -= x * x * x / t
        total += x
        if t in (10, 100, 1000, 10**4, 10**5, 10**6):
            marks[t] = (total / t) ** 4 / 4
    wrong = np.log(marks[10**6] / marks[10**4]) / np.log(100)
    yield close(wrong, -0.17, "x⁴/4 with step 1/t: slope of the gap of the average, 10⁴ to 10⁶", atol=0.005)
    yield printed(
        at_most(wrong, -0.5, "x⁴/4 with step 1/t: slope of the gap"), "sheet", "ηₜ ∝ 1/t before the O(1/√t) rate"
    )
    times = np.array(list(marks))
    yield figure.curves(
        f"The hard instance keeps √T · gap at {worst[-1]:.2f}: the rate 1/√T is attained; with step 1/t it grows",
        x="steps T",
        y="√T · gap",
        lines={"bound R B": (times[[0, -1]], [1.0, 1.0])},
        points={
            "hard instance, worst c": (np.array(roots) ** 2, worst),
            "x⁴/4, step 1/t": (times, np.sqrt(times) * np.array(list(marks.values()))),
        },
        log="xy",
    )
