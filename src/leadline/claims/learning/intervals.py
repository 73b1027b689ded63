"""Predictive intervals of the Gaussian linear model: exact, and how far the plug-in falls short."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, learning
from leadline.evidence import Range, assume, at_most, claim, close, figure, frequency, method, printed


@method(
    "predictive-interval",
    says=(
        "From a linear fit: the mean, any quantile and an interval for a new target. With Student's t and the "
        "leverage of the point the interval is exact under the Gaussian model for every n."
    ),
    formula=(
        r"f(x) \pm t_{n-d-1}\, s \sqrt{1 + \tilde x^\top (X^\top X)^{-1} \tilde x}, "
        r"\quad s^2 = \frac{\mathrm{RSS}}{n-d-1}"
    ),
    sources=("penn",),
    assumes=("the Gaussian linear model holds", "n > d + 1"),
    shows=(
        "learning.fit_gaussian",
        "learning.GaussianFit",
        "learning.predictive_interval",
        "learning.predictive_quantile",
        "learning.PredictionBand",
    ),
)
def predictive_interval(
    key,
    samples: Annotated[int, Range(4, 300, log=True)] = 15,
    dim: Annotated[int, Range(1, 10)] = 1,
    level: Annotated[float, Range(0.5, 0.99)] = 0.95,
    sigma: Annotated[float, Range(0.01, 100.0, log=True)] = 0.5,
):
    """4000 data sets on one design with a new target each; the diabetes data in 50 random splits of 300 to 142."""
    from scipy.stats import norm

    assume(samples > dim + 1, "n > d + 1")
    key, key_noise = jax.random.split(key)
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    truth = learning.GaussianLinear(rng.normal(size=dim), float(rng.normal()), sigma)
    fit = learning.fit_gaussian(x, truth.draw(x, repeats=4000, key=key_noise))
    at = 2 * rng.normal(size=(1, dim))
    new = truth.mean(at) + sigma * rng.standard_normal((4000, 1))
    band = learning.predictive_interval(fit, at, level=level)
    covered = int(np.sum((band.low <= new) & (new <= band.high)))
    yield frequency(covered, 4000, level, f"new targets in the exact interval, n = {samples}, d = {dim}")
    upper = learning.predictive_quantile(fit, at, 0.95)
    yield frequency(int(np.sum(new <= upper)), 4000, 0.95, "new targets below the exact 95% quantile")
    middle = learning.predictive_quantile(fit, at, 0.5)
    yield close(middle, fit.mean(at), "median, against the mean", atol=1e-9 * sigma)
    plug = learning.predictive_quantile(fit, at, 0.95, plug_in=True) - fit.mean(at)
    yield close(plug[:, 0] / fit.sigma_mle, norm.ppf(0.95), "plug-in upper 5% point in units of σ̂ (1.645)", rtol=1e-9)

    inputs, target, _ = data.diabetes()
    shares = []
    for _ in range(50):
        order = rng.permutation(len(target))
        train, test = order[:300], order[300:]
        real = learning.predictive_interval(learning.fit_gaussian(inputs[train], target[train]), inputs[test])
        shares.append(np.mean((real.low <= target[test]) & (target[test] <= real.high)))
    count = round(float(np.mean(shares)) * len(target))
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
    yield figure.curves(
        f"The exact {level:.0%} interval from n = {samples} covers {covered / 40:.1f}% of 4000 new targets; at 95% it "
        f"covers {np.mean(shares):.1%} of the diabetes data",
        x="x",
        y="y",
        lines={"fit": (grid[:, 0], shown.mean(grid))},
        bands={"exact interval": (grid[:, 0], band.low, band.high)},
        points={
            "training examples": (line[:, 0], y),
            "new, covered": (fresh[inside, 0], targets[inside]),
            "new, missed": (fresh[~inside, 0], targets[~inside]),
        },
    )


@claim(
    "plug-in-interval-undercovers",
    says=(
        "The interval f(x) ± z σ̂ with σ̂² = RSS/n ignores that f and σ were estimated: at a point of leverage h it "
        "covers with probability P(|t| ≤ z √(ν/(n(1+h)))), ν = n−d−1, always below its nominal level."
    ),
    formula=r"P\Big(|t_\nu| \le z \sqrt{\frac{\nu}{n (1 + h)}}\Big) < \Phi(z) - \Phi(-z), \quad \nu = n - d - 1",
    sources=("penn",),
    assumes=("the Gaussian linear model holds", "n > d + 1"),
    shows=("learning.plug_in_coverage",),
)
def plug_in_interval_undercovers(
    key,
    samples: Annotated[int, Range(4, 300, log=True)] = 20,
    dim: Annotated[int, Range(1, 10)] = 5,
    leverage: Annotated[float, Range(0.26, 3.0, log=True)] = 0.3,
    level: Annotated[float, Range(0.5, 0.99)] = 0.95,
):
    """10000 data sets on one design, and a test point moved away from the centre until it has the leverage h."""
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
        return fit.leverage(at)[0], [int(np.sum((b.low <= new) & (new <= b.high))) for b in bands]

    predicted = float(learning.plug_in_coverage(samples, dim, leverage, level=level))
    reached, (plug, exact) = coverages(samples, 10_000, leverage)
    yield close(reached, leverage, "leverage of the test point", rtol=1e-6)
    yield frequency(plug, 10_000, predicted, "plug-in coverage, against the formula")
    yield frequency(exact, 10_000, level, "exact coverage at the same point")
    yield close(learning.plug_in_coverage(20, 5, 0.3), 0.828, "n = 20, d = 5, h = 0.3, nominal 0.95", atol=5e-4)
    grid = [
        learning.plug_in_coverage(n, d, h, level=level) for n in (12, 50, 1000) for d in (1, 5, 10) for h in (0.0, 1.0)
    ]
    yield at_most(grid, level, "plug-in coverage over n, d and h, against nominal", strict=True)
    yield printed(
        close(predicted, level, "coverage of the plug-in interval", atol=1e-3 * (1 - level)),
        "penn",
        "f(x) ± z σ̂ as an interval of the level of z",
    )

    sizes = np.unique(np.geomspace(dim + 3, 200, 8).round().astype(int))
    measured = [coverages(int(n), 2000, (dim + 1) / n)[1] for n in sizes]
    curve = np.geomspace(dim + 3, 200, 80)
    yield figure.curves(
        f"Nominal {level:.0%}, n = {samples}, d = {dim}, leverage {leverage:g}: the plug-in interval covers "
        f"{plug / 100:.1f}% (predicted {predicted:.1%})",
        x="n",
        y="coverage at a point of leverage (d + 1)/n",
        lines={
            "plug-in": (curve, [learning.plug_in_coverage(n, dim, (dim + 1) / n, level=level) for n in curve]),
            "exact": (curve, np.full(80, level)),
        },
        points={
            "plug-in": (sizes, [m[0] / 2000 for m in measured]),
            "exact": (sizes, [m[1] / 2000 for m in measured]),
        },
        log="x",
    )
