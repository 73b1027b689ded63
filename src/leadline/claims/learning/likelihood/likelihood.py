"""The Gaussian linear model: its likelihood, and least squares as the maximum of it."""

import jax
import numpy as np

from leadline import data, learning
from leadline.evidence import Int, Real, assume, claim, model
from leadline.evidence.relations import at_least, at_most, close, distributed_as, exactly, frequency, mean
from leadline.learning.regression.gaussian_model import GaussianLinear
from leadline.presentation import figure


def _gaussian_sample(rng, samples, dim, sigma):
    """A Gaussian design, random weights and bias, and the model's targets."""
    x = rng.normal(size=(samples, dim))
    truth = GaussianLinear(rng.normal(size=dim), float(rng.normal()), sigma)
    return x, truth.mean(x) + sigma * rng.normal(size=samples), truth


@model(sources=("penn",))
def gaussian_linear_model(
    key,
    samples: Int(15, 500, log=True) = 100,
    dim: Int(1, 8) = 3,
    sigma: Real(0.01, 100.0, log=True) = 1.0,
    datasets: Int(100, 400) = 300,
):
    r"""Gaussian linear model.

    Targets are a linear function of the inputs plus independent normal noise. The model comes with its likelihood and
    with tests of its residuals that are exact for every sample size.

    $$y = w \cdot x + b + \varepsilon, \quad \varepsilon \sim N(0, \sigma^2)$$

    Check: Rejections at the 5% level are counted under the model, under Student's t noise with 2 degrees of freedom,
    and under noise that grows with x₁.
    """
    from scipy.stats import norm

    key, key_noise, key_tests = jax.random.split(key, 3)
    rng = data.generator(key)
    x, y, truth = _gaussian_sample(rng, samples, dim, sigma)
    densities = norm.logpdf(y, truth.mean(x), sigma).sum()
    yield close(truth.log_likelihood(x, y), densities, "log-likelihood, against the sum of log densities", rtol=1e-10)
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


@claim(sources=("penn",))
def gaussian_nll_identity(
    key, samples: Int(1, 1000, log=True) = 50, dim: Int(1, 50) = 4, sigma: Real(0.001, 1000.0, log=True) = 0.7
):
    r"""Gaussian negative log-likelihood is squared error.

    The negative log-likelihood of the model is the sum of squared residuals over 2σ², plus terms in σ alone.

    $$-\log p(D) = \frac n2 \log \sigma^2 + \frac n2 \log 2\pi + \frac{1}{2\sigma^2} \sum_i (y_i - w \cdot x_i - b)^2$$

    Check: The identity is tested at random parameters, not the true ones, against SciPy's densities.
    """
    from scipy.stats import norm

    rng = data.generator(key)
    x, y, _ = _gaussian_sample(rng, samples, dim, 1.0)
    other = GaussianLinear(rng.normal(size=dim), float(rng.normal()), sigma)
    residual, n = y - other.mean(x), samples
    formula = n / 2 * np.log(sigma**2) + n / 2 * np.log(2 * np.pi) + (residual**2).sum() / (2 * sigma**2)
    largest = n * abs(np.log(sigma**2)) + n * np.log(2 * np.pi) + (residual**2).sum() / sigma**2
    yield close(-other.log_likelihood(x, y), formula, "the library's −log p, against the formula", atol=1e-12 * largest)
    densities = norm.logpdf(y, other.mean(x), sigma)
    what = "−Σ log of SciPy's normal densities, against the formula"
    yield close(-densities.sum(), formula, what, atol=1e-10 * largest)
    doubled = other._replace(sigma=2 * sigma)
    change = n * np.log(2) - 3 / 8 * (residual**2).sum() / sigma**2
    measured = other.log_likelihood(x, y) - doubled.log_likelihood(x, y)
    yield close(measured, change, "fall of the log-likelihood when σ is doubled", atol=1e-12 * largest)


@claim(sources=("penn",))
def mle_is_least_squares(
    key, samples: Int(12, 300, log=True) = 40, dim: Int(1, 6) = 2, sigma: Real(0.01, 100.0, log=True) = 1.0
):
    r"""Maximum likelihood is least squares.

    Under Gaussian noise of any fixed σ the maximum-likelihood weights are the least-squares ones: σ rescales the
    surface, not its argmax. Laplace noise gives least absolute deviations instead.

    $$\operatorname{argmax}_{w,b}\, \log p(D; w, b, \sigma) = \operatorname{argmin}_{w,b} \sum_i (y_i - w \cdot x_i -
    b)^2$$

    Assumes: the design has full column rank.
    """
    from scipy.optimize import minimize

    rng = data.generator(key)
    x, y, _ = _gaussian_sample(rng, samples, dim, 1.0)
    X = learning.design(x)
    fit = learning.least_squares(x, y, method="qr")
    best = np.append(fit.weights, fit.bias)
    start = rng.normal(size=dim + 1)
    tops, curvatures = [], []
    for s in (sigma / 10, sigma, 10 * sigma):

        def climb(theta, s=s):
            here = GaussianLinear(theta[:-1], float(theta[-1]), s)
            return -here.log_likelihood(x, y), -X.T @ (y - X @ theta) / s**2

        options = {"gtol": 1e-11 * np.abs(climb(start)[1]).max()}
        hessian = X.T @ X / s**2
        curved = {"jac": True, "hess": lambda _, hessian=hessian: hessian}
        tops.append(minimize(climb, start, method="trust-exact", options=options, **curved).x)
        curvatures.append((climb(best + 1.0)[0] - climb(best)[0]) * s**2)
    yield close(tops, best, "numeric maximisers at three σ, against least squares by QR", atol=1e-6)
    half = 0.5 * (X.sum(1) ** 2).sum()
    yield close(curvatures, half, "σ² times the fall of the log-likelihood at distance (1, ..., 1)", rtol=1e-6)
    programme = learning.minimise_risk(X, y, loss="absolute")
    theta = best
    for smooth in 10.0 ** -np.arange(1, 8):
        theta = minimize(lambda t, e=smooth: _smooth_absolute(X, y, t, e), theta, jac=True, method="BFGS").x
    reached = np.mean(np.abs(y - X @ theta))
    what = "mean |r| of the linear programme, against the climbed Laplace likelihood"
    yield at_most(programme.risk, reached, what, rtol=1e-9)
    yield close(reached, programme.risk, "mean |r| at the climbed Laplace maximum, against the programme's", rtol=1e-4)
    first = x[:, :1]  # the picture is a line
    line = np.append(*learning.least_squares(first, y))
    ws, bs = np.linspace(line[0] - 2, line[0] + 2, 31), np.linspace(line[1] - 2, line[1] + 2, 31)
    moments = learning.empirical_moments(learning.design(first), y)
    rise = moments(np.stack(np.meshgrid(ws, bs), axis=-1)) - moments(line)
    panels = []
    for s in (0.7, 1.5, 4.0):
        likelihood = np.exp(-samples * rise / (2 * s**2) / 5)
        at = np.unravel_index(likelihood.argmax(), likelihood.shape)
        point = np.array([[ws[at[1]], bs[at[0]]]])
        panels.append(figure.plane(f"σ = {s:g}", "w", "b", points={"maximum": point}, regions=(ws, bs, likelihood)))
    place = f"({line[0]:.3g}, {line[1]:.3g}), the least-squares line (likelihood to the power 1/5)"
    yield figure.beside(f"Three σ, one maximum: {place}", *panels, columns=3)


def _smooth_absolute(X, y, theta, smooth):
    """Mean of √(r² + e²), with its gradient."""
    r = y - X @ theta
    root = np.sqrt(r**2 + smooth**2)
    return root.mean(), -X.T @ (r / root) / len(y)


@claim(sources=("penn",))
def mle_sigma_bias(
    key,
    samples: Int(4, 200, log=True) = 12,
    dim: Int(1, 20) = 4,
    sigma: Real(0.01, 100.0, log=True) = 2.0,
    datasets: Int(1000, 5000) = 5000,
):
    r"""Bias of the maximum-likelihood variance.

    Maximising over σ as well leaves w and b as they are and gives σ̂² = RSS/n, which is on average too small by the
    factor (n − d − 1)/n; RSS/σ² is chi-square with n − d − 1 degrees of freedom. For n = d + 1 the likelihood has no
    maximum.

    $$\hat\sigma^2 = \frac{\mathrm{RSS}}{n}, \quad \mathbb{E}\,\hat\sigma^2 = \sigma^2\, \frac{n-d-1}{n}, \quad
    \frac{\mathrm{RSS}}{\sigma^2} \sim \chi^2_{n-d-1}$$

    Assumes: the Gaussian linear model holds; n > d + 1.
    """
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
    one = GaussianLinear(fit.weights[0], float(fit.bias[0]), float(fit.sigma_mle[0]))
    lower, top, upper = (one._replace(sigma=one.sigma * f).log_likelihood(x, targets[0]) for f in (0.9, 1.0, 1.1))
    yield at_most([lower, upper], top, "log-likelihood at 0.9 σ̂ and 1.1 σ̂, against σ̂", strict=True)
    square, targets = rng.normal(size=(dim + 1, dim)), rng.normal(size=dim + 1)
    exact = learning.fit_gaussian(square, targets)
    yield exactly(exact.bounded, False, "n = d + 1: the likelihood has a maximum")
    tight = GaussianLinear(exact.weights, float(exact.bias), 1.0)
    limits = [tight._replace(sigma=s).log_likelihood(square, targets) for s in (1e-1, 1e-3, 1e-5)]
    what = "n = d + 1: rise of the log-likelihood as σ shrinks to 10⁻⁵ at the interpolating fit"
    well = np.linalg.cond(learning.design(square)) < 1e7
    yield at_least(np.diff(limits), 0.0, what, strict=True).given(well, "the square design is well conditioned")
    values = fit.rss / sigma**2
    grid = np.linspace(max(values.min(), 1e-3), values.max(), 200)
    title = f"σ̂² is {ratio.mean():.3f} σ² in the mean, (n−d−1)/n = {degrees / samples:.3f}; RSS/σ² is chi-square"
    lines = {f"chi-square, {degrees} degree{'s' * (degrees > 1)}": (grid, chi2(degrees).pdf(grid))}
    yield figure.histogram(title, "RSS/σ²", samples={f"{datasets} data sets": values}, lines=lines)
