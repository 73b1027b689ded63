"""Quantiles, and regression on them."""

import numpy as np

from leadline import data, learning
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, frequency, mean, method
from leadline.learning.regression.quantile import crossings
from leadline.presentation import figure

LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


@method(sources=("penn",))
def quantile_function(
    key,
    samples: Int(1, 2000, log=True) = 50,
    values: Int(1, 100) = 12,
    share: Real(0.01, 0.99) = 0.3,
    rate: Real(0.01, 100.0, log=True) = 2.0,
):
    r"""Quantile function.

    The quantile function Q(τ) is the least y with F(y) ≥ τ. Q and F are inverse to each other as far as jumps and flat
    pieces allow: Q(τ) ≤ y exactly when τ ≤ F(y).

    $$Q(\tau) = \inf\{y : F(y) \ge \tau\}, \qquad Q(F(y)) \le y, \quad F(Q(\tau)) \ge \tau$$

    Assumes: 0 < τ < 1.

    Check: The test cases are a sample with ties, a two-point distribution with P(0) = `share`, and continuous
    distributions whose quantiles have formulas.
    """
    from scipy.special import ndtr, ndtri

    rng = data.generator(key)
    sample = rng.integers(0, values, samples).astype(float)
    tau = np.sort(rng.uniform(1e-3, 1 - 1e-3, 300))
    at = np.arange(-1.0, values + 1)
    F = np.mean(sample[None, :] <= at[:, None], axis=1)
    found = learning.discrete_quantile(sample, tau)
    yield at_least(np.mean(sample[None, :] <= found[:, None], axis=1), tau, "F(Q(τ)) of a sample, against τ")
    inside = (F > 0) & (F < 1)
    if inside.any():
        yield at_most(learning.discrete_quantile(sample, F[inside]), at[inside], "Q(F(y)) of a sample, against y")
    differ = np.sum((found[:, None] <= at) != (tau[:, None] <= F))
    yield exactly(differ, 0, "pairs (τ, y) with only one of Q(τ) ≤ y and τ ≤ F(y)")
    yield exactly(np.sum(~np.isin(found, sample)), 0, "quantiles of a sample that are not values of it")
    yield at_least(np.diff(found), 0.0, "growth of Q with τ")
    two = learning.discrete_quantile(np.array([1.0, 0.0]), tau, probabilities=np.array([1 - share, share]))
    yield exactly(two, (tau > share).astype(float), "quantiles of a two-point distribution")
    flat = learning.discrete_quantile(np.array([0.0, 1.0]), share, probabilities=np.array([share, 1 - share]))
    yield exactly(flat, 0.0, "quantile at the level where F is flat: the lower end")
    step = learning.invert_cdf(lambda y: np.where(y < 0, 0.0, np.where(y < 1, share, 1.0)), tau)
    yield close(step, two, "quantiles of a two-point distribution by bisection", atol=1e-15)
    yield close(learning.invert_cdf(ndtr, tau), ndtri(tau), "quantiles of the normal distribution", atol=1e-9)
    found = learning.invert_cdf(lambda y: -np.expm1(-rate * np.maximum(y, 0)), tau)
    yield close(found, -np.log1p(-tau) / rate, "quantiles of the exponential distribution", rtol=1e-9)


@claim(sources=("penn",))
def pinball_minimiser_is_quantile(
    key,
    tau: Real(0.01, 0.99) = 0.8,
    samples: Int(100, 20_000, log=True) = 2000,
    gap: Real(0.5, 4.0) = 2.0,
    atoms: Int(2, 30) = 6,
):
    r"""Pinball loss is minimised by quantiles.

    The constant of least expected pinball loss is the τ-quantile; the expected loss has slope F(c) − τ. Where F is
    flat at level τ, a whole interval is optimal.

    $$\operatorname{argmin}_c \mathbb{E}\,(Y - c)(\tau - 1\{Y < c\}) = \{c : F(c^-) \le \tau \le F(c)\}, \qquad
    \frac{d}{dc} = F(c) - \tau$$

    Assumes: E|Y| is finite.

    Check: The expected losses are known in closed form, τ(EY − c) + E(c − Y)⁺, and minimised without quantiles.
    """
    from scipy.optimize import minimize_scalar

    rng = data.generator(key)
    laws, minima = _laws(gap), {}
    for name, law in laws.items():

        def loss(c, law=law):
            return _expected_pinball(law, c, tau)

        quantile = float(learning.invert_cdf(law["cdf"], tau))
        found = minimize_scalar(loss, bracket=(law["mean"] - 1, law["mean"] + 1), tol=1e-12).x
        minima[name] = float(found)
        yield close(found, quantile, f"numeric minimiser against Q(τ), {name}", atol=2e-6 * (1 + abs(quantile)))
        c, h = law["mean"] + np.linspace(-1.9, 2.1, 9), 1e-5  # off the exponential distribution's corner at 0
        slope = (loss(c + h) - loss(c - h)) / (2 * h)
        yield close(slope, law["cdf"](c) - tau, f"slope of the loss against F(c) − τ, {name}", atol=1e-8)
        drawn = law["draw"](rng, samples)
        yield frequency(np.sum(drawn <= quantile), samples, tau, f"share of draws up to Q(τ), {name}")
        own = learning.discrete_quantile(drawn, tau)
        candidates = np.append(drawn[:200], [own, drawn.mean()])
        losses = _sample_pinball(drawn, candidates, tau)
        yield at_most(losses[-2], losses.min(), f"pinball loss of the sample at its own quantile, {name}", rtol=1e-12)
    values, weights = np.sort(rng.normal(size=atoms)), rng.dirichlet(np.ones(atoms))
    quantile = learning.discrete_quantile(values, tau, probabilities=weights)
    everywhere = np.linspace(values[0] - 1, values[-1] + 1, 401)
    discrete = _sample_pinball(values, np.append(everywhere, quantile), tau, weights)
    yield at_most(discrete[-1], discrete.min(), "loss at Q(τ) against other constants, discrete values", rtol=1e-12)
    ends, weights = np.array([0.0, gap]), np.array([tau, 1 - tau])
    flat = _sample_pinball(ends, np.linspace(0, gap, 50), tau, weights)
    yield close(flat, tau * (1 - tau) * gap, "loss over the interval where F = τ", rtol=1e-12)
    outside = _sample_pinball(ends, np.array([-0.1, gap + 0.1]), tau, weights)
    yield at_least(outside, tau * (1 - tau) * gap, "loss outside the interval where F = τ", strict=True)
    c = np.linspace(-3, 4, 120)
    shown = {name: laws[name] for name in ("normal", "exponential", "two normals")}
    at = {name: minima[name] for name in shown}
    title = f"The expected pinball loss at τ = {tau:g} is least at the quantile: {at['normal']:.3f} for N(0, 1)"
    lines = {name: (c, _expected_pinball(law, c, tau)) for name, law in shown.items()}
    points = {name: ([at[name]], [_expected_pinball(law, at[name], tau)]) for name, law in shown.items()}
    rules = {"Q(τ), normal": ("x", float(learning.invert_cdf(laws["normal"]["cdf"], tau)))}
    yield figure.curves(title, "constant c", "expected pinball loss", lines=lines, points=points, rules=rules)


@method(sources=("penn",))
def quantile_regression(
    key, samples: Int(200, 500) = 300, spread: Real(0.0, 3.0) = 1.5, repeats: Int(12, 30) = 16, few: Int(15, 40) = 25
):
    r"""Quantile regression.

    Quantile regression fits $f_\tau$ by the pinball loss, a linear programme. On data whose spread grows with x the
    lines fan out; lines that cross are repaired by sorting, or by fitting all levels together in order.

    $$\min_{w,b} \tfrac1n \sum_i \tau u_i + (1 - \tau) v_i, \quad w \cdot x_i + b + u_i - v_i = y_i, \ u, v \ge 0$$

    Assumes: spread linear in x, for the slopes $\beta + s\, q_\tau$.

    Check: The data are y = 1 + 2x + (1/2 + s x) ε with ε normal, x uniform and s the parameter `spread`. Then `few`
    points with three inputs follow, where lines cross.
    """
    from scipy.special import ndtri

    rng = data.generator(key)
    fits = []
    for _ in range(repeats):
        x = rng.random((samples, 1))
        y = 1 + 2 * x[:, 0] + (0.5 + spread * x[:, 0]) * rng.normal(size=samples)
        fits.append(learning.quantile_regression(x, y, LEVELS))
    loss, optimum = (np.array([getattr(f, name) for f in fits]) for name in ("loss", "optimum"))
    yield close(loss, optimum, "mean pinball loss of the fits against the programmes' optimal values", rtol=1e-7)
    slopes, starts = np.array([f.weights[:, 0] for f in fits]), np.array([f.bias for f in fits])
    true_slopes, true_starts = 2 + spread * ndtri(LEVELS), 1 + 0.5 * ndtri(LEVELS)
    for k, tau in enumerate(LEVELS):
        yield mean(slopes[:, k], true_slopes[k], f"slope at τ = {tau:g}, against 2 + s q_τ")
        yield mean(starts[:, k], true_starts[k], f"intercept at τ = {tau:g}, against 1 + q_τ/2")
    tried = fits[-1].weights[:, 0][:, None] + 0.1 * rng.normal(size=(5, 40))
    others = np.array([learning.pinball(fits[-1].bias + w * x, y[:, None], LEVELS).mean(axis=0) for w in tried.T])
    yield at_least(others.min(axis=0), loss[-1], "pinball loss of other slopes, against the optimum", rtol=1e-9)
    tight = np.linspace(0.1, 0.9, 9)
    inputs, noise = rng.normal(size=(few, 3)), rng.normal(size=few)
    free = learning.quantile_regression(inputs, noise, tight)
    kept = learning.quantile_regression(inputs, noise, tight, non_crossing=True)
    crossed, ordered, sorted_ = (
        crossings(p).sum()
        for p in (free.predict(inputs), kept.predict(inputs), learning.rearrange(free.predict(inputs)))
    )
    yield exactly(ordered, 0, "examples with crossing quantiles, fitted in order")
    yield exactly(sorted_, 0, "examples with crossing quantiles, after sorting")
    yield at_least(kept.loss.sum(), free.loss.sum(), "total loss of the ordered fits against the free ones", rtol=1e-7)
    ends = np.array([[0.0], [1.0]])
    f = fits[-1].predict(ends)
    fan = f"slopes from {slopes[-1, 0]:.2f} to {slopes[-1, -1]:.2f}"
    title = f"Spread {spread:g} fans the lines out: {fan}; free fits to {few} points cross at {crossed} of them"
    lines = {f"τ = {tau:g}": (ends[:, 0], f[:, k]) for k, tau in enumerate(LEVELS)}
    yield figure.curves(title, "x", "y", lines=lines, points={"data": (x[:, 0], y)})


@claim(sources=("penn",))
def quantile_coverage(
    key, samples: Int(300, 500) = 400, dim: Int(1, 2) = 1, repeats: Int(8, 16) = 10, splits: Int(10, 20) = 10
):
    r"""Coverage of quantile regression.

    With an intercept, at most nτ of n points lie below the fit at level τ, and at least nτ on it or below, exactly. On
    fresh data the share of points below tends to τ if the model is right.

    $$\#\{r_i < 0\} \le n \tau \le \#\{r_i \le 0\}, \qquad P(Y \le f_\tau(X)) \to \tau$$

    Assumes: an intercept; correct specification, for fresh data.

    Check: Fits to data with linear quantiles are tested on fresh draws. The diabetes data are split 300/142.
    """
    rng = data.generator(key)
    below, upto, counts, fresh = [], [], [], []

    def count(fits, x, y):
        residual = y[:, None] - fits.predict(x)
        zero = 1e-7 * np.ptp(y)
        below.append(np.sum(residual < -zero, axis=0))
        upto.append(np.sum(residual <= zero, axis=0))
        counts.append(len(y) * LEVELS)

    for _ in range(repeats):
        x = rng.random((samples + 4000, dim))
        y = 1 + x.sum(axis=1) + (0.5 + x[:, 0]) * rng.normal(size=len(x))
        fits = learning.quantile_regression(x[:samples], y[:samples], LEVELS)
        count(fits, x[:samples], y[:samples])
        fresh.append(np.mean(y[samples:, None] <= fits.predict(x[samples:]), axis=0))
    fresh = np.array(fresh)
    inputs, targets, _ = data.diabetes()
    test, train = [], []
    for _ in range(splits):
        order = rng.permutation(len(targets))
        a, b = order[:300], order[300:]
        fits = learning.quantile_regression(inputs[a], targets[a], LEVELS)
        count(fits, inputs[a], targets[a])
        train.append(upto[-1] / 300)
        test.append(np.mean(targets[b, None] <= fits.predict(inputs[b]), axis=0))
    test = np.array(test)
    number = 5 * (repeats + splits)
    yield at_most(below, counts, f"points below the fit, against nτ, {number} fits", atol=1e-9)
    yield at_least(upto, counts, f"points on or below the fit, against nτ, {number} fits", atol=1e-9)
    for k, tau in enumerate(LEVELS):
        yield mean(fresh[:, k], tau, f"share of fresh points below the fit at τ = {tau:g}, model right")
    for shares, tau, expected in zip(test.T, LEVELS, (0.116, 0.273, 0.499, 0.730, 0.883), strict=True):
        yield mean(shares, expected, f"diabetes: share of held-out points below τ = {tau:g}, against {expected:g}")
    middle, half = test.mean(axis=0) - LEVELS, test.std(axis=0, ddof=1)
    right = fresh.mean(axis=0) - LEVELS
    points = {
        "diabetes, held out, ± sd of splits": (LEVELS, middle, middle - half, middle + half),
        "diabetes, training": (LEVELS + 0.012, np.mean(train, axis=0) - LEVELS),
        "right model, fresh": (LEVELS - 0.012, right),
    }
    off, least = np.abs(middle).max(), np.abs(right).max()
    title = f"Held-out coverage on the diabetes data is off by at most {off:.3f}, that of right models by {least:.3f}"
    lines, share = {"nominal": ([0.05, 0.95], [0.0, 0.0])}, "share of points on or below the fit, minus τ"
    yield figure.curves(title, "nominal level τ", share, lines=lines, points=points)


def _sample_pinball(values, constants, tau, weights=None):
    return np.average(learning.pinball(constants[:, None], values, tau), axis=1, weights=weights)


def _expected_pinball(law, c, tau):
    return tau * (law["mean"] - c) + law["below"](c)


def _laws(gap):
    """cdf, mean, E(c − Y)⁺ in closed form, and a sampler, of distributions with a density."""
    from scipy.special import ndtr, stdtr

    def normal(c):
        return c * ndtr(c) + np.exp(-np.square(c) / 2) / np.sqrt(2 * np.pi)

    def student(c):
        # f(c) = 2/(π√3 (1 + c²/3)²) and E(c − Y)⁺ = c F(c) + (3 + c²)/2 f(c)
        return c * stdtr(3, c) + (3 + np.square(c)) / 2 * 2 / (np.pi * np.sqrt(3) * np.square(1 + np.square(c) / 3))

    def waiting(c):
        return -np.expm1(-np.maximum(c, 0))

    def exponential(c):
        return np.where(np.asarray(c) > 0, c - waiting(c), 0.0)

    def two(f):
        return lambda c: (f(c + gap / 2) + f(c - gap / 2)) / 2

    def pair(rng, n):
        return rng.normal(size=n) + gap * (rng.random(n) < 0.5) - gap / 2

    laws = {
        "normal": (ndtr, 0.0, normal, lambda rng, n: rng.normal(size=n)),
        "exponential": (waiting, 1.0, exponential, lambda rng, n: rng.exponential(size=n)),
        "Student t with 3 degrees": (lambda c: stdtr(3, c), 0.0, student, lambda rng, n: rng.standard_t(3, size=n)),
        "two normals": (two(ndtr), 0.0, two(normal), pair),
    }
    return {name: dict(zip(("cdf", "mean", "below", "draw"), law, strict=True)) for name, law in laws.items()}
