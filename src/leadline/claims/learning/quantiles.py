"""Quantiles, and regression on them."""

from typing import Annotated

import numpy as np

from leadline import data, learning
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, frequency, mean, method

LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


@method(
    "quantile-function",
    says=(
        "The quantile function Q(τ) is the least y with F(y) ≥ τ. Q and F are as inverse as jumps and flat pieces "
        "allow: Q(τ) ≤ y exactly when τ ≤ F(y)."
    ),
    formula=r"Q(\tau) = \inf\{y : F(y) \ge \tau\}, \qquad Q(F(y)) \le y, \quad F(Q(\tau)) \ge \tau",
    sources=("penn",),
    assumes=("0 < τ < 1",),
    shows=("learning.discrete_quantile", "learning.invert_cdf"),
)
def quantile_function(
    key,
    samples: Annotated[int, Range(1, 2000, log=True)] = 50,
    values: Annotated[int, Range(1, 100)] = 12,
    share: Annotated[float, Range(0.01, 0.99)] = 0.3,
    rate: Annotated[float, Range(0.01, 100.0, log=True)] = 2.0,
):
    """A sample with ties, a two-point law with P(0) = `share`, and continuous laws whose quantiles have formulas."""
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
    yield exactly(found[:, None] <= at[None, :], tau[:, None] <= F[None, :], "Q(τ) ≤ y if and only if τ ≤ F(y)")
    yield exactly(np.isin(found, sample), True, "quantiles of a sample are values of it")
    yield at_least(np.diff(found), 0.0, "growth of Q with τ")

    two = learning.discrete_quantile(np.array([1.0, 0.0]), tau, probabilities=np.array([1 - share, share]))
    yield exactly(two, (tau > share).astype(float), "quantiles of a two-point law")
    yield exactly(
        learning.discrete_quantile(np.array([0.0, 1.0]), share, probabilities=np.array([share, 1 - share])), 0.0,
        "quantile at the level where F is flat: the lower end",
    )  # fmt: skip
    step = learning.invert_cdf(lambda y: np.where(y < 0, 0.0, np.where(y < 1, share, 1.0)), tau)
    yield close(step, two, "the same by bisection", atol=1e-15)
    yield close(learning.invert_cdf(ndtr, tau), ndtri(tau), "quantiles of the normal law", atol=1e-9)
    yield close(
        learning.invert_cdf(lambda y: -np.expm1(-rate * np.maximum(y, 0)), tau), -np.log1p(-tau) / rate,
        "quantiles of the exponential law", rtol=1e-9,
    )  # fmt: skip


@claim(
    "pinball-minimiser-is-quantile",
    says=(
        "The constant of least expected pinball loss is the τ-quantile; the loss has slope F(c) − τ. Where "
        "F is flat at "
        "level τ a whole interval is best."
    ),
    formula=(
        r"\operatorname{argmin}_c \mathbb{E}\,(Y - c)(\tau - 1\{Y < c\}) = \{c : F(c^-) \le \tau \le "
        r"F(c)\}, \qquad \frac{d}{dc} = F(c) - \tau"
    ),
    sources=("penn",),
    assumes=("E|Y| finite",),
)
def pinball_minimiser_is_quantile(
    key,
    tau: Annotated[float, Range(0.01, 0.99)] = 0.8,
    samples: Annotated[int, Range(100, 20_000, log=True)] = 2000,
    gap: Annotated[float, Range(0.5, 4.0)] = 2.0,
    atoms: Annotated[int, Range(2, 30)] = 6,
):
    """Expected losses in closed form, τ(EY − c) + E(c − Y)⁺, minimised by a search that knows no quantiles."""
    from scipy.optimize import minimize_scalar

    rng = data.generator(key)
    laws = _laws(gap)
    minima = {}
    for name, law in laws.items():

        def loss(c, law=law):
            return _expected_pinball(law, c, tau)

        quantile = float(learning.invert_cdf(law["cdf"], tau))
        found = minimize_scalar(loss, bracket=(law["mean"] - 1, law["mean"] + 1), tol=1e-12).x
        minima[name] = float(found)
        yield close(found, quantile, f"numeric minimiser against Q(τ), {name}", atol=2e-6 * (1 + abs(quantile)))
        c, h = law["mean"] + np.linspace(-1.9, 2.1, 9), 1e-5  # off the exponential law's corner at 0
        slope = (loss(c + h) - loss(c - h)) / (2 * h)
        yield close(slope, law["cdf"](c) - tau, f"slope of the loss against F(c) − τ, {name}", atol=1e-8)
        drawn = law["draw"](rng, samples)
        yield frequency(int(np.sum(drawn <= quantile)), samples, tau, f"share of draws up to Q(τ), {name}")
        own = float(learning.discrete_quantile(drawn, tau))
        candidates = np.append(drawn[:200], [own, drawn.mean()])
        losses = _sample_pinball(drawn, candidates, tau)
        yield at_most(losses[-2], losses.min(), f"pinball loss of the sample at its own quantile, {name}", rtol=1e-12)

    values, weights = np.sort(rng.normal(size=atoms)), rng.dirichlet(np.ones(atoms))
    quantile = float(learning.discrete_quantile(values, tau, probabilities=weights))
    everywhere = np.linspace(values[0] - 1, values[-1] + 1, 401)
    discrete = _sample_pinball(values, np.append(everywhere, quantile), tau, weights)
    yield at_most(discrete[-1], discrete.min(), "loss at Q(τ) against other constants, discrete law", rtol=1e-12)
    flat = _sample_pinball(np.array([0.0, gap]), np.linspace(0, gap, 50), tau, np.array([tau, 1 - tau]))
    yield close(flat, tau * (1 - tau) * gap, "loss over the interval where F = τ", rtol=1e-12)
    outside = _sample_pinball(np.array([0.0, gap]), np.array([-0.1, gap + 0.1]), tau, np.array([tau, 1 - tau]))
    yield at_least(outside, tau * (1 - tau) * gap, "loss outside that interval", strict=True)

    c = np.linspace(-3, 4, 120)
    shown = {name: laws[name] for name in ("normal", "exponential", "two normals")}
    yield figure.curves(
        f"The expected pinball loss at τ = {tau:g} is least at the quantile: {minima['normal']:.3f} for the normal law",
        x="constant c", y="expected pinball loss",
        lines={name: (c, _expected_pinball(law, c, tau)) for name, law in shown.items()},
        points={
            name: ([minima[name]], [float(_expected_pinball(law, minima[name], tau))]) for name, law in shown.items()
        },
        rules={"Q(τ), normal": ("x", float(learning.invert_cdf(laws["normal"]["cdf"], tau)))},
    )  # fmt: skip


@method(
    "quantile-regression",
    says=(
        "Quantile regression fits f_τ by the pinball loss, a linear programme. On data whose spread grows with x the "
        "lines fan out; lines that cross are repaired by sorting, or by fitting all levels together in order."
    ),
    formula=(
        r"\min_{w,b} \tfrac1n \sum_i \tau u_i + (1 - \tau) v_i, \quad w \cdot x_i + b + u_i - v_i = y_i, \ "
        r"u, v \ge 0"
    ),
    sources=("penn",),
    assumes=("spread linear in x, for the slopes β + s q_τ",),
    shows=("learning.quantile_regression", "learning.QuantileFits", "learning.crossings", "learning.rearrange"),
)
def quantile_regression(
    key,
    samples: Annotated[int, Range(200, 500)] = 300,
    spread: Annotated[float, Range(0.0, 3.0)] = 1.5,
    repeats: Annotated[int, Range(12, 30)] = 16,
    few: Annotated[int, Range(15, 40)] = 25,
):
    """y = 1 + 2x + (1/2 + `spread`·x)ε, ε normal, x uniform; then `few` points of three inputs, where lines cross."""
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
    others = [
        [np.mean(_pinball(y - w * x[:, 0] - fits[-1].bias[k], tau)) for w in tried[k]] for k, tau in enumerate(LEVELS)
    ]
    yield at_least(np.min(others, axis=1), loss[-1], "pinball loss of other slopes, against the optimum", rtol=1e-9)

    tight = np.linspace(0.1, 0.9, 9)
    inputs, noise = rng.normal(size=(few, 3)), rng.normal(size=few)
    free = learning.quantile_regression(inputs, noise, tight)
    kept = learning.quantile_regression(inputs, noise, tight, non_crossing=True)
    crossed = int(learning.crossings(free.predict(inputs)).sum())
    yield exactly(
        int(learning.crossings(kept.predict(inputs)).sum()), 0, "examples with crossing quantiles, fitted in order"
    )
    yield exactly(int(learning.crossings(learning.rearrange(free.predict(inputs))).sum()), 0, "after sorting")
    yield at_least(kept.loss.sum(), free.loss.sum(), "total loss of the ordered fits against the free ones", rtol=1e-7)

    ends = np.array([[0.0], [1.0]])
    f = fits[-1].predict(ends)
    yield figure.curves(
        f"Spread {spread:g} fans the lines out: slopes from {slopes[-1, 0]:.2f} to {slopes[-1, -1]:.2f}; free fits to "
        f"{few} points cross at {crossed} of them",
        x="x", y="y",
        lines={f"τ = {tau:g}": (ends[:, 0], f[:, k]) for k, tau in enumerate(LEVELS)}, points={"data": (x[:, 0], y)},
    )  # fmt: skip


@claim(
    "quantile-coverage",
    says=(
        "With an intercept, at most nτ of n points lie below the fit at level τ, and at least nτ on it or below, "
        "exactly. On fresh data the share of points below tends to τ if the model is right."
    ),
    formula=r"\#\{r_i < 0\} \le n \tau \le \#\{r_i \le 0\}, \qquad P(Y \le f_\tau(X)) \to \tau",
    sources=("penn",),
    assumes=("an intercept", "correct specification, for fresh data"),
)
def quantile_coverage(
    key,
    samples: Annotated[int, Range(300, 500)] = 400,
    dim: Annotated[int, Range(1, 2)] = 1,
    repeats: Annotated[int, Range(8, 16)] = 10,
    splits: Annotated[int, Range(10, 20)] = 10,
):
    """Fits to synthetic data with linear quantiles and fresh draws; then random 300/142 splits of the diabetes data."""
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
    test, train = np.array(test), np.array(train)
    number = 5 * (repeats + splits)
    yield at_most(below, counts, f"points below the fit, against nτ, {number} fits", atol=1e-9)
    yield at_least(upto, counts, f"points on or below the fit, against nτ, {number} fits", atol=1e-9)
    for k, tau in enumerate(LEVELS):
        yield mean(fresh[:, k], tau, f"share of fresh points below the fit at τ = {tau:g}, model right")
    for k, (tau, reference) in enumerate(zip(LEVELS, (0.116, 0.273, 0.499, 0.730, 0.883), strict=True)):
        yield mean(
            test[:, k], reference, f"diabetes: share of held-out points below τ = {tau:g}, against the reference"
        )

    middle, half = test.mean(axis=0), test.std(axis=0, ddof=1)
    widest = float(np.abs(middle - LEVELS).max())
    yield figure.curves(
        f"Held-out coverage on the diabetes data is off by at most {widest:.3f}; right models are off by "
        f"{np.abs(fresh.mean(axis=0) - LEVELS).max():.3f}",
        x="nominal level τ", y="share of points on or below the fit, minus τ",
        lines={"nominal": ([0.05, 0.95], [0.0, 0.0])},
        points={
            "diabetes, held out, ± sd of splits": (
                LEVELS, middle - LEVELS, middle - half - LEVELS, middle + half - LEVELS
            ),
            "diabetes, training": (LEVELS + 0.012, train.mean(axis=0) - LEVELS),
            "right model, fresh": (LEVELS - 0.012, fresh.mean(axis=0) - LEVELS),
        },
    )  # fmt: skip


def _pinball(residual, tau):
    return residual * (tau - (residual < 0))


def _sample_pinball(values, constants, tau, weights=None):
    weights = np.full(len(values), 1 / len(values)) if weights is None else weights
    return _pinball(values[None, :] - constants[:, None], tau) @ weights


def _expected_pinball(law, c, tau):
    return tau * (law["mean"] - c) + law["below"](c)


def _laws(gap):
    """cdf, mean, E(c − Y)⁺ in closed form, and a sampler, of laws with a density."""
    from scipy.special import ndtr, stdtr

    def density(c):
        return np.exp(-np.square(c) / 2) / np.sqrt(2 * np.pi)

    def normal(c):
        return c * ndtr(c) + density(c)

    def student(c):
        # f(c) = 2/(π√3 (1 + c²/3)²) and E(c − Y)⁺ = c F(c) + (3 + c²)/2 f(c)
        return c * stdtr(3, c) + (3 + np.square(c)) / 2 * 2 / (np.pi * np.sqrt(3) * np.square(1 + np.square(c) / 3))

    def exponential(c):
        return np.where(np.asarray(c) > 0, c + np.expm1(-np.maximum(c, 0)), 0.0)

    return {
        "normal": {"cdf": ndtr, "mean": 0.0, "below": normal, "draw": lambda rng, n: rng.normal(size=n)},
        "exponential": {
            "cdf": lambda c: -np.expm1(-np.maximum(c, 0)), "mean": 1.0, "below": exponential,
            "draw": lambda rng, n: rng.exponential(size=n),
        },
        "Student t with 3 degrees": {
            "cdf": lambda c: stdtr(3, c), "mean": 0.0, "below": student,
            "draw": lambda rng, n: rng.standard_t(3, size=n),
        },
        "two normals": {
            "cdf": lambda c: (ndtr(c + gap / 2) + ndtr(c - gap / 2)) / 2, "mean": 0.0,
            "below": lambda c: (normal(c + gap / 2) + normal(c - gap / 2)) / 2,
            "draw": lambda rng, n: rng.normal(size=n) + gap * (rng.random(n) < 0.5) - gap / 2,
        },
    }  # fmt: skip
