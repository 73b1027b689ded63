"""SGD with steps that decay: which schedules converge, how fast, and what convexity alone allows."""

import numpy as np

from leadline import data, stochastic
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly, mean, reference
from leadline.presentation import figure
from leadline.stochastic.schedules import classify_schedule
from leadline.stochastic.sgd_bounds import convex_bound, decaying_step_bound

_TIMES = np.unique(np.geomspace(1, 1e6, 50).round().astype(int))


def _last_gaps(steps, curvature=1.0, spread=1.0):
    """Exact gaps of w¹ … w^T on (h/2)w² with noise of variance 1."""
    return curvature / 2 * stochastic.affine_recurrence((1 - steps * curvature) ** 2, steps**2, spread)


@claim(sources=("penn", "eth"), shows=("stochastic.affine_recurrence",))
def robbins_monro_schedule(key, exponent: Real(0.2, 0.8) = 0.75, scale: Real(0.2, 1.5) = 0.5):
    r"""Robbins–Monro step-size conditions.

    ∑ ηₜ = ∞ and ∑ ηₜ² < ∞ suffice for convergence: c t⁻ᵃ qualifies for ½ < a ≤ 1. They are not necessary: on a
    quadratic every 0 < a ≤ 1 converges in mean square, with a gap of about ηₜσ²/4; a > 1 stalls at a distance.

    $$\sum_t \eta_t = \infty, \qquad \sum_t \eta_t^2 < \infty$$

    Assumes: a quadratic with additive noise, for the exact gaps.

    Check: The exact recursion with h = 1, noise 1 and E(w⁰)² = 1 for a million steps; classified schedules.
    """
    t = np.arange(1.0, 1e6 + 1)
    last = 10**6
    gaps = _last_gaps(scale * t**-exponent)
    eta = scale * last**-exponent
    lag = exponent / (2 * eta * last)  # how far the gap lags behind a step that falls by a/t a step
    predicted = eta / 4 * (1 + eta / 2 + lag)
    yield close(gaps[-1], predicted, "gap at 10⁶, against (ηₜ/4)(1 + ηₜ/2 + a/(2ηₜt))", rtol=4 * (eta / 2 + lag) ** 2)
    local = np.log(gaps[-1] / gaps[last // 2 - 1]) / np.log(2)
    yield close(local, -exponent, "log-log slope of the gap at 10⁶, against −a", atol=2 * lag + eta)
    known = {0.3: 1.99e-3, 0.6: 3.15e-5, 0.75: 4.05e-6, 1.0: 2.01e-6, 1.5: 0.0554}
    shown = {a: _last_gaps(0.5 * t**-a) for a in known}
    ends = [g[-1] for g in shown.values()]
    yield reference(ends, list(known.values()), "c = ½: gap at 10⁶ for a = 0.3, 0.6, 0.75, 1, 1.5", digits=3)
    yield at_least(shown[1.5][-1] / shown[1.5][last // 10 - 1], 0.99, "a = 1.5: gap at 10⁶ over that at 10⁵, stalled")
    words = {a: classify_schedule(stochastic.power_schedule(scale, a)) for a in (0.3, 0.5, 0.6, 1.0, 1.5)}
    meets = [c.robbins_monro for c in words.values()]
    yield exactly(meets, [False, False, True, True, False], "Robbins-Monro holds for a = 0.3, 0.5, 0.6, 1, 1.5")
    works = [c.converges for c in words.values()]
    yield exactly(works, [True, True, True, True, False], "convergence on quadratics for a = 0.3, 0.5, 0.6, 1, 1.5")
    others = {
        "constant": (lambda n: 0.1 + 0 * n, False),
        "β/(t + t₀)": (lambda n: 2 / (n + 50), True),
        "geometric": (lambda n: 0.1 * 0.999**n, False),
        "cyclic with falling peaks": (lambda n: (1 + 0.5 * np.sin(n)) * n**-0.7, True),
    }
    found = [classify_schedule(schedule).robbins_monro for schedule, _ in others.values()]
    yield exactly(found, [meets for _, meets in others.values()], "Robbins-Monro holds: " + ", ".join(others))
    late = _TIMES[_TIMES >= 1000]
    title = f"Every exponent up to 1 converges, a = 1.5 stalls at {shown[1.5][-1]:.3g}"
    lines = {f"a = {a:g}": (late, 0.125 * late**-a) for a in (0.3, 0.6, 0.75)}
    points = {f"a = {a:g}": (_TIMES, g[_TIMES - 1]) for a, g in shown.items()}
    yield figure.curves(title, "steps t", "expected gap", lines=lines, points=points, log="xy")


@claim(sources=("penn",))
def sgd_rate_decaying_step(
    key,
    product: Real(0.05, 3.0) = 1.0,
    curvature: Real(0.2, 5.0, log=True) = 1.0,
    factor: Real(1.1, 10.0) = 2.0,
    spread: Real(0.0, 10.0) = 1.0,
):
    r"""SGD rate with decaying step size.

    With ηₜ = β/(t + t₀), β > 1/m, the expected gap is at most ν/(t + t₀). On a quadratic the step size c/t gives $t
    \cdot \mathrm{gap} \to \frac{c^2 h \sigma^2}{2(2ch - 1)}$ if 2ch > 1, but only $t^{-2ch}$ if 2ch < 1: it is not
    robust to an unknown m.

    $$E\, \mathrm{gap}(w^t) \le \frac{\nu}{t + t_0}, \quad \nu = \max\left\{\frac{\beta^2 L \sigma_0}{2(\beta m - 1)},
    (t_0 + 1)\, \mathrm{gap}(w^1)\right\}$$

    Assumes: β > 1/m; η₁ ≤ 1/(Lσ).

    Check: Exact recursions with β = `factor`/h, then with c/t, ch = `product`, from E(w¹)² = `spread`.
    """
    t = np.arange(1.0, 1e5 + 1)
    shift = factor - 1  # the least t₀ for which η₁ ≤ 1/h
    steps = factor / curvature / (t + shift)
    gaps = np.append(curvature * spread / 2, _last_gaps(steps[:-1], curvature, spread))  # w¹ is the start
    constants = {"scale": factor / curvature, "shift": shift, "smoothness": curvature, "strong_convexity": curvature}
    bound = decaying_step_bound(t, gaps[0], **constants, sigma0=1.0)
    yield at_most(gaps, bound, "expected gap at t = 1 … 10⁵", rtol=1e-12)
    ones = {"smoothness": 1.0, "strong_convexity": 1.0, "sigma0": 1.0}
    unit = 2 * decaying_step_bound(1, 0.5, scale=2.0, shift=1.0, **ones)
    yield close(unit, 2.0, "ν for L = m = σ₀ = σ = 1, β = 2, t₀ = 1", atol=1e-12)
    t = np.arange(1.0, 1e6 + 1)
    run = _last_gaps(product / curvature / t, curvature, spread=1.0)
    rest = 1e6 ** -abs(2 * product - 1)  # the size of the next term of the expansion
    if product > 0.5:
        limit = (product / curvature) ** 2 * curvature / (2 * (2 * product - 1))
        what, tolerance = "t · gap at 10⁶, against c²hσ²/(2(2ch − 1))", 20 * rest * max(1, curvature**2) + 1e-4
        found = close(1e6 * run[-1], limit, what, rtol=tolerance)
    else:
        local, what = np.log10(run[-1] / run[10**5 - 1]), "slope of the gap over the last decade, against −2ch"
        found = close(local, -2 * product, what, atol=20 * rest / curvature + 1e-3)
    yield found.given(abs(2 * product - 1) > 0.15, "ch is not near ½")
    grid = np.array([0.1, 0.25, 0.4, 1.0, 2.0])
    table = np.array([_last_gaps(c / t)[[10**5 - 1, 10**6 - 1]] for c in grid])
    slopes = np.log10(table[:, 1] / table[:, 0])
    what = "h = 1: slope of the gap over the last decade"
    yield close(slopes[[0, 1, 3]], [-0.2, -0.5, -1.0], f"{what}, c = 0.1, 0.25, 1", atol=0.005)
    yield reference(slopes[2], -0.79, f"{what}, c = 0.4", digits=2)
    yield close(1e6 * table[3:, 1], [0.5, 2 / 3], "h = 1: t · gap for c = 1, 2", rtol=1e-4)
    line = np.linspace(0.02, 2.0, 100)
    title = (
        f"Step size c/t is as slow as t^(−2ch) below ch = ½: slope {slopes[0]:.2f} at ch = 0.1, {slopes[3]:.2f} at 1"
    )
    lines = {"−min(2ch, 1)": (line, -np.minimum(2 * line, 1))}
    points = {"exact recursion, 10⁵ to 10⁶ steps": (grid, slopes)}
    rules = {"corner at ½": ("x", 0.5)}
    yield figure.curves(title, "c h", "slope of the gap over the last decade", lines=lines, points=points, rules=rules)


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
}


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


@claim(sources=("penn", "sheet"))
def sgd_rate_convex(key, root: Int(10, 110) = 100, radius: Real(0.2, 5.0, log=True) = 1.0, runs: Int(50, 1000) = 200):
    r"""SGD's 1/√T rate for convex losses.

    For a convex loss with E‖ĝ‖² ≤ B² the averaged iterate has E gap ≤ $\frac{R^2 + B^2 \sum \eta_t^2}{2 \sum \eta_t}$,
    so RB/√T at the step size R/(B√T), and no better rate is possible: a hard instance attains it. The step size 1/t is
    wrong here.

    $$E\, l(\bar w) - l^* \le \frac{R^2 + B^2 \sum \eta_t^2}{2 \sum \eta_t}$$

    Assumes: l is convex; E‖ĝ‖² ≤ B²; R = ‖w⁰ − w*‖.

    Check: T = `root`²; three convex functions by `runs` runs, the hard instance by the exact law of its iterates.
    """
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
            bound = convex_bound(np.full(t, eta), radius=radius, gradient_bound=np.sqrt(square))
            yield mean(gaps, bound, f"{name}: gap of the average at T = {t}", side="at most")
    ratios = np.arange(0.5, 4.01, 0.1)
    roots = sorted({10, 32, root})
    worst = np.array([_hard_instance(r, ratios).max() for r in roots])
    rate = at_most(worst, 1.0, "hard instance, η = 1/√T: √T · gap at the worst c, against RB = 1")
    yield rate
    yield at_least(worst, 0.85, "hard instance: √T · gap at the worst c stays above a constant")
    x, total, marks = 0.5, 0.5, {}  # from 1 the first step would land on the minimum
    for t in range(2, 10**6 + 1):
        x -= x * x * x / t
        total += x
        if t in (10, 100, 1000, 10**4, 10**5, 10**6):
            marks[t] = (total / t) ** 4 / 4
    slow = np.log(marks[10**6] / marks[10**4]) / np.log(100)
    yield reference(slow, -0.17, "x⁴/4 with ηₜ = 1/t: slope of the gap of the average, 10⁴ to 10⁶", digits=2)
    wrong = at_most(slow, -0.5, "x⁴/4 with ηₜ = 1/t: slope of the gap of the average, against −½")
    yield erratum(wrong, of=rate, by="sheet", prints="ηₜ ∝ 1/t also for convex f, with the rate O(1/√t)")
    times = np.array(list(marks))
    title = f"The hard instance keeps √T · gap at {worst[-1]:.2f}: the rate 1/√T is attained; with ηₜ = 1/t it grows"
    lines = {"bound R B": (times[[0, -1]], [1.0, 1.0])}
    hard = {"hard instance, worst c": (np.array(roots) ** 2, worst)}
    points = hard | {"x⁴/4, step size 1/t": (times, np.sqrt(times) * list(marks.values()))}
    yield figure.curves(title, "steps T", "√T · gap", lines=lines, points=points, log="xy")
