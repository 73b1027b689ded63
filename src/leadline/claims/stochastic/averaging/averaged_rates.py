"""How fast averaged SGD converges on strongly convex losses: when a logarithm is lost, and when every step will do."""

from fractions import Fraction
from math import comb, factorial, gamma

import numpy as np

from leadline import data, stochastic
from leadline.evidence import Int, Real, at_least, claim, close, mean, reference
from leadline.presentation import figure


def _boundary_mean(scale):
    """E z of the stationary law of z⁺ = max(0, z − cU), U uniform on [−1, 3], by Spitzer's formula Σₙ E(Sₙ)⁺/n.

    Near the edge of [0, 1] the iterates of projected SGD with step c/t are z/t. Sₙ is a sum of n uniform variables on
    [−3, 1]; E(Sₙ)⁺ = 4/(n + 1)! Σ_{k ≤ n/4} (−1)ᵏ C(n, k)(n/4 − k)ⁿ⁺¹ in exact arithmetic.
    """
    total = 0.0
    for n in range(1, 60):
        signed = sum((-1) ** k * comb(n, k) * Fraction(n - 4 * k, 4) ** (n + 1) for k in range(n // 4 + 1))
        total += float(4 * signed / factorial(n + 1)) / n
    return scale * total


def _projected_runs(rng, scale, runs, marks, slope, low, offset):
    """Projected SGD with step c/t on [low, 1]; gradients w + slope(w) + uniform noise. Averages at the marks."""
    w, total = np.ones(runs), np.zeros(runs)
    found, halves = {}, {}
    for t in range(1, max(marks) + 1):
        w = np.clip(w - scale / t * (w + slope(w) + rng.uniform(offset, offset + 4, runs)), low, 1.0)
        total += w
        halves.update({t: total.copy()} if 2 * t in marks else {})
        if t in marks:
            found[t] = (total / t, (total - halves[t // 2]) / (t - t // 2), w.copy())
    return found


@claim(sources=("sheet",))
def averaged_sgd_rate_strongly_convex(key, scale: Real(0.5, 2.0) = 1.0, runs: Int(300, 2000) = 600):
    r"""Averaged SGD under strong convexity.

    For an m-strongly convex loss that need not be smooth, with step size 1/(mt), the uniform average has gap O(log
    T/T), and the logarithm is real at the edge of a constraint; the average of the last half has gap O(1/T).

    $$E\, \mathrm{gap}(\bar w_T) = O\!\left(\frac{\log T}{T}\right),
    \qquad E\, \mathrm{gap}(\bar w_{T/2..T}) = O\!\left(\frac1T\right)$$

    Assumes: l is m-strongly convex; ηₜ = c/(mt).

    Check: Projected SGD on w²/2 + w over [0, 1] from w = 1, with gradients w + U[−1, 3] and step size c/t, T ≤ 10⁴.
    """
    rng = data.generator(key)
    marks = (100, 1000, 10_000)
    found = _projected_runs(rng, scale, runs, marks, lambda w: 0.0, 0.0, -1.0)
    level = _boundary_mean(scale)
    yield reference(_boundary_mean(1.0), 0.2020, "c = 1: the predicted factor of log T", digits=4)

    def gap(w):
        return w**2 / 2 + w

    uniform, suffix, last = ({t: t * gap(found[t][i]) for t in marks} for i in range(3))
    growth = uniform[10_000] - uniform[1000]
    # the law of z is reached up to terms of order 1/t, t ≥ 1000; four standard errors for the sampling
    decade, twice = "growth of T · gap of the uniform average, per decade", "T · gap of the average of the last half"
    for samples, value, what in (
        (growth, level * np.log(10), f"{decade}, against log 10 times the factor"),
        (suffix[10_000], 2 * level * np.log(2), f"{twice}, against 2 log 2 times the factor"),
    ):
        yield close(samples.mean(), value, what, rtol=20 / 1000, atol=4 * samples.std() / np.sqrt(runs))
    yield mean(last[10_000], level, "T · gap of the last iterate, against the factor itself")
    change = suffix[10_000] - suffix[1000]
    rounding = level * 20 / 1000 + 4 * change.std() / np.sqrt(runs)
    yield close(change.mean(), 0.0, f"growth of {twice}, per decade", atol=rounding)
    smooth = _projected_runs(rng, scale, runs, marks, np.sign, -1.0, -2.0)
    even = {t: t * (np.abs(smooth[t][0]) + smooth[t][0] ** 2 / 2) for t in marks}
    more, what = (even[10_000] - even[1000], "|w| + w²/2, uniform average: growth of T · gap per decade")
    yield mean(more, level * np.log(10) / 2, what, side="at most")
    line, first = np.geomspace(100, 1e4, 20), uniform[100].mean()
    title = f"T · gap of the uniform average grows by {growth.mean():.2f} a decade (predicted {level * np.log(10):.2f})"
    lines = {
        "uniform average": (line, first + level * np.log(line / 100)),
        "average of the last half": (line, np.full(20, 2 * level * np.log(2))),
        "last iterate": (line, np.full(20, level)),
    }
    found = {"uniform average": uniform, "average of the last half": suffix, "last iterate": last}
    points = {name: (marks, [values[t].mean() for t in marks]) for name, values in found.items()}
    yield figure.curves(title, "steps T", "T · gap", lines=lines, points=points, log="x")


@claim(sources=("sheet",))
def averaged_sgd_rate_strongly_convex_smooth(
    key, scale: Real(0.3, 1.9) = 0.3, exponent: Real(0.55, 0.78) = 0.75, curvature: Real(0.7, 1.0) = 1.0
):
    r"""Polyak–Ruppert averaging rate.

    On a smooth strongly convex loss SGD has gap O(1/t). The step size c/t degrades to $t^{-2cm}$ when c is small; step
    sizes c t⁻ᵃ, ½ < a < 1, with averaging reach tr(H⁻¹C)/(2t) for every c, though forgetting the start can be slow.

    $$t \cdot E\, \mathrm{gap}(\bar w_t) \to \tfrac12\, \mathrm{tr}(H^{-1} C)$$

    Assumes: a quadratic with additive noise, for the exact numbers.

    Check: Exact moments with noise 1 and w⁰ = 1, for up to 10⁶ steps.
    """
    t = np.arange(1.0, 1e6 + 1)
    marks = np.array([10**4, 10**5, 10**6])
    steps = scale * t**-exponent
    gaps = curvature / 2 * stochastic.scalar_moments(steps, curvature=curvature, start=1.0).mean
    slow = 1 / (steps[-1] * curvature * 1e6)
    power = 1 / (1 - exponent)
    state = gamma(power + 1) * ((1 - exponent) / (scale * curvature)) ** power  # Σ E wᵗ, what is left of the start
    what, left = "t · gap of the mean at 10⁶, against 1/(2h)", state**2 / 1e6
    yield close(1e6 * gaps[-1], 1 / (2 * curvature), what, rtol=2 * slow, atol=left)
    known = {1.0: [0.528, 0.515, 0.508], 0.3: [0.682, 0.566, 0.531], 0.1: [29.0, 8.3, 1.5], 0.05: [325.0, 360.0, 123.0]}
    found = {}
    for c, values in known.items():
        run = stochastic.scalar_moments(c * t**-0.75, start=1.0).mean / 2
        found[c] = t[marks - 1] * run[marks - 1]
        digits = 3 if c > 0.2 else 2
        yield reference(found[c], values, f"a = ¾, c = {c:g}: t · gap at 10⁴, 10⁵, 10⁶", digits=digits)
    yield at_least(found[0.05][-1], 100.0, "c = 0.05: t · gap at 10⁶ is still far from ½")
    grid = np.array([0.1, 0.2, 0.3, 0.5, 1.0, 1.5])
    short = t[: 10**5]
    slopes = {"last iterate, c/t": [], "mean, c t^(−3/4)": []}
    for c in grid:
        last = stochastic.affine_recurrence((1 - c / short) ** 2, (c / short) ** 2, 1.0)
        slopes["last iterate, c/t"].append(np.log10(last[-1] / last[10**4 - 1]))
        run = stochastic.scalar_moments(c * short**-0.75, start=1.0).mean
        slopes["mean, c t^(−3/4)"].append(np.log10(run[-1] / run[10**4 - 1]))
    early = slopes["last iterate, c/t"][:2]
    yield close(early, -2 * grid[:2], "step size c/t: slope of the gap for c = 0.1, 0.2, against −2c", atol=0.01)
    line = np.linspace(0.05, 1.5, 100)
    title = f"Averaged, t · gap comes to {found[1.0][-1]:.3f} for c = 1 and {found[0.3][-1]:.3f} for c = 0.3"
    lines = {"last iterate, c/t": (line, -np.minimum(2 * line, 1)), "mean, c t^(−3/4)": (line, np.full(100, -1.0))}
    points = {name: (grid, values) for name, values in slopes.items()}
    yield figure.curves(title, "c", "slope of the gap from 10⁴ to 10⁵ steps", lines=lines, points=points)
