"""The Gaussian linear model: its likelihood, and least squares as the maximum of it."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, learning
from leadline.evidence import (
    Range,
    assume,
    at_least,
    at_most,
    claim,
    close,
    distributed_as,
    exactly,
    figure,
    frequency,
    mean,
    model,
)


def _gaussian_sample(rng, samples, dim, sigma):
    """A Gaussian design, random weights and bias, and the model's targets."""
    x = rng.normal(size=(samples, dim))
    truth = learning.GaussianLinear(rng.normal(size=dim), float(rng.normal()), sigma)
    return x, truth.mean(x) + sigma * rng.normal(size=samples), truth


@model(
    "gaussian-linear-model",
    says=(
        "Targets are a linear function of the inputs plus independent normal noise. The model comes with its "
        "likelihood and with tests of its residuals that are exact for every sample size."
    ),
    formula=r"y = w \cdot x + b + \varepsilon, \quad \varepsilon \sim N(0, \sigma^2)",
    sources=("penn",),
    shows=("learning.GaussianLinear", "learning.residual_diagnostics", "learning.Diagnostics"),
)
def gaussian_linear_model(
    key,
    samples: Annotated[int, Range(15, 500, log=True)] = 100,
    dim: Annotated[int, Range(1, 8)] = 3,
    sigma: Annotated[float, Range(0.01, 100.0, log=True)] = 1.0,
    datasets: Annotated[int, Range(100, 400)] = 300,
):
    """Rejections at the 5% level: under the model, under Student's t with 2 degrees, under noise that grows with x₁."""
    from scipy.stats import norm

    key, key_noise, key_tests = jax.random.split(key, 3)
    rng = data.generator(key)
    x, y, truth = _gaussian_sample(rng, samples, dim, sigma)
    reference = norm.logpdf(y, truth.mean(x), sigma).sum()
    yield close(truth.log_likelihood(x, y), reference, "log-likelihood, against the sum of log densities", rtol=1e-10)
    drawn = truth.draw(x, repeats=2000, key=key_noise)
    yield mean((drawn - truth.mean(x)).mean(1), 0.0, "mean noise of the sampler", deviation=sigma / np.sqrt(samples))
    yield distributed_as((drawn[:, 0] - truth.mean(x)[0]) / sigma, norm.cdf, "noise at the first input is normal")

    keys = jax.random.split(key_tests, datasets)
    tests = [learning.residual_diagnostics(x, drawn[k], draws=99, key=keys[k]) for k in range(datasets)]
    for name in ("normality", "homoscedasticity"):
        rejected = sum(getattr(t, name) <= 0.05 for t in tests)
        yield frequency(rejected, datasets, 0.05, f"{name} rejected at 5% under the model, n = {samples}")
    yield close(tests[0].leverage.sum(), dim + 1, "sum of the leverages, against d + 1", rtol=1e-9)

    wide = rng.normal(size=(60, 500, dim))
    signal = truth.mean(wide)
    others = {
        "normality": signal + sigma * rng.standard_t(2, size=(60, 500)),
        "homoscedasticity": signal + sigma * np.exp(0.5 * wide[..., 0]) * rng.normal(size=(60, 500)),
    }
    for name, targets in others.items():
        tests = [learning.residual_diagnostics(wide[k], targets[k], draws=99, key=keys[k]) for k in range(60)]
        rejected = sum(getattr(t, name) <= 0.05 for t in tests)
        yield frequency(rejected, 60, 0.9, f"{name} rejected where it does not hold, n = 500", side="at least")


@claim(
    "gaussian-nll-identity",
    says=(
        "The negative log-likelihood of the Gaussian linear model is the sum of squared residuals over 2σ², plus "
        "terms in σ alone."
    ),
    formula=(
        r"-\log p(D) = \frac n2 \log \sigma^2 + \frac n2 \log 2\pi + "
        r"\frac{1}{2\sigma^2} \sum_i (y_i - w \cdot x_i - b)^2"
    ),
    sources=("penn",),
)
def gaussian_nll_identity(
    key,
    samples: Annotated[int, Range(1, 1000, log=True)] = 50,
    dim: Annotated[int, Range(1, 50)] = 4,
    sigma: Annotated[float, Range(0.001, 1000.0, log=True)] = 0.7,
):
    """Random parameters, not the true ones: against SciPy's densities, and against one normal vector of length n."""
    from scipy.stats import norm

    rng = data.generator(key)
    x, y, _ = _gaussian_sample(rng, samples, dim, 1.0)
    other = learning.GaussianLinear(rng.normal(size=dim), float(rng.normal()), sigma)
    residual = y - x @ other.weights - other.bias
    n = samples
    formula = n / 2 * np.log(sigma**2) + n / 2 * np.log(2 * np.pi) + (residual**2).sum() / (2 * sigma**2)
    largest = n * abs(np.log(sigma**2)) + n * np.log(2 * np.pi) + (residual**2).sum() / sigma**2
    yield close(-other.log_likelihood(x, y), formula, "the library's −log p, against the formula", atol=1e-12 * largest)
    densities = norm.logpdf(y, x @ other.weights + other.bias, sigma)
    yield close(-densities.sum(), formula, "−Σ log of SciPy's normal densities", atol=1e-10 * largest)
    doubled = other._replace(sigma=2 * sigma)
    change = n * np.log(2) - 3 / 8 * (residual**2).sum() / sigma**2
    measured = other.log_likelihood(x, y) - doubled.log_likelihood(x, y)
    yield close(measured, change, "fall of the log-likelihood when σ is doubled", atol=1e-12 * largest)


@claim(
    "mle-is-least-squares",
    says=(
        "Under Gaussian noise of any fixed σ the maximum-likelihood weights are the least-squares ones: σ rescales "
        "the surface, not its argmax. Laplace noise gives least absolute deviations instead."
    ),
    formula=(
        r"\operatorname{argmax}_{w,b}\, \log p(D; w, b, \sigma) = "
        r"\operatorname{argmin}_{w,b} \sum_i (y_i - w \cdot x_i - b)^2"
    ),
    sources=("penn",),
    assumes=("the design has full column rank",),
)
def mle_is_least_squares(
    key,
    samples: Annotated[int, Range(12, 300, log=True)] = 40,
    dim: Annotated[int, Range(1, 6)] = 2,
    sigma: Annotated[float, Range(0.01, 100.0, log=True)] = 1.0,
):
    """The likelihood is climbed numerically for σ, σ/10 and 10σ; Laplace's, smoothed less and less."""
    from scipy.optimize import minimize

    rng = data.generator(key)
    x, y, _ = _gaussian_sample(rng, samples, dim, 1.0)
    X = learning.design(x)
    fit = learning.least_squares(x, y, method="qr")
    best = np.append(fit.weights, fit.bias)
    start = rng.normal(size=dim + 1)
    scales = [sigma / 10, sigma, 10 * sigma]
    tops, curvatures = [], []
    for s in scales:

        def climb(theta, s=s):
            r = y - X @ theta
            here = learning.GaussianLinear(theta[:-1], float(theta[-1]), s)
            return -here.log_likelihood(x, y), -X.T @ r / s**2

        steep = np.abs(climb(start)[1]).max()
        end = minimize(climb, start, jac=True, method="trust-exact", hess=lambda _, s=s: X.T @ X / s**2,
                       options={"gtol": 1e-11 * steep})  # fmt: skip
        tops.append(end.x)
        rise = climb(best + 1.0)[0] - climb(best)[0]
        curvatures.append(rise * s**2)
    yield close(np.array(tops), best[None], "numeric maximisers at three σ, against least squares by QR", atol=1e-6)
    half = 0.5 * (X.sum(1) ** 2).sum()
    yield close(curvatures, half, "σ² times the fall of the log-likelihood at distance (1, ..., 1)", rtol=1e-6)

    programme = learning.minimise_risk(X, y, loss="absolute")
    theta = best
    for smooth in 10.0 ** -np.arange(1, 8):
        theta = minimize(lambda t, e=smooth: _smooth_absolute(X, y, t, e), theta, jac=True, method="BFGS").x
    reached = np.mean(np.abs(y - X @ theta))
    yield at_most(programme.risk, reached, "mean |r| of the linear programme, against the climbed Laplace likelihood",
                  rtol=1e-9)  # fmt: skip
    yield close(reached, programme.risk, "mean |r| at the climbed Laplace maximum", rtol=1e-4)

    if dim == 1:
        line, surface_x, surface_y = best, x, y
    else:  # the picture is a line
        surface_x, surface_y = x[:, :1], y
        line = np.append(*learning.least_squares(surface_x, surface_y))
    ws, bs = np.linspace(line[0] - 2, line[0] + 2, 31), np.linspace(line[1] - 2, line[1] + 2, 31)
    grid = np.stack(np.meshgrid(ws, bs), axis=-1)
    moments = learning.empirical_moments(learning.design(surface_x), surface_y)
    panels = []
    for s in (0.7, 1.5, 4.0):
        likelihood = np.exp(-samples * (moments(grid) - moments(line)) / (2 * s**2) / 5)
        at = np.unravel_index(likelihood.argmax(), likelihood.shape)
        point = np.array([[ws[at[1]], bs[at[0]]]])
        panels.append(figure.plane(f"σ = {s:g}", x="w", y="b", points={"maximum": point}, regions=(ws, bs, likelihood)))
    yield figure.beside(
        f"Three σ, one maximum: ({line[0]:.3g}, {line[1]:.3g}), the least-squares line (likelihood to the power 1/5)",
        *panels,
        columns=3,
    )


def _smooth_absolute(X, y, theta, smooth):
    """Mean of √(r² + e²), with its gradient."""
    r = y - X @ theta
    root = np.sqrt(r**2 + smooth**2)
    return root.mean(), -X.T @ (r / root) / len(y)


@claim(
    "mle-sigma-bias",
    says=(
        "Maximising over σ too leaves w and b as they are and gives σ̂² = RSS/n, too small by (n−d−1)/n in the mean; "
        "RSS/σ² is chi-square with n−d−1 degrees of freedom. For n = d+1 the likelihood has no maximum."
    ),
    formula=r"\hat\sigma^2 = \frac{\mathrm{RSS}}{n}, \quad \mathbb{E}\,\hat\sigma^2 = \sigma^2\, \frac{n-d-1}{n}, "
    r"\quad \frac{\mathrm{RSS}}{\sigma^2} \sim \chi^2_{n-d-1}",
    sources=("penn",),
    assumes=("the Gaussian linear model holds", "n > d + 1"),
)
def mle_sigma_bias(
    key,
    samples: Annotated[int, Range(4, 200, log=True)] = 12,
    dim: Annotated[int, Range(1, 20)] = 4,
    sigma: Annotated[float, Range(0.01, 100.0, log=True)] = 2.0,
    datasets: Annotated[int, Range(1000, 5000)] = 5000,
):
    """One design, many target vectors; then as many examples as parameters."""
    from scipy.stats import chi2

    assume(samples > dim + 1, "n > d + 1")
    key, key_noise = jax.random.split(key)
    rng = data.generator(key)
    x, _, truth = _gaussian_sample(rng, samples, dim, sigma)
    targets = truth.draw(x, repeats=datasets, key=key_noise)
    fit = learning.fit_gaussian(x, targets)
    degrees = samples - dim - 1
    ratio = fit.sigma_mle**2 / sigma**2
    yield mean(ratio, degrees / samples, "σ̂²/σ², against (n−d−1)/n", deviation=np.sqrt(2 * degrees) / samples)
    yield mean(fit.sigma**2 / sigma**2, 1.0, "RSS/(n−d−1)/σ²", deviation=np.sqrt(2 / degrees))
    yield distributed_as(fit.rss / sigma**2, chi2(degrees), "RSS/σ² is chi-square with n−d−1 degrees")
    one = learning.GaussianLinear(fit.weights[0], float(fit.bias[0]), float(fit.sigma_mle[0]))
    values = [one._replace(sigma=one.sigma * f).log_likelihood(x, targets[0]) for f in (0.9, 1.1)]
    top = one.log_likelihood(x, targets[0])
    yield at_most(values, top, "log-likelihood at 0.9 σ̂ and 1.1 σ̂, against σ̂", strict=True)

    square = rng.normal(size=(dim + 1, dim))
    targets = rng.normal(size=dim + 1)
    exact = learning.fit_gaussian(square, targets)
    yield exactly(exact.bounded, False, "n = d + 1: the likelihood has a maximum")
    condition = np.linalg.cond(learning.design(square))
    limits = [
        learning.GaussianLinear(exact.weights, float(exact.bias), s).log_likelihood(square, targets)
        for s in (1e-1, 1e-3, 1e-5)
    ]
    yield at_least(np.diff(limits), 0.0, "its rise as σ shrinks to 10⁻⁵ at the interpolating fit", strict=True).given(
        condition < 1e7, "the square design is well conditioned"
    )

    values = fit.rss / sigma**2
    grid = np.linspace(max(values.min(), 1e-3), values.max(), 200)
    yield figure.histogram(
        f"σ̂² is {ratio.mean():.3f} σ² in the mean, (n−d−1)/n = {degrees / samples:.3f}; RSS/σ² is chi-square",
        x="RSS/σ²",
        samples={f"{datasets} data sets": values},
        lines={f"chi-square, {degrees} degree{'s' * (degrees > 1)}": (grid, chi2(degrees).pdf(grid))},
    )
