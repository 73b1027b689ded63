"""The evidence of a model, by four ways, and predictions averaged over the posterior."""

import math
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import bayes, data, learning
from leadline.claims.bayes.posteriors import straight_line_data
from leadline.evidence import (
    Range,
    at_least,
    close,
    exactly,
    figure,
    frequency,
    instrument,
    mean,
    method,
    printed,
    slope,
)

DEGREES = np.arange(8)
TRUE_DEGREE = 3
TIMES = (4, 8, 16, 32)


def logistic_energy(theta, x, y, alpha):
    """−ln likelihood − ln prior of logistic regression with labels ±1, all constants included."""
    prior = alpha / 2 * jnp.sum(theta**2) - theta.size / 2 * jnp.log(alpha / (2 * jnp.pi))
    return jnp.sum(jnp.logaddexp(0.0, -y * (x @ theta))) + prior


def around(centre, covariance, reach=10.0, nodes=241):
    """Two axes, `reach` standard deviations to either side."""
    return [
        np.linspace(m - reach * s, m + reach * s, nodes)
        for m, s in zip(centre, np.sqrt(np.diag(covariance)), strict=True)
    ]


def laplace_miss(energy, mode, times):
    """Laplace's ln Z less that of quadrature, for the density e^{−r E}."""
    sharper = bayes.PosteriorMode(mode.theta, times * mode.energy, times * mode.hessian)
    grid = bayes.grid_posterior(lambda t: times * energy(t), *around(mode.theta, sharper.covariance))
    return bayes.laplace_log_evidence(sharper) - grid.log_evidence


@instrument(
    "evidence",
    says=(
        "The evidence Z = ∫p(D|w)p(w)dw has a closed form for the Gaussian linear model; elsewhere quadrature, "
        "Laplace's method or importance sampling give it. It finds the degree of a polynomial and the width of the "
        "prior without test data."
    ),
    formula=r"Z = \int p(D|w)\, p(w)\, dw, \quad \ln Z = \ln N(y; 0, \sigma^2 I + X X^T / \alpha)",
    sources=("penn",),
    assumes=("the model and its noise are those of the data, for the choice of degree and prior",),
    shows=(
        "bayes.linear_log_evidence", "bayes.maximise_linear_evidence", "bayes.laplace_log_evidence",
        "bayes.importance_log_evidence", "bayes.grid_posterior",
    ),
)  # fmt: skip
def evidence(
    key,
    n: Annotated[int, Range(20, 80)] = 40,
    sigma: Annotated[float, Range(0.1, 0.4, log=True)] = 0.3,
    alpha: Annotated[float, Range(0.3, 3.0, log=True)] = 1.0,
    trials: Annotated[int, Range(50, 300)] = 100,
):
    """A straight line and a logistic regression with two weights; cubics under noise; 20 weights of unknown width."""
    rng = data.generator(key)
    x, y = straight_line_data(rng, n, sigma, alpha)
    exact = bayes.linear_log_evidence(x, y, sigma=sigma, alpha=alpha)
    post = learning.gaussian_posterior(x, y, sigma=sigma, prior_variance=1 / alpha)

    def energy(theta):
        return bayes.linear_energy(theta, x, y, sigma=sigma, alpha=alpha)

    grid = bayes.grid_posterior(energy, *around(post.mean, post.covariance))
    mode = bayes.PosteriorMode(post.mean, float(energy(post.mean)), np.linalg.inv(post.covariance))
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
    yield exactly(bool(sampled.warning), False, "logistic regression: a warning of few effective draws")
    narrow = bayes.importance_log_evidence(bent_energy, bent, widened=0.05, key=jax.random.fold_in(key, 3))
    yield exactly(bool(narrow.warning), True, "a proposal 20 times too narrow: the warning")
    misses = [laplace_miss(bent_energy, bent, times) for times in TIMES]
    yield slope(
        TIMES, np.abs(misses), -1.0, "error of Laplace's ln Z where the energy counts r times, against r", within=0.05
    )

    nodes = np.linspace(-1, 1, n)
    designs = [learning.legendre_features(nodes, int(d), domain=(-1, 1)) for d in DEGREES]
    fine = [learning.legendre_features(np.linspace(-1, 1, 101), int(d), domain=(-1, 1)) for d in DEGREES]
    picked, logs, errors = [], [], []
    for trial in range(trials):
        truth = rng.choice([-1.0, 1.0], TRUE_DEGREE + 1) * rng.uniform(1.0, 2.0, TRUE_DEGREE + 1)
        target = designs[TRUE_DEGREE] @ truth + sigma * rng.normal(size=n)
        found = [bayes.linear_log_evidence(phi, target, sigma=sigma, alpha=0.5) for phi in designs]
        picked.append(int(np.argmax(found)))
        if trial < 20:
            clean = fine[TRUE_DEGREE] @ truth
            logs.append(found)
            fits = [np.linalg.lstsq(phi, target, rcond=None)[0] for phi in designs]
            errors.append([np.mean((phi @ w - clean) ** 2) + sigma**2 for phi, w in zip(fine, fits, strict=True)])
    right = sum(d == TRUE_DEGREE for d in picked)
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
    yield figure.beside(
        f"The evidence picks degree {TRUE_DEGREE} in {right} of {trials} data sets, without test data",
        figure.curves(
            "mean log evidence over 20 data sets", x="degree", y="1 + ln Z of the best − ln Z", log="y",
            points={"measured": (DEGREES, 1 + average.max() - average)}, rules={"true degree": ("x", TRUE_DEGREE)},
        ),
        figure.curves(
            "mean test error of least squares", x="degree", y="squared error", log="y",
            lines={"noise σ²": (DEGREES, np.full(len(DEGREES), sigma**2))}, points={"measured": (DEGREES, errors)},
            rules={"true degree": ("x", TRUE_DEGREE)},
        ),
    )  # fmt: skip


@method(
    "predictive-distribution",
    says=(
        "Predictions average over the posterior: draws of it count equally. Weights proportional to the posterior "
        "belong to uniform draws, likelihood weights to draws of the prior; posterior draws weighted by the posterior "
        "again stand for its square, with half the variance."
    ),
    formula=r"p(y | x, D) = \int p(y | x, \theta)\, p(\theta | D)\, d\theta = N(m^T x, \; x^T S x + \sigma^2)",
    sources=("eth",),
    assumes=("Gaussian noise and prior, for the closed form",),
    shows=("bayes.linear_predictive", "bayes.average_draws"),
)
def predictive_distribution(
    key,
    n: Annotated[int, Range(3, 20)] = 8,
    sigma: Annotated[float, Range(0.3, 2.0, log=True)] = 0.5,
    alpha: Annotated[float, Range(0.3, 3.0, log=True)] = 1.0,
    draws: Annotated[int, Range(2000, 20000, log=True)] = 4000,
):
    """A straight line through n points; draws of the posterior, the prior and a box; one unknown, N(0, 1)."""
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
    total = float(exact.variance[-1])
    squares = (outcomes - exact.mean[-1]) ** 2
    yield mean(squares, total, "equal weights: variance of a new datum, xᵀSx + σ²", deviation=math.sqrt(2) * total)
    below, above = exact.band(0.9)
    inside = int(np.sum((outcomes > below[-1]) & (outcomes < above[-1])))
    yield frequency(inside, draws, 0.9, "new data within the 90% band")
    yield printed(
        close(0.0, exact.variance[-1], "variance of the mean f(x), for that of the predictive law", rtol=0.1),
        "eth",
        "the mean f(x) called the predictive distribution",
    )

    def energy(theta):
        return bayes.linear_energy(theta, x, y, sigma=sigma, alpha=alpha)

    prior = rng.normal(size=(draws, 2)) / np.sqrt(alpha)
    likelihood = -np.sum((prior @ x.T - y) ** 2, axis=1) / (2 * sigma**2)
    w = np.exp(likelihood - likelihood.max())
    moved = prior @ at[-1] - exact.mean[-1]
    size = float(w.sum() ** 2 / np.sum(w**2))
    yield mean(
        w * moved / w.mean(), 0.0, "likelihood weights on prior draws: mean prediction, from the exact one"
    ).given(size > 100, "more than 100 draws of the prior carry the weight")

    t = rng.normal(size=draws)
    density = np.exp(-(t**2) / 2)
    yield mean(t**2, 1.0, "posterior N(0, 1), equal weights: variance", deviation=math.sqrt(2))
    yield mean(density * (t**2 - 0.5), 0.0, "weights p on draws of p: their variance less ½")
    yield printed(
        mean(density * (t**2 - 1.0), 0.0, "weights p on draws of p: their variance less 1"),
        "eth",
        "posterior samples weighted by the posterior again",
    )
    box = rng.uniform(-8, 8, size=4 * draws)
    yield mean(np.exp(-(box**2) / 2) * (box**2 - 1.0), 0.0, "weights p on uniform draws: their variance less 1")
    twice = bayes.average_draws(thetas @ at.T, -energy(thetas))
    equal = bayes.average_draws(thetas @ at.T)
    weighted = bayes.average_draws(prior @ at.T, likelihood)
    ratio = float(np.mean(twice.variance / exact.spread))
    line = np.linspace(-2, 2, 81)
    smooth = bayes.linear_predictive(post, np.column_stack([np.ones(81), line]), sigma=sigma)
    yield figure.curves(
        f"Posterior draws weighted again keep {ratio:.2f} of the variance; equal weights "
        f"{np.mean(equal.variance / exact.spread):.2f}",
        x="x",
        y="sd of f(x) under the posterior",
        lines={"exact": (line, np.sqrt(smooth.spread)), "exact/√2": (line, np.sqrt(smooth.spread / 2))},
        points={
            "equal weights": (places - 0.03, np.sqrt(equal.variance)),
            "weighted again": (places, np.sqrt(twice.variance)),
            f"prior draws × likelihood ({size:.0f} effective)": (places + 0.03, np.sqrt(weighted.variance)),
        },
    )
