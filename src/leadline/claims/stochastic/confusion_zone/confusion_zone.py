"""The zone of confusion: where single examples disagree, and where SGD with a constant step stays."""

import jax
import numpy as np

from leadline import data, stochastic
from leadline.evidence import (
    Int,
    Real,
    assume,
    at_least,
    at_most,
    claim,
    close,
    erratum,
    exactly,
    mean,
    reference,
    slope,
)
from leadline.presentation import figure
from leadline.stochastic.problems.finite_sum import six_points


def six():
    """x, y, and the moments of the six-point problem."""
    x, y = (np.asarray(a) for a in six_points().arrays)
    return x[:, 0], y, stochastic.LeastSquaresMoments(x, y)


@claim(sources=("penn",))
def least_squares_1d_minimiser(key, samples: Int(1, 50) = 6, sets: Int(100, 20000, log=True) = 10000):
    r"""Minimiser of one-dimensional least squares.

    The minimiser ∑ xᵢyᵢ/∑ xᵢ² is the mean of the single minimisers yᵢ/xᵢ with weights xᵢ², so it lies between the
    least and the largest of them; it is unique unless all xᵢ = 0.

    $$w^\star = \frac{\sum_i x_i y_i}{\sum_i x_i^2} = \frac{\sum_i x_i^2 w_i}{\sum_i x_i^2}, \quad w_i = y_i/x_i$$

    Check: Random data sets; gradient descent makes 60 steps with half the exact step size on all of them at once.
    """
    rng = data.generator(key)
    x, y = rng.standard_normal((sets, samples)), rng.standard_normal((sets, samples))
    own, weight = y / x, x**2
    best = np.sum(x * y, 1) / np.sum(weight, 1)
    weighted = np.sum(weight * own, 1) / np.sum(weight, 1)
    yield close(weighted, best, "weighted mean of yᵢ/xᵢ, against Σxy/Σx²", rtol=1e-9, atol=1e-12)
    w = np.zeros(sets)
    h, c = np.mean(x * x, 1), np.mean(x * y, 1)
    for _ in range(60):
        w = w - 0.5 / h * (h * w - c)
    yield close(w, best, f"limit of gradient descent, {sets} data sets", rtol=1e-12, atol=1e-12)
    scale = np.abs(own).max(1)
    yield at_least((best - own.min(1)) / scale, 0.0, "w* − w_min, relative to the largest |yᵢ/xᵢ|", atol=1e-12)
    yield at_least((own.max(1) - best) / scale, 0.0, "w_max − w*, relative to the largest |yᵢ/xᵢ|", atol=1e-12)
    flat = stochastic.LeastSquaresMoments(np.zeros(3), np.array([1.0, 2.0, 3.0]))
    yield close(flat.hessian, 0.0, "curvature when all xᵢ = 0: every w is a minimiser", atol=0.0)
    xs, ys, moments = six()
    points = ys / xs
    best, shares = moments.minimiser[0], {"single examples": (points, xs**2 / np.sum(xs**2))}
    title = f"w* = {best:.4f} is the mean of the six minimisers, weighted by x²"
    yield figure.curves(title, "minimiser yᵢ/xᵢ", "weight xᵢ²/Σx²", points=shares, rules={"w*": ("x", best)})


@claim(sources=("penn",))
def zone_of_confusion(
    key,
    eta: Real(0.05, 1.0, log=True) = 0.9,
    num_steps: Int(10000, 500000, log=True) = 200000,
    start: Real(2.0, 20.0) = 4.0,
):
    r"""Zone of confusion.

    Left of the least yᵢ/xᵢ every example pushes right, and right of the largest every one pushes left; in between,
    they disagree. If η xᵢ² ≤ 1 for all i, SGD enters this zone and never leaves; with larger steps it can.

    $$w^+ = (1 - \eta x_i^2)\, w + \eta x_i^2\, w_i$$

    Assumes: one dimension.

    Check: The six points with step size η/max x², and with 1.9/max x² for the exits; interpolating targets are 0.7 x.
    """
    x, y, moments = six()
    own = y / x
    low, high = own.min(), own.max()
    points = np.concatenate([low - np.geomspace(1e-6, 10, 50), high + np.geomspace(1e-6, 10, 50)])
    pushes = -np.sign(x * (x * points[:, None] - y))
    pushed = exactly(pushes, np.where(points < low, 1.0, -1.0)[:, None], "direction of every example outside the zone")
    yield pushed
    inside = np.linspace(low, high, 52)[1:-1]
    pushes = -np.sign(x * (x * inside[:, None] - y))
    yield exactly(np.ptp(pushes, 1), 2.0, "spread of the examples' directions (−1 and 1) inside the zone")
    wrong = at_least(pushes.min(1), 1.0, "least direction of an example, w in the zone")
    yield erratum(wrong, of=pushed, by="penn", prints="all samples move right on (−∞, w_max)")
    rows = stochastic.index_stream(6, num_steps, key=key)
    path = walk(x, y, start, eta / 1.44, rows)
    there = (path >= low - 1e-12) & (path <= high + 1e-12)  # at η = 1 an iterate can lie on the edge
    entry = int(np.argmax(there))
    yield at_least(there.sum(), 1, "iterates inside the zone")
    yield exactly(np.sum(~there[entry:]), 0, f"iterates outside after entry, of {num_steps}")
    wild = walk(x, y, moments.minimiser[0], 1.9 / 1.44, rows)
    yield at_least(np.sum((wild < low) | (wild > high)), 1, "iterates outside with step size 1.9/max x²")
    calm = walk(x, 0.7 * x, start, eta / 1.44, rows[:2000])
    rate = np.mean(np.log1p(-np.minimum(eta * x**2 / 1.44, 1 - 1e-16)))
    converged = at_most(np.abs(calm[-1] - 0.7), 1e-12, "interpolation: |w − w*| after 2000 steps")
    yield converged.given(2000 * rate < -60, "2000 steps suffice at this step size")
    contraction = np.prod(1 - eta * x[rows[:20]] ** 2 / 1.44) * (start - 0.7)
    yield close(calm[20] - 0.7, contraction, "interpolation: w − w* after 20 steps, against Π(1 − ηx²)", atol=1e-12)
    slow = walk(x, y, start, eta / 14.4, rows)
    shown = min(max(6 * entry, 80), num_steps)
    title = f"SGD enters the zone [{low:.3g}, {high:.3g}] at step {entry} and does not leave it in {num_steps} steps"
    bands = {"zone of confusion": ([0, shown], np.full(2, low), np.full(2, high))}
    paths = {f"SGD, step size {eta:.2g}/max x²": path, f"SGD, step size {eta / 10:.2g}/max x²": slow}
    points = {name: (np.arange(shown + 1), walked[: shown + 1]) for name, walked in paths.items()}
    yield figure.curves(title, "step", "w", bands=bands, points=points, rules={"w*": ("y", moments.minimiser[0])})


def walk(x, y, start, step, rows, every=1):
    """SGD with b = 1 in one dimension along a stream, or along each of several in rows."""
    streams = np.atleast_2d(rows)
    problem = stochastic.least_squares_sum(x[:, None], y)
    points = np.asarray(stochastic.sgd_runs(problem, np.array([start]), step, streams, every=every))[..., 0]
    return points if rows.ndim == 2 else points[0]


@claim(sources=("penn", "sheet"))
def sgd_stationary_variance_1d(
    key, eta: Real(0.02, 0.9, log=True) = 0.9, noise: Real(0.0, 3.0) = 1.0, chains: Int(1000, 20000, log=True) = 5000
):
    r"""Stationary variance of one-dimensional SGD.

    With a constant step size on one-dimensional least squares the iterate settles at mean w* with variance
    $\frac{\eta\, E[x^2 r^2]}{2E[x^2] - \eta\, E[x^4]}$: linear in η for small η, infinite from η = 2E[x²]/E[x⁴] on,
    and zero only if every residual is.

    $$\mathrm{Var}\, w = \frac{\eta\, E[x^2 r^2]}{2E[x^2] - \eta\, E[x^4]}$$

    Assumes: b = 1, drawn with replacement; η < 2E[x²]/E[x⁴].

    Check: The six points with residuals multiplied by `noise` and step sizes η/Lₘₐₓ; chains run until stationary.
    """
    x, y, moments = six()
    y = moments.minimiser[0] * x + noise * moments.residuals
    moments = stochastic.LeastSquaresMoments(x, y)

    def formula(step):
        return step * np.mean(x**2 * moments.residuals**2) / (2 * np.mean(x**2) - step * np.mean(x**4))

    shares = np.array([0.1, 0.5, 0.9, 1.5, 2.5, eta])
    solved = np.array([moments.stationary(s / 1.44)[0, 0] for s in shares])
    what = "fixed point of the variance recursion, against the formula"
    yield close(solved, formula(shares / 1.44), what, rtol=1e-12, atol=1e-15)
    known = [six()[2].stationary(s / 1.44)[0, 0] for s in (0.1, 0.5, 0.9)]
    yield reference(known[0], 0.0070504, "variance on the six points, ηL_max = .1", digits=5)
    yield reference(known[1:], [0.0415307, 0.0909549], "variance on the six points, ηL_max = .5, .9", digits=6)
    limit = 2 * np.mean(x**2) / np.mean(x**4)
    yield close(moments.largest_step(), limit, "largest stable step size, against 2E[x²]/E[x⁴]", rtol=2.5e-6)
    yield reference(limit, 1.90684, "2E[x²]/E[x⁴] of the six points", digits=6)
    if noise:
        tiny = np.geomspace(1e-5, 1e-4, 4)
        yield slope(tiny, formula(tiny), 1.0, "formula for the variance against η", within=1e-3)
    step = eta / 1.44
    settle = int(np.ceil(np.log(1e-10) / np.log(moments.contraction(step))))
    rows = stochastic.index_stream(6, settle, key=key, seeds=chains)
    w = walk(x, y, moments.minimiser[0], step, rows, every=settle)[:, -1]
    yield mean(w, moments.minimiser[0], f"mean of {chains} chains, against w*")
    square = (w - moments.minimiser[0]) ** 2
    if noise:
        yield mean(square, formula(step), "variance of the chains, against the formula")
    else:
        yield at_most(square.max(), 1e-25, "interpolation: the chains stay at w*")
    across = np.geomspace(0.01, 0.98, 60) * limit
    marks, measured = np.array([0.1, 0.5, 0.9, 1.5, 2.2]), []
    rows = stochastic.index_stream(6, 150, key=jax.random.fold_in(key, 1), seeds=4000)
    for share in marks:
        measured.append(np.var(walk(x, y, moments.minimiser[0], share / 1.44, rows, every=150)[:, -1]))
    title = f"Variance {np.var(w):.4g} at η = {step:.3g} (formula {formula(step):.4g}); it blows up at {limit:.4g}"
    lines, rules = {"formula": (across, formula(across))}, {"2E[x²]/E[x⁴]": ("x", limit)}
    points, log = {"4000 chains, 150 steps": (marks / 1.44, measured)}, "xy" if noise else ""
    yield figure.curves(title, "step size η", "stationary variance", lines=lines, points=points, rules=rules, log=log)


@claim(sources=("penn",))
def sgd_step_size_trade_off(key, distance: Real(2.0, 50.0, log=True) = 10.0, runs: Int(50, 400) = 100):
    r"""Speed–accuracy trade-off of the step size.

    The time to enter the zone of confusion scales as 1/η and the stationary variance as η, so their product is about
    constant for small steps: a fast start costs accuracy in the same proportion.

    $$T_{\mathrm{entry}} \propto \frac{1}{\eta}, \qquad \mathrm{Var}\, w \propto \eta$$

    Check: `runs` runs on the six points from w* + `distance`, at eight step sizes from 0.001 to 0.1/max x².
    """
    x, y, moments = six()
    best, high = moments.minimiser[0], (y / x).max()
    etas = np.geomspace(1e-3, 1e-1, 8) / 1.44
    guess = np.log(distance / (high - best)) / moments.hessian[0, 0]
    long, times, entered = 100 + int(2 * guess / etas[0]), [], True
    for k, eta in enumerate(etas):
        rows = stochastic.index_stream(6, long, key=jax.random.fold_in(key, k), seeds=runs)
        inside = walk(x, y, best + distance, eta, rows) <= high
        times.append(inside.argmax(axis=1).mean())
        entered &= inside.any(axis=1).all()
    assume(entered, "every run enters the zone within twice the time of gradient descent")
    times, variances = np.array(times), np.array([moments.stationary(eta)[0, 0] for eta in etas])
    yield slope(etas, times, -1.0, "entry time against η", within=0.05)
    yield slope(etas, variances, 1.0, "stationary variance against η", within=0.05)
    product = times * variances
    yield close(product, product.mean(), "entry time × variance at eight η, against their mean", rtol=0.15)
    lines = {"log(distance/(w_max − w*))/(ηH)": (etas, guess / etas)}
    points = {f"mean of {runs} runs": (etas, times)}
    entry = figure.curves("entry time falls as 1/η", "η", "steps to the zone", lines=lines, points=points, log="xy")
    lines = {"ηE[x²r²]/(2E[x²])": (etas, etas * np.mean(x**2 * moments.residuals**2) / (2 * np.mean(x**2)))}
    points = {"exact": (etas, variances)}
    spread = figure.curves("variance rises as η", "η", "stationary variance", lines=lines, points=points, log="xy")
    title = f"Entry time × variance is {product.min():.3g} to {product.max():.3g} over a hundredfold range of η"
    yield figure.beside(title, entry, spread)
