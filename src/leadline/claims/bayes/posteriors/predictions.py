"""The evidence of a model, by four ways, and predictions averaged over the posterior."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from leadline import bayes, data, learning
from leadline.bayes.posterior_modes import PosteriorMode
from leadline.claims.bayes.posteriors.posteriors import straight_line_data
from leadline.evidence import Int, Real, at_least, at_most, close, erratum, frequency, instrument, mean, method, slope
from leadline.presentation import figure

DEGREES = np.arange(8)
TRUE_DEGREE = 3
TIMES = (4, 8, 16, 32)


def logistic_energy(theta, x, y, alpha):
    """−ln likelihood − ln prior of logistic regression with labels ±1, all constants included."""
    prior = alpha / 2 * jnp.sum(theta**2) - theta.size / 2 * jnp.log(alpha / (2 * jnp.pi))
    return jnp.sum(jnp.logaddexp(0.0, -y * (x @ theta))) + prior


def around(centre, covariance):
    """Two axes, ten standard deviations to either side."""
    reach = 10 * np.sqrt(np.diag(covariance))
    return np.linspace(centre - reach, centre + reach, 241).T


def laplace_miss(energy, mode, times):
    """Laplace's ln Z less that of quadrature, for the density e^{−r E}."""
    sharper = PosteriorMode(mode.theta, times * mode.energy, times * mode.hessian)
    grid = bayes.grid_posterior(lambda t: times * energy(t), *around(mode.theta, sharper.covariance))
    return bayes.laplace_log_evidence(sharper) - grid.log_evidence


@instrument(sources=("penn",))
def evidence(
    key,
    n: Int(20, 80) = 40,
    sigma: Real(0.1, 0.4, log=True) = 0.3,
    alpha: Real(0.3, 3.0, log=True) = 1.0,
    trials: Int(50, 300) = 100,
):
    r"""Model evidence (marginal likelihood).

    The evidence Z = ∫ p(D | w) p(w) dw has a closed form for the Gaussian linear model; elsewhere it is computed by
    quadrature, Laplace's method or importance sampling. It finds the degree of a polynomial and the width of the prior
    without test data.

    $$Z = \int p(D|w)\, p(w)\, dw, \quad \ln Z = \ln N(y; 0, \sigma^2 I + X X^T / \alpha)$$

    Assumes: the model and its noise are those of the data, for the choice of degree and prior.

    Check: The test cases are a straight line and a logistic regression with two weights, then cubics under noise, and
    20 weights of unknown prior width.
    """
    rng = data.generator(key)
    x, y = straight_line_data(rng, n, sigma, alpha)
    exact = bayes.linear_log_evidence(x, y, sigma=sigma, alpha=alpha)
    post = learning.gaussian_posterior(x, y, sigma=sigma, prior_variance=1 / alpha)

    def energy(theta):
        return bayes.linear_energy(theta, x, y, sigma=sigma, alpha=alpha)

    grid = bayes.grid_posterior(energy, *around(post.mean, post.covariance))
    mode = PosteriorMode(post.mean, float(energy(post.mean)), np.linalg.inv(post.covariance))
    yield close(grid.log_evidence, exact, "linear model: quadrature, against the closed form", atol=1e-8)
    yield close(bayes.laplace_log_evidence(mode), exact, "linear model: Laplace's method, exact here", atol=1e-8)
    sampled = bayes.importance_log_evidence(energy, mode, key=jax.random.fold_in(key, 1))
    weights = sampled.relative_weights * np.exp(sampled.log_evidence - exact)
    yield mean(weights, 1.0, "linear model: importance weights over Z")

    labels = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * x[:, 1])), 1.0, -1.0)
    bent = bayes.map_estimate(logistic_energy, np.zeros(2), x, labels, alpha)

    def bent_energy(theta):
        prior = alpha / 2 * np.sum(theta**2, axis=1) - math.log(alpha / (2 * math.pi))
        return np.logaddexp(0.0, -(theta @ x.T) * labels).sum(1) + prior

    grid = bayes.grid_posterior(bent_energy, *around(bent.theta, bent.covariance))
    sampled = bayes.importance_log_evidence(bent_energy, bent, key=jax.random.fold_in(key, 2))
    weights = sampled.relative_weights * np.exp(sampled.log_evidence - grid.log_evidence)
    yield mean(weights, 1.0, "logistic regression: importance weights over Z by quadrature")
    narrow = bayes.importance_log_evidence(bent_energy, bent, widened=0.05, key=jax.random.fold_in(key, 3))
    yield at_least(sampled.effective_size, 200, "logistic regression: effective draws of 4000, 200 need no warning")
    yield at_most(
        narrow.effective_size, 200, "effective draws of a proposal 20 times too narrow: warned of", strict=True
    )
    misses = np.abs([laplace_miss(bent_energy, bent, times) for times in TIMES])
    what = "error of Laplace's ln Z where the energy counts r times, against r"
    yield slope(TIMES, misses, -1.0, what, within=0.05)

    nodes = np.linspace(-1, 1, n)
    designs = [learning.legendre_features(nodes, int(d), domain=(-1, 1)) for d in DEGREES]
    fine = [learning.legendre_features(np.linspace(-1, 1, 101), int(d), domain=(-1, 1)) for d in DEGREES]
    picked, logs, errors = [], [], []
    for trial in range(trials):
        truth = rng.choice([-1.0, 1.0], TRUE_DEGREE + 1) * rng.uniform(1.0, 2.0, TRUE_DEGREE + 1)
        target = designs[TRUE_DEGREE] @ truth + sigma * rng.normal(size=n)
        found = [bayes.linear_log_evidence(phi, target, sigma=sigma, alpha=0.5) for phi in designs]
        picked.append(np.argmax(found))
        if trial < 20:
            logs.append(found)
            fits = [np.linalg.lstsq(phi, target, rcond=None)[0] for phi in designs]
            misses = [phi @ w - fine[TRUE_DEGREE] @ truth for phi, w in zip(fine, fits, strict=True)]
            errors.append(np.mean(np.square(misses), axis=1) + sigma**2)
    right = np.sum(np.array(picked) == TRUE_DEGREE)
    yield frequency(right, trials, 0.8, "the degree of largest evidence is the true one", side="at least")

    dim, scores, inside = 20, [], 0
    wide = rng.normal(size=(3 * n, dim))
    values = np.linalg.svd(wide, compute_uv=False) ** 2
    for _ in range(60):
        target = wide @ rng.normal(size=dim) / np.sqrt(alpha) + sigma * rng.normal(size=3 * n)
        post = learning.gaussian_posterior(wide, target, sigma=sigma, prior_variance=1 / alpha)
        determined = np.sum(values / (values + alpha * sigma**2))
        scores.append(determined - alpha * post.mean @ post.mean)  # 2α ∂ ln Z/∂α
        best = bayes.maximise_linear_evidence(wide, target, sigma=sigma)
        here = bayes.linear_log_evidence(wide, target, sigma=sigma, alpha=alpha)
        inside += 2 * (best.log_evidence - here) <= 3.841
    yield mean(scores, 0.0, "slope of ln Z in ln α at the generating α, 60 data sets")
    yield frequency(inside, 60, 0.95, "the generating α is within the 95% interval of the evidence")
    average, errors = np.mean(logs, axis=0), np.mean(errors, axis=0)
    yield at_least(average[TRUE_DEGREE], average, "mean ln Z at the true degree, against the other degrees")
    options = {"rules": {"true degree": ("x", TRUE_DEGREE)}, "log": "y"}
    name, axes = "mean log evidence over 20 data sets", ("degree", "1 + ln Z of the best − ln Z")
    left = figure.curves(name, *axes, points={"measured": (DEGREES, 1 + average.max() - average)}, **options)
    lines, points = {"noise σ²": (DEGREES, np.full(len(DEGREES), sigma**2))}, {"measured": (DEGREES, errors)}
    name, axes = "mean test error of least squares", ("degree", "squared error")
    title = f"The evidence picks degree {TRUE_DEGREE} in {right} of {trials} data sets, without test data"
    yield figure.beside(title, left, figure.curves(name, *axes, lines=lines, points=points, **options))


@method(sources=("eth",))
def predictive_distribution(
    key,
    n: Int(3, 20) = 8,
    sigma: Real(0.3, 2.0, log=True) = 0.5,
    alpha: Real(0.3, 3.0, log=True) = 1.0,
    draws: Int(2000, 20000, log=True) = 4000,
):
    r"""Posterior predictive distribution.

    Predictions average over the posterior: draws from it count equally. Weights proportional to the posterior belong
    to uniform draws, likelihood weights to draws from the prior; posterior draws weighted by the posterior again
    represent its square, which has half the variance.

    $$p(y | x, D) = \int p(y | x, \theta)\, p(\theta | D)\, d\theta = N(m^T x, \; x^T S x + \sigma^2)$$

    Assumes: Gaussian noise and prior, for the closed form.

    Check: A straight line is fitted through n points, with draws from the posterior, from the prior and from a box. A
    second case is a single unknown with posterior N(0, 1).
    """
    rng = data.generator(key)
    x, y = straight_line_data(rng, n, sigma, alpha)
    post = learning.gaussian_posterior(x, y, sigma=sigma, prior_variance=1 / alpha)
    places = np.linspace(-2, 2, 9)
    at = np.column_stack([np.ones(9), places])
    exact = bayes.linear_predictive(post, at, sigma=sigma)
    root = np.linalg.cholesky(post.covariance)
    thetas = post.mean + rng.normal(size=(draws, 2)) @ root.T
    outcomes = thetas @ at[-1] + sigma * rng.normal(size=draws)
    yield mean(thetas @ at[-1], exact.mean[-1], "equal weights: mean prediction at x = 2")
    total, squares = exact.variance[-1], (outcomes - exact.mean[-1]) ** 2
    yield mean(squares, total, "equal weights: variance of a new datum, xᵀSx + σ²", deviation=math.sqrt(2) * total)
    below, above = exact.band(0.9)
    inside = np.sum((outcomes > below[-1]) & (outcomes < above[-1]))
    yield frequency(inside, draws, 0.9, "new data within the 90% band")

    def energy(theta):
        return bayes.linear_energy(theta, x, y, sigma=sigma, alpha=alpha)

    prior = rng.normal(size=(draws, 2)) / np.sqrt(alpha)
    likelihood = -np.sum((prior @ x.T - y) ** 2, axis=1) / (2 * sigma**2)
    w = np.exp(likelihood - likelihood.max())
    moved, size = prior @ at[-1] - exact.mean[-1], w.sum() ** 2 / np.sum(w**2)
    what = "likelihood weights on prior draws: mean prediction, from the exact one"
    offset = mean(w * moved / w.mean(), 0.0, what)
    yield offset.given(size > 100, "more than 100 draws of the prior carry the weight")
    t = rng.normal(size=draws)
    density = np.exp(-(t**2) / 2)
    variance = mean(t**2, 1.0, "posterior N(0, 1), equal weights: variance", deviation=math.sqrt(2))
    yield variance
    yield mean(density * (t**2 - 0.5), 0.0, "weights p on draws of p: their variance less ½")
    wrong = mean(density * (t**2 - 1.0), 0.0, "weights p on draws of p: their variance less 1")
    again = "θ is drawn from the posterior, and the draws are weighted by the posterior again"
    yield erratum(wrong, of=variance, by="eth", prints=again)
    box = rng.uniform(-8, 8, size=4 * draws)
    yield mean(np.exp(-(box**2) / 2) * (box**2 - 1.0), 0.0, "weights p on uniform draws: their variance less 1")
    twice, equal = bayes.average_draws(thetas @ at.T, -energy(thetas)), bayes.average_draws(thetas @ at.T)
    weighted = bayes.average_draws(prior @ at.T, likelihood)
    kept = [np.mean(each.variance / exact.spread) for each in (twice, equal)]
    line = np.linspace(-2, 2, 81)
    smooth = bayes.linear_predictive(post, np.column_stack([np.ones(81), line]), sigma=sigma)
    lines = {"exact": (line, np.sqrt(smooth.spread)), "exact/√2": (line, np.sqrt(smooth.spread / 2))}
    points = {
        "equal weights": (places - 0.03, np.sqrt(equal.variance)),
        "weighted again": (places, np.sqrt(twice.variance)),
        f"prior draws × likelihood ({size:.0f} effective)": (places + 0.03, np.sqrt(weighted.variance)),
    }
    title = f"Posterior draws weighted again keep {kept[0]:.2f} of the variance; equal weights {kept[1]:.2f}"
    yield figure.curves(title, "x", "sd of f(x) under the posterior", lines=lines, points=points)
