"""Risks and their estimates: intervals, the optimism of the training risk, and splits that keep a test part clean."""

import jax
import numpy as np

from leadline import data, learning
from leadline.evidence import Int, OneOf, Real, claim, instrument, method
from leadline.evidence.relations import at_most, close, distributed_as, exactly, frequency, mean, slope, smaller
from leadline.learning.risk.risk import expected_fit_risks, risk_distribution
from leadline.presentation import figure


@instrument(sources=("eth", "cam"), shows=("learning.monte_carlo_risk",))
def risk_estimates(
    key,
    train: Int(12, 500, log=True) = 30,
    held_out: Int(500, 4000, log=True) = 1000,
    noise: OneOf("gaussian", "laplace", "exponential") = "gaussian",
    scale: Real(0.05, 2.0, log=True) = 0.3,
):
    r"""Estimating the risk of a function.

    The risk of a function is computed by quadrature or Monte Carlo where the distribution is known, and by the mean
    loss on held-out examples with a confidence interval where it is not. The risk of the learned function varies with
    the sample.

    $$\hat R(f) = \frac1n \sum_i L(f, z_i), \qquad R(f) = \mathbb{E}\, L(f, z)$$

    Assumes: held-out examples are fresh draws from the distribution.

    Check: A cubic is fitted to sin(2πx) plus noise, and a threshold is placed between two Gaussian classes.
    """
    keys = jax.random.split(key, 6)
    wave, error = lambda x: np.sin(2 * np.pi * x[..., 0]), learning.noise_distribution(noise, scale)
    law = learning.RegressionDistribution(wave, learning.UniformInputs(), error)
    task = learning.LearningTask(law, learning.polynomials(3))
    (sample,) = task.draw(train, key=keys[0])
    fitted = task.learn(sample)
    exact = learning.population_risk(fitted, law)
    moments = learning.population_moments(task.hypotheses, law)
    yield close(exact, moments(fitted.parameters), "R(f) by quadrature, against its quadratic form", rtol=1e-8)
    x, y = learning.draw_sample(law, 40_000, key=keys[1])
    yield mean((fitted(x) - y) ** 2, exact, "squared loss of 40000 fresh examples, against the quadrature")
    absolute = learning.population_risk(fitted, law, loss=lambda c, y: np.abs(c - y), atol=1e-7)
    yield mean(np.abs(fitted(x) - y), absolute, "absolute loss of 40000 fresh examples, against the quadrature")
    classes, threshold = learning.GaussianClasses(((-1.0,), (1.0,)), (-1, 1), (0.3, 0.7)), 0.3

    def classify(x):
        return np.where(x[..., 0] > threshold, 1, -1)

    error = learning.population_risk(classify, classes, loss="zero-one")
    u, labels = learning.draw_sample(classes, 40_000, key=keys[2])
    mistakes = np.sum(classify(u) != labels)
    yield frequency(mistakes, 40_000, error, "zero-one loss of 40000 fresh examples, against the quadrature")
    held = learning.draw_sample(law, held_out, repeats=400, key=keys[3])
    estimates = [learning.estimate_risk(losses) for losses in (fitted(held.x) - held.y) ** 2]
    covered = sum(e.low <= exact <= e.high for e in estimates)
    yield frequency(covered, 400, 0.95, "held-out 95% intervals that hold the risk, squared loss")
    held = learning.draw_sample(classes, held_out, repeats=400, key=keys[4])
    estimates = [learning.estimate_risk(1.0 * losses) for losses in classify(held.x) != held.y]
    covered = sum(e.low <= error <= e.high for e in estimates)
    yield frequency(covered, 400, 0.95, "held-out 95% intervals that hold the risk, zero-one loss")
    sizes = (train, 3 * train, 10 * train)
    risks = {f"n = {n}": risk_distribution(task, n, 200, key=keys[5]) for n in sizes}
    best = float(learning.ball_minimum(moments, 1e6).value)
    least = min(r.min() for r in risks.values())
    yield at_most(best, least, "risk of the best cubic, against 600 learned ones", rtol=1e-9)
    first, *_, last = (np.median(r) - best for r in risks.values())
    limit = np.quantile(risks[f"n = {train}"], 0.97)
    samples = {name: r[r <= limit] for name, r in risks.items()}
    title = f"The median excess falls from {first:.2g} at n = {sizes[0]} to {last:.2g} at n = {sizes[-1]}"
    axis = "R(f) of the learned cubic (the largest 3% are left out)"
    yield figure.histogram(title, axis, samples=samples, rules={"best cubic": ("x", best)})


@claim(sources=("eth", "penn"))
def training_risk_optimism(
    key,
    samples: Int(20, 500, log=True) = 30,
    dim: Int(1, 15) = 10,
    sigma: Real(0.01, 100.0, log=True) = 1.0,
    datasets: Int(200, 2000) = 2000,
):
    r"""Optimism of the training risk.

    For a fixed function the mean loss misses the risk by sd(L)/√n, without bias. For the fitted function it is biased:
    least squares has training risk σ²(1 − d/n) and test risk σ²(1 + d/(n − d − 1)) on average.

    $$\mathbb{E}\,\hat R = \sigma^2 \Big(1 - \frac dn\Big), \qquad \mathbb{E}\,R = \sigma^2 \Big(1 +
    \frac{d}{n-d-1}\Big)$$

    Assumes: x ~ N(0, I); no intercept; Gaussian noise; n > d + 1.

    Check: The excess risk over σ² is d/(n − d + 1) times an F(d, n − d + 1) variable.
    """
    from scipy import stats

    rng = data.generator(key)
    sizes = np.unique(np.geomspace(dim + 6, 500, 8).round().astype(int))
    measured = {int(n): _fitted_risks(rng, int(n), dim, sigma, 300) for n in sizes}
    train, test = _fitted_risks(rng, samples, dim, sigma, datasets)
    predicted = expected_fit_risks(samples, dim, sigma)
    freedom = samples - dim
    deviation = sigma**2 * np.sqrt(2 * freedom) / samples
    yield mean(train, predicted[0], "training risk of least squares", deviation=deviation)
    deviation = sigma**2 * stats.f(dim, freedom + 1).std() * dim / (freedom + 1)
    yield mean(test, predicted[1], "test risk of least squares", deviation=deviation)
    yield distributed_as(train * samples / sigma**2, stats.chi2(freedom), "n R̂/σ² is chi-square with n − d degrees")
    ratio = (test / sigma**2 - 1) * (freedom + 1) / dim
    yield distributed_as(ratio, stats.f(dim, freedom + 1), "(R/σ² − 1)(n−d+1)/d has the distribution F(d, n−d+1)")
    # A fixed function whose residuals are N(0, s²): the loss has standard deviation √2 s².
    counts = np.array([20, 50, 100, 200, 500, 1000])
    s = 1.3 * sigma
    gaps = np.array([s**2 * (rng.chisquare(n, datasets) / n - 1) for n in counts])
    yield mean(gaps[2], 0.0, "R̂(f) − R(f) for a fixed f, n = 100", deviation=np.sqrt(2) * s**2 / 10)
    deviations = np.sqrt(np.mean(gaps**2, axis=1))
    ratio = deviations * np.sqrt(counts) / (np.sqrt(2) * s**2)
    what = "standard deviation of R̂(f) for a fixed f over sd(L)/√n"
    yield close(ratio, 1.0, what, atol=4.5 * np.sqrt((0.5 + 3 / 20) / datasets))
    yield slope(counts, deviations, -0.5, "standard deviation of R̂(f) − R(f) against n", within=0.03)
    n = np.geomspace(dim + 6, 500, 100)
    curves = np.array([expected_fit_risks(m, dim, sigma) for m in n]) / sigma**2
    means = np.array([[a.mean(), b.mean()] for a, b in measured.values()]) / sigma**2
    found, expected = np.array([train.mean(), test.mean()]) / sigma**2, np.array(predicted) / sigma**2
    title = (
        f"At n = {samples}, d = {dim}: training risk {found[0]:.3g} σ² (predicted {expected[0]:.3g}), test risk "
        f"{found[1]:.3g} σ² ({expected[1]:.3g})"
    )
    lines = {"test": (n, curves[:, 1]), "training": (n, curves[:, 0])}
    points = {"test": (sizes, means[:, 1]), "training": (sizes, means[:, 0])}
    yield figure.curves(title, "n", "squared loss / σ²", lines=lines, points=points, rules={"σ²": ("y", 1.0)}, log="xy")


def _fitted_risks(rng, n, dim, sigma, datasets):
    """Training and population risk of least squares on Gaussian data, true weights 0 without loss of generality."""
    train, test = [], []
    for start in range(0, datasets, 250):  # in portions, to spare memory
        count = min(250, datasets - start)
        x, y = rng.standard_normal((count, n, dim)), sigma * rng.standard_normal((count, n))
        fit = learning.least_squares(x, y, intercept=False, method="normal")
        train.append(((fit.predict(x) - y) ** 2).mean(axis=1))
        test.append(sigma**2 + (fit.weights**2).sum(axis=1))
    return np.concatenate(train), np.concatenate(test)


@method(sources=("eth",))
def data_split(
    key,
    samples: Int(50, 2000, log=True) = 500,
    classes: Int(2, 10) = 4,
    models: Int(2, 512, log=True) = 256,
    repeats: Int(50, 300) = 200,
):
    r"""Training, validation and test split.

    Data are split into training, validation and test parts, at random, by class or by group; the test part stays
    sealed and logs who opens it. The best validation score of K models is biased upwards, the more so the larger K is.

    $$\mathbb{E} \max_{k \le K} \hat A_k = \frac1m \sum_{j=1}^m \big(1 - F(j-1)^K\big), \quad F = \mathrm{Bin}(m,
    \tfrac12)$$

    Check: Labels and groups have unequal sizes. Then models that toss coins are scored on coin-tossing labels, with
    100 examples each for validation and test.
    """
    from scipy.stats import binom

    key, key_split = jax.random.split(key)
    rng = data.generator(key)
    weight = np.arange(1, classes + 1)
    labels = rng.choice(classes, size=samples, p=weight / weight.sum())
    groups = rng.integers(0, max(samples // 8, 5), size=samples)
    shares = (0.6, 0.2, 0.2)
    splits = {
        "random": learning.random_split(samples, shares, key=key_split),
        "stratified": learning.stratified_split(labels, shares, key=key_split),
        "grouped": learning.grouped_split(groups, shares, key=key_split),
    }
    for name, split in splits.items():
        lacking = samples - np.intersect1d(np.concatenate(split), np.arange(samples)).size
        twice = sum(map(len, split)) - samples
        yield exactly([lacking, twice], 0, f"{name}: examples in no part, examples in two parts")
    counts = np.array([np.bincount(labels[part], minlength=classes) for part in splits["stratified"]])
    wanted = np.outer(shares, np.bincount(labels, minlength=classes))
    yield at_most(np.abs(counts - wanted), 1.0, "stratified: examples of a class off its share", strict=True)
    sizes = np.array([len(part) for part in splits["random"]])
    yield at_most(np.abs(sizes - np.array(shares) * samples), 1.0, "random: size off its share", strict=True)
    parts = [set(groups[part]) for part in splits["grouped"]]
    shared = len(parts[0] & parts[1]) + len(parts[0] & parts[2]) + len(parts[1] & parts[2])
    yield exactly(shared, 0, "grouped: groups that fall in two parts")

    x = rng.normal(size=(200, 90, 8))
    y = x[..., 0] + rng.normal(size=(200, 90))
    losses = (learning.least_squares(x[:, :60], y[:, :60]).predict(x) - y) ** 2
    yield smaller(losses[:, :60].mean(1), losses[:, 60:].mean(1), "training against validation risk, 200 fits")
    held = losses[0, 60:]
    error = held.std(ddof=1) / np.sqrt(30)
    yield close(learning.estimate_risk(held).error, error, "standard error of a validated risk", rtol=1e-12)

    m = 100
    tried = np.unique(np.geomspace(1, models, 9).round().astype(int))
    best, fresh = np.empty((repeats, len(tried))), np.empty((repeats, len(tried)))
    accesses = []
    for r in range(repeats):
        truth = rng.integers(0, 2, size=2 * m, dtype=np.int8)
        guesses = rng.integers(0, 2, size=(models, 2 * m), dtype=np.int8)
        sealed = learning.SealedPart(guesses[:, m:] == truth[m:])
        validated = (guesses[:, :m] == truth[:m]).mean(1)
        chosen = [int(np.argmax(validated[:k])) for k in tried]
        best[r] = validated[chosen]
        fresh[r] = sealed.open("score of the chosen models")[0][chosen].mean(1)
        accesses.append(len(sealed.accesses))
    exact = [(1 - binom.cdf(np.arange(m), m, 0.5) ** k).sum() / m for k in tried]
    yield mean(best[:, -1], exact[-1], f"best validation score of {models} coin tossers")
    middle = len(tried) // 2
    yield mean(best[:, middle], exact[middle], f"best validation score of {tried[middle]} coin tossers")
    yield mean(fresh[:, -1], 0.5, f"test score of the best of {models}", deviation=0.05)
    yield at_most(exact[:-1], exact[1:], "expected best score, against that of more models")
    yield exactly(accesses, 1, "entries in the log of the sealed part")

    points = {}
    for name, scores, spread in (("best validation score", best, best.std(0)), ("its test score", fresh, 0.05)):
        centre, half = scores.mean(0), 1.96 * spread / np.sqrt(repeats)
        points[name] = (tried, centre, centre - half, centre + half)
    lines = {"expected best": (tried, exact), "chance": (tried, np.full(len(tried), 0.5))}
    title = f"The best of {models} validates at {best[:, -1].mean():.3f}, tests at {fresh[:, -1].mean():.3f}"
    yield figure.curves(title, "models K to choose from", "share guessed", lines=lines, points=points, log="x")
