"""Bayes risk and the predictors that attain it: the conditional mean and the likeliest label."""

import jax
import numpy as np

from leadline import data, learning
from leadline.evidence import Int, OneOf, Real, at_least, claim, close, frequency, instrument, smaller
from leadline.learning.risk.bayes_risk import nearest_neighbours_mean
from leadline.presentation import figure


def _wave(x):
    return np.sin(2 * np.pi * x[..., 0])


def _swell(x):
    return 0.2 + x[..., 0]


@instrument(sources=("cam",))
def bayes_risk(
    key,
    mu: Real(0.0, 4.0) = 1.0,
    sigma: Real(0.05, 5.0, log=True) = 0.4,
    noise: OneOf("gaussian", "laplace", "exponential", "bimodal") = "gaussian",
    samples: Int(10, 200, log=True) = 30,
):
    r"""Bayes risk.

    The Bayes risk is the least risk of all functions, computed by quadrature over a known distribution: the mean
    conditional variance for squared loss, the mean probability of the less likely labels for zero-one loss. A high
    value means a noisy task, not one that is hard to solve.

    $$R^* = \mathbb{E}\, \mathrm{Var}(Y|X), \qquad R^* = \mathbb{E} \min_c P(Y \ne c \,|\, X)$$

    Check: The test cases are two unit Gaussians at ±μ, in one and two dimensions, and regressions with homoscedastic
    and with growing noise. Learning curves are drawn above the Bayes risk.
    """
    from scipy.stats import norm

    line = learning.GaussianClasses(((-mu,), (mu,)), (-1, 1))
    exact = norm.cdf(-mu)
    on_line = learning.bayes_risk(line, loss="zero-one")
    yield close(on_line, exact, "R* of unit Gaussians at ±μ, against Φ(−μ)", atol=1e-6)
    a, b = 0.6 * mu, 0.8 * mu
    plane = learning.GaussianClasses(((-a, -b), (a, b)), (-1, 1))
    measured = learning.bayes_risk(plane, loss="zero-one", atol=2e-7)
    yield close(measured, exact, "R* of unit Gaussians at ±μ(0.6, 0.8) in the plane, against Φ(−μ)", atol=1e-6)
    law = learning.RegressionDistribution(_wave, learning.UniformInputs(), learning.noise_distribution(noise, sigma))
    variance = float(law.noise.var())
    what = "R* with even noise, against its variance"
    yield close(learning.bayes_risk(law, loss="squared"), variance, what, rtol=1e-6)
    swelling = learning.RegressionDistribution(_wave, learning.UniformInputs(), law.noise, _swell)
    exact = variance * (0.2**2 + 0.2 + 1 / 3)
    yield close(learning.bayes_risk(swelling, loss="squared"), exact, "R* with noise growing like 0.2 + x", rtol=1e-6)
    best = learning.bayes_predictor(swelling, loss="squared")
    what = "risk of the Bayes predictor, noise growing like 0.2 + x"
    yield close(learning.population_risk(best, swelling), exact, what, rtol=1e-6)
    ruler = learning.bayes_predictor(plane, loss="zero-one")
    labelled = learning.draw_sample(plane, 20_000, key=key)
    errors = np.sum(ruler(labelled.x) != labelled.y)
    yield frequency(errors, 20_000, measured, "error of the Bayes classifier on 20000 examples")
    # Conditioning is another matter: inputs squeezed to a thousandth leave R* as it is.
    narrow = learning.UniformInputs(1, 0.0, 1e-3)
    squeezed = learning.RegressionDistribution(lambda x: _wave(1000 * x), narrow, law.noise)
    ratio = [np.linalg.cond(learning.population_moments(learning.affine(), law_).S) for law_ in (law, squeezed)]
    yield close(learning.bayes_risk(squeezed, loss="squared"), variance, "inputs shrunk to a thousandth: R*", rtol=1e-6)
    yield at_least(ratio[1] / ratio[0], 1e4, "inputs shrunk to a thousandth: growth of the condition of E xxᵀ")
    sizes = np.unique(np.geomspace(samples, 30 * samples, 7).round().astype(int))
    hypotheses = learning.polynomials(5)
    rng = data.generator(jax.random.fold_in(key, 1))
    moments = learning.population_moments(hypotheses, law)
    curve = [np.median(moments(hypotheses.fit(*law.draw((60, int(n)), rng)))) for n in sizes]
    yield at_least(curve, variance, "median risk of fitted quintics, against R*")
    title = f"The risk of quintics falls from {curve[0]:.3g} to {curve[-1]:.3g}; the floor is R* = {variance:.3g}"
    lines = {"Bayes risk R*": (sizes, np.full(len(sizes), variance))}
    yield figure.curves(title, "n", "risk", lines=lines, points={"median of 60 fits": (sizes, curve)}, log="x")


@claim(sources=("cam",))
def bayes_regressor(
    key,
    law: OneOf("heteroscedastic", "bimodal", "one-sided") = "heteroscedastic",
    scale: Real(0.1, 2.0, log=True) = 0.5,
    bend: Real(-2.0, 2.0) = 0.5,
    samples: Int(300, 2000, log=True) = 1000,
):
    r"""The conditional mean is the best regressor.

    For squared loss the best function is the conditional mean and its risk is the mean conditional variance; the risk
    of any other function exceeds this by its mean squared distance from the conditional mean. Nearest-neighbour means
    tend to the conditional mean.

    $$f^*(x) = \mathbb{E}[Y|X=x], \qquad R(f) - R^* = \mathbb{E}\,(f(X) - f^*(X))^2$$

    Assumes: E Y² is finite.

    Check: f* + `bend` · x² and other perturbations are evaluated by quadrature on both sides of the identity. The
    nearest-neighbour means use $k = n^{2/3}$ neighbours.
    """
    noises = {
        "heteroscedastic": learning.noise_distribution("gaussian", scale),
        "bimodal": learning.noise_distribution("bimodal", 0.3 * scale, scale),
        "one-sided": learning.noise_distribution("exponential", scale),
    }
    truth = learning.RegressionDistribution(_wave, learning.UniformInputs(), noises[law], _swell)
    best = learning.bayes_predictor(truth, loss="squared")
    floor = learning.bayes_risk(truth, loss="squared")
    changes = {
        "f* + bend x²": lambda x: bend * x[..., 0] ** 2,
        "f* + cos 7x": lambda x: np.cos(7 * x[..., 0]),
        "0": lambda x: -best(x),
        "f* + jump": lambda x: np.where(x[..., 0] > 0.37, 0.5, -0.2),
    }
    scores = {}
    for name, change in changes.items():
        excess = learning.population_risk(lambda x, c=change: best(x) + c(x), truth, atol=1e-9) - floor
        distance = truth.expectation(lambda x, c=change: c(x) ** 2, atol=1e-9)
        scores[name] = excess, distance
        yield close(excess, distance, f"R(f) − R* for f = {name}, against E (f − f*)²", atol=1e-6)
    # The squared loss itself, integrated over the noise too, knows nothing of the conditional mean.
    bent = lambda x: best(x) + bend * x[..., 0] ** 2  # noqa: E731
    direct = learning.population_risk(bent, truth, loss=lambda c, y: (c - y) ** 2, atol=1e-7)
    what = "R(f) − R* for f = f* + bend x² by quadrature over x and noise"
    yield close(direct - floor, scores["f* + bend x²"][1], what, atol=1e-6)
    rng = data.generator(key)
    grid = np.linspace(0.02, 0.98, 60)[:, None]
    sizes = (samples // 10, samples, 10 * samples)
    errors = [[np.mean((_neighbours(truth, rng, n)(grid) - best(grid)) ** 2) for _ in range(12)] for n in sizes]
    for few, many, n in zip(errors, errors[1:], sizes[1:], strict=False):
        yield smaller(many, few, f"mean square distance of the neighbours' mean from f*, n = {n}, against n/10")
    x, y = truth.draw((600,), rng)
    order, some = np.linspace(0, 1, 100)[:, None], grid[::4]
    near = _neighbours(truth, rng, sizes[-1])(some)
    lines = {name: (order[:, 0], f(order)) for name, f in {"E[Y|X = x]": best, "f* + bend x²": bent}.items()}
    points = {"examples": (x[:, 0], y), f"mean of neighbours, n = {sizes[-1]}": (some[:, 0], near)}
    title = f"The conditional mean of {law} data and neighbours' means"
    cloud = figure.curves(title, "x", "y", lines=lines, points=points)
    lines = {"equal": ([0, max(d for _, d in scores.values())],) * 2}
    points = {name: ([distance], [excess]) for name, (excess, distance) in scores.items()}
    title = "Excess risk against distance"
    identity = figure.curves(title, "E (f − f*)²", "R(f) − R*", lines=lines, points=points)
    title = f"Functions exceed R* = {floor:.3g} by their mean squared distance from E[Y|X]"
    yield figure.beside(title, cloud, identity)


def _neighbours(law, rng, n):
    x, y = law.draw((n,), rng)
    return nearest_neighbours_mean(x, y, round(n ** (2 / 3)))


@claim(sources=("cam",))
def bayes_classifier(
    key, steepness: Real(0.2, 10.0, log=True) = 2.0, flat: Real(0.05, 0.9) = 0.3, classifiers: Int(100, 1000) = 1000
):
    r"""Bayes classifier.

    For zero-one loss and labels ±1 the best classifier is the sign of η = E[Y|X], with risk E(1 − |η|)/2. Where η = 0
    either label is optimal, but it must be a label: a value 0 under the strict loss hides errors.

    $$f^* = \operatorname{sgn} \eta, \qquad R^* = \mathbb{E}\, \frac{1 - |\eta(X)|}{2}, \qquad \eta = \mathbb{E}[Y|X]$$

    Assumes: labels −1 and +1.

    Check: On [−1, 1] the regression function is η = tanh(s (x − 0.3)) with steepness s. In the square it is tanh(s (x₁
    − x₂²)), with a strip where η = 0.
    """
    interval = learning.UniformInputs(1, -1.0, 1.0)
    line = learning.BinaryDistribution(interval, lambda x: np.tanh(steepness * (x[..., 0] - 0.3)))
    rule = learning.bayes_predictor(line, loss="zero-one")
    ends = np.logaddexp(0, -2 * steepness * np.array([0.7, 1.3])) + steepness * np.array([0.7, 1.3]) - np.log(2)
    exact = (1 - ends.sum() / (2 * steepness)) / 2  # the integral of tanh is log cosh
    yield close(learning.bayes_risk(line, loss="zero-one"), exact, "R* on the line, against E(1 − |η|)/2", atol=1e-6)
    yield close(learning.population_risk(rule, line, loss="zero-one"), exact, "risk of sgn η on the line", atol=1e-6)
    law = learning.BinaryDistribution(learning.UniformInputs(2, -1.0, 1.0), lambda x: _eta(x, steepness, 0.0))
    best = learning.bayes_predictor(law, loss="zero-one")
    ticks = (np.arange(100) + 0.5) / 50 - 1
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    # For the uniform distribution on the grid every statement is a finite sum, hence exact.
    eta = law.eta(grid)
    floor = np.mean((1 - np.abs(eta)) / 2)
    ruled = np.mean(law.conditional_risk(best(grid), grid, "zero-one"))
    yield close(ruled, floor, "risk of sgn η on a grid of 10000 points of the square, against E(1 − |η|)/2", atol=1e-12)
    rng = data.generator(key)
    w, b, q = rng.normal(size=(2, classifiers)), rng.normal(size=classifiers), rng.normal(size=classifiers)
    scores = grid @ w + b + q * grid[:, :1] * grid[:, 1:]  # (points, classifiers)
    errors = np.mean((1 - np.where(scores > 0, 1, -1) * eta[:, None]) / 2, axis=0)
    yield at_least(errors, floor, f"risk of {classifiers} random quadratic classifiers, against R*")
    gap = _eta(grid, steepness, flat)
    tie = gap == 0
    both = [np.mean((1 - np.where(tie, label, np.sign(gap)) * gap) / 2) for label in (-1, 1)]
    level = np.mean((1 - np.abs(gap)) / 2)
    yield close(both, level, "risk where η = 0 on a strip, either label there", atol=1e-12)
    # The strict loss counts y f < 0 alone as an error: f = 0 on the strip is never wrong.
    strict = np.mean(np.where(tie, 0.0, (1 - np.abs(gap)) / 2))
    yield close(level - strict, np.mean(tie) / 2, "what the strict loss hides: half the mass of the strip", atol=1e-12)
    coarse = np.linspace(-1, 1, 41)
    surface = law.eta(np.stack(np.meshgrid(coarse, coarse), axis=-1))
    sample = learning.draw_sample(law, 150, key=key)
    wrong = best(sample.x) != sample.y

    def panel(title, values, points):
        edge, square = np.linspace(-1, 1, 80), ((-1, 1), (-1, 1))
        lines, regions = {"η = 0": (edge**2, edge)}, (coarse, coarse, values)
        return figure.plane(title, "x₁", "x₂", lines=lines, points=points, regions=regions, domain=square)

    points = {"right": sample.x[~wrong], "Bayes error": sample.x[wrong]}
    shown = panel("η from −1 (orange) to +1 (blue), and η = 0", surface, points)
    density = panel("Error density (1 − |η|)/2: highest (blue) on the boundary", (1 - np.abs(surface)) / 2, {})
    least = f"the best of {classifiers} random ones with {errors.min():.4f}"
    yield figure.beside(f"The Bayes classifier errs with probability {floor:.4f}, {least}", shown, density)


def _eta(x, steepness, flat):
    height = x[..., 0] - x[..., 1] ** 2
    return np.where(np.abs(height) < flat / 2, 0.0, np.tanh(steepness * height))
