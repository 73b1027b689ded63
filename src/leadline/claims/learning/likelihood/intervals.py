"""Predictive intervals of the Gaussian linear model: exact, and how far the plug-in falls short."""

from itertools import product

import jax
import numpy as np

from leadline import data, learning
from leadline.evidence import Int, Real, assume, at_most, claim, close, frequency, method, reference
from leadline.learning.regression.gaussian_model import GaussianLinear, plug_in_coverage
from leadline.presentation import figure


@method(sources=("penn",))
def predictive_interval(
    key,
    samples: Int(4, 300, log=True) = 15,
    dim: Int(1, 10) = 1,
    level: Real(0.5, 0.99) = 0.95,
    sigma: Real(0.01, 100.0, log=True) = 0.5,
):
    r"""Prediction interval of linear regression.

    A linear fit gives the mean, any quantile and an interval for a new target. With Student's t and the leverage of
    the point, the interval is exact under the Gaussian model for every n.

    $$f(x) \pm t_{n-d-1}\, s \sqrt{1 + \tilde x^\top (X^\top X)^{-1} \tilde x}, \quad s^2 =
    \frac{\mathrm{RSS}}{n-d-1}$$

    Assumes: the Gaussian linear model holds; n > d + 1.

    Check: 4000 data sets are drawn on one design with a new target each. The diabetes data are split 50 times, 300/142.
    """
    from scipy.stats import norm

    assume(samples > dim + 1, "n > d + 1")
    key, key_noise = jax.random.split(key)
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    truth = GaussianLinear(rng.normal(size=dim), float(rng.normal()), sigma)
    fit = learning.fit_gaussian(x, truth.draw(x, repeats=4000, key=key_noise))
    at = 2 * rng.normal(size=(1, dim))
    new = truth.mean(at) + sigma * rng.standard_normal((4000, 1))
    band = learning.predictive_interval(fit, at, level=level)
    covered = int(np.sum((band.low <= new) & (new <= band.high)))
    yield frequency(covered, 4000, level, f"new targets in the exact interval, n = {samples}, d = {dim}")
    upper = learning.predictive_quantile(fit, at, 0.95)
    yield frequency(np.sum(new <= upper), 4000, 0.95, "new targets below the exact 95% quantile")
    middle = learning.predictive_quantile(fit, at, 0.5)
    yield close(middle, fit.mean(at), "median of the predictive distribution, against its mean", atol=1e-9 * sigma)
    plug = learning.predictive_quantile(fit, at, 0.95, plug_in=True) - fit.mean(at)
    yield close(plug[:, 0] / fit.sigma_mle, norm.ppf(0.95), "plug-in upper 5% point in units of σ̂ (1.645)", rtol=1e-9)
    inputs, target, _ = data.diabetes()
    shares = []
    for _ in range(50):
        order = rng.permutation(len(target))
        train, test = order[:300], order[300:]
        real = learning.predictive_interval(learning.fit_gaussian(inputs[train], target[train]), inputs[test])
        shares.append(np.mean((real.low <= target[test]) & (target[test] <= real.high)))
    count = round(np.mean(shares) * len(target))
    yield frequency(count, len(target), 0.95, "diabetes: targets in the 95% interval, mean of 50 splits, as of 442")
    line = x[:, :1]
    y = line[:, 0] * truth.weights[0] + truth.bias + sigma * rng.normal(size=samples)
    shown = learning.fit_gaussian(line, y)
    grid = np.linspace(line.min() - 0.5, line.max() + 0.5, 80)[:, None]
    band = learning.predictive_interval(shown, grid, level=level)
    fresh = rng.uniform(grid.min(), grid.max(), (60, 1))
    targets = fresh[:, 0] * truth.weights[0] + truth.bias + sigma * rng.normal(size=60)
    ends = learning.predictive_interval(shown, fresh, level=level)
    inside = (ends.low <= targets) & (targets <= ends.high)
    points = {
        "training examples": (line[:, 0], y),
        "new, covered": (fresh[inside, 0], targets[inside]),
        "new, missed": (fresh[~inside, 0], targets[~inside]),
    }
    lines, bands = {"fit": (grid[:, 0], shown.mean(grid))}, {"exact interval": (grid[:, 0], band.low, band.high)}
    covers = f"{covered / 40:.1f}% of 4000 new targets, at 95% {np.mean(shares):.1%} of the diabetes data"
    title = f"The exact {level:.0%} interval from n = {samples} covers {covers}"
    yield figure.curves(title, "x", "y", lines=lines, bands=bands, points=points)


@claim(sources=("penn",))
def plug_in_interval_undercovers(
    key,
    samples: Int(4, 300, log=True) = 20,
    dim: Int(1, 10) = 5,
    leverage: Real(0.26, 3.0, log=True) = 0.3,
    level: Real(0.5, 0.99) = 0.95,
):
    r"""Plug-in prediction intervals undercover.

    The interval f(x) ± z σ̂ with σ̂² = RSS/n ignores that f and σ were estimated: at a point of leverage h it covers
    with probability $P\big(|t_\nu| \le z\sqrt{\nu/(n(1+h))}\big)$, ν = n − d − 1, always below its nominal level.

    $$P\Big(|t_\nu| \le z \sqrt{\frac{\nu}{n (1 + h)}}\Big) < \Phi(z) - \Phi(-z), \quad \nu = n - d - 1$$

    Assumes: the Gaussian linear model holds; n > d + 1.

    Check: 10,000 data sets are drawn on one design; a test point is moved from the centre until its leverage is h.
    """
    assume(samples > dim + 1, "n > d + 1")
    rng = data.generator(key)

    def coverages(n, count, h):
        """Shares covered by the plug-in and by the exact interval at a point of leverage h ≥ 1/n."""
        x = rng.normal(size=(n, dim))
        fit = learning.fit_gaussian(x, rng.standard_normal((count, n)))
        direction = rng.normal(size=dim)
        centre = x.mean(0)
        reach = fit.leverage((centre + direction)[None])[0] - 1 / n
        at = (centre + direction * np.sqrt((h - 1 / n) / reach))[None]
        new = rng.standard_normal((count, 1))
        bands = [learning.predictive_interval(fit, at, level=level, plug_in=p) for p in (True, False)]
        return fit.leverage(at)[0], [np.sum((b.low <= new) & (new <= b.high)) for b in bands]

    predicted = float(plug_in_coverage(samples, dim, leverage, level=level))
    reached, (plug, exact) = coverages(samples, 10_000, leverage)
    yield close(reached, leverage, "leverage of the test point", rtol=1e-6)
    yield frequency(plug, 10_000, predicted, "plug-in coverage, against the formula")
    yield frequency(exact, 10_000, level, "coverage of the exact interval at the same point")
    what = "plug-in coverage, n = 20, d = 5, h = 0.3, nominal 0.95"
    yield reference(plug_in_coverage(20, 5, 0.3), 0.828, what, digits=3)
    grid = product((12, 50, 1000), (1, 5, 10), (0.0, 1.0))
    less = [plug_in_coverage(n, d, h, level=level) for n, d, h in grid]
    yield at_most(less, level, "plug-in coverage over n, d and h, against nominal", strict=True)
    sizes = np.unique(np.geomspace(dim + 3, 200, 8).round().astype(int))
    plugged, kept = np.array([coverages(int(n), 2000, (dim + 1) / n)[1] for n in sizes]).T / 2000
    curve = np.geomspace(dim + 3, 200, 80)
    expected = [plug_in_coverage(n, dim, (dim + 1) / n, level=level) for n in curve]
    covers = f"the plug-in interval covers {plug / 100:.1f}% (predicted {predicted:.1%})"
    title = f"Nominal {level:.0%}, n = {samples}, d = {dim}, leverage {leverage:g}: {covers}"
    lines = {"plug-in": (curve, expected), "exact": (curve, np.full(80, level))}
    points = {"plug-in": (sizes, plugged), "exact": (sizes, kept)}
    yield figure.curves(title, "n", "coverage at a point of leverage (d + 1)/n", lines=lines, points=points, log="x")
