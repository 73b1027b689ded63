"""Bias and variance: the decomposition of the squared error, and its U-shape over capacity."""

import jax
import numpy as np

from leadline import data, learning, regularisation
from leadline.claims.scenarios.regularisation.noisy_wave import GRID, draw_wave, trained_networks, wave, wave_learner
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, erratum, mean
from leadline.learning.regression.polynomial import polynomial_fit
from leadline.presentation import figure
from leadline.regularisation.evaluation.bias_variance import linear_terms

BATCHES = 20


def _refitted(learner, capacity, samples, noise, datasets, key):
    draw = lambda one: draw_wave(one, samples, noise)  # noqa: E731
    if learner == "network":
        x, y = (np.stack(part) for part in zip(*map(draw, jax.random.split(key, datasets)), strict=True))
        said = np.asarray(trained_networks(x, y, key))
        return regularisation.squared_terms(said, wave(GRID), noise**2)
    fit_predict = wave_learner(learner, capacity)
    return regularisation.bias_variance(fit_predict, draw, GRID, wave(GRID), noise=noise**2, datasets=datasets, key=key)


@claim(sources=("penn",), shows=("regularisation.bias_variance",))
def bias_variance_decomposition(
    key,
    learner: OneOf("polynomial", "ridge", "neighbours", "network") = "polynomial",
    capacity: Int(0, 5) = 3,
    samples: Int(25, 100) = 30,
    noise: Real(0.05, 1.0) = 0.3,
    datasets: OneOf(200, 400, 800) = 400,
):
    r"""Bias–variance decomposition.

    Averaged over training sets D, the squared distance of the fitted function from f* is squared bias plus variance.
    Averaged over x too, and with the Bayes error, it is the expected risk of what is learned.

    $$\mathbb{E}_D (f_D(x) - f^*(x))^2 = (\mathbb{E}_D f_D(x) - f^*(x))^2 + \mathrm{Var}_D f_D(x), \qquad \mathbb{E}_D
    R(f_D) = \mathbb{E}_x[\text{bias}^2 + \text{variance}] + R^*$$

    Assumes: squared loss; D is independent of the new row.

    Check: A sine with noise, refitted on `datasets` training sets. In each of 20 batches the four terms come from
    different draws: bias² from the product of two halves, variance within the batch, noise from pairs of labels, risk
    from other training sets on new rows. Ridge: a tenth of the penalty for each step of capacity; neighbours: 12 −
    2·capacity of them, at least 1.
    """
    keys = jax.random.split(key, 3)
    rng = data.generator(keys[2])
    found = _refitted(learner, capacity, samples, noise, datasets, keys[0])
    first = found.excess.mean(axis=0)
    both = found.bias_squared + found.variance
    yield close(first, both, "mean of (f_D − f*)² at each x, against bias² + variance", atol=1e-12 * first.max())
    others = _refitted(learner, capacity, samples, noise, datasets, keys[1]).predictions
    rows = rng.integers(len(GRID), size=(datasets, 50))
    fresh = wave(GRID[rows]) + noise * rng.normal(size=rows.shape)
    losses = (np.take_along_axis(others, rows, axis=1) - fresh) ** 2
    parts = _terms_by_batch(found, rng, noise)
    risks = losses.reshape(BATCHES, -1).mean(axis=1)
    right = mean(risks - sum(parts.values()), 0.0, "E_D R(f_D) less bias² + variance + noise, 20 batches")
    yield right
    total = both.mean() + noise**2
    one = found.excess.mean(axis=1) + noise**2
    yield erratum(
        close(one, total, "R(f_D) of each training set, against bias² + variance + noise", rtol=1e-3),
        of=right,
        by="penn",
        prints="R(f) = bias² + variance + Bayes error, (7.7); bias and variance are means over D: E_D R(f_D)",
    )
    low, high = np.quantile(found.predictions, [0.05, 0.95], axis=0)
    fan = figure.curves(
        "f_D: 90% of them, their mean, and the truth",
        "x",
        "prediction",
        lines={"f*": (GRID, wave(GRID)), "mean of f_D": (GRID, found.mean)},
        bands={"90% of f_D": (GRID, low, high)},
    )
    share = {name: float(np.mean(part)) for name, part in parts.items()}
    title = (
        f"{learner.capitalize()}: bias² {share['bias²']:.3f} + variance {share['variance']:.3f} + noise "
        f"{share['noise']:.3f} = {sum(share.values()):.3f}; measured risk {losses.mean():.3f}"
    )
    yield figure.beside(title, fan, _dartboard(samples, noise, keys[0]))


def _terms_by_batch(found, rng, noise):
    """Unbiased bias², variance and noise of each batch of training sets, averaged over x."""
    groups = found.predictions.reshape(BATCHES, -1, len(GRID))
    half = groups.shape[1] // 2
    off = [part.mean(axis=1) - found.truth for part in (groups[:, :half], groups[:, half:])]
    twice = noise * rng.normal(size=(BATCHES, 500, 2))
    return {
        "bias²": (off[0] * off[1]).mean(axis=1),
        "variance": groups.var(axis=1, ddof=1).mean(axis=1),
        "noise": (np.diff(twice, axis=2) ** 2 / 2).mean(axis=(1, 2)),
    }


def _dartboard(samples, noise, key):
    """Predictions at two inputs by four learners; the truth is the bull's eye."""
    spots = np.array([24, 60])
    learners = {
        "low bias, low variance (degree 3)": ("polynomial", 3, samples),
        "low bias, high variance (1 neighbour)": ("neighbours", 6, samples),
        "high bias, low variance (degree 0)": ("polynomial", 0, samples),
        "high bias, high variance (degree 1, 6 rows)": ("polynomial", 1, 6),
    }
    shots = {name: _refitted(*options, noise, 40, key).predictions[:, spots] for name, options in learners.items()}
    domain = ((-1.2, 1.8), (-1.7, 1.3))
    shots["truth"] = wave(GRID[spots])[None]
    sizes = {name: 25.0 for name in learners} | {"truth": 250.0}
    return figure.plane(
        "Four learners, 40 training sets each", "f_D(0.245)", "f_D(0.605)", points=shots, sizes=sizes, domain=domain
    )


@claim(sources=("penn",), empirical=True)
def u_shaped_risk_curve(key, noise: Real(0.1, 0.6) = 0.3, degrees: Int(12, 15) = 15):
    r"""U-shaped risk against capacity.

    With fewer parameters than rows, bias² falls and variance rises as the degree of a polynomial grows. Their sum is
    least at a degree in between, and that degree does not fall as rows are added.

    $$\text{bias}^2(x) = (S_x f^*(X) - f^*(x))^2, \qquad \text{variance}(x) = \sigma^2 \|S_x\|^2, \qquad
    \hat f(x) = S_x\, y$$

    Assumes: p < n; the number of parameters stands for capacity, which beyond p = n it no longer does.

    Check: f* = sin 2πx, noise of standard deviation `noise`, 20, 50 and 200 evenly spaced rows, degrees 0 to
    `degrees`. Both terms are exact; 400 refits at some degrees are averaged beside them.
    """
    grid = np.linspace(0.005, 0.995, 100)
    rng = data.generator(key)
    panels, least = [], []
    for n in (20, 50, 200):
        rows = (np.arange(n) + 0.5) / n
        terms = [_polynomial_terms(rows, grid, degree, noise) for degree in range(degrees + 1)]
        bias, variance = (np.array([part.mean() for part in column]) for column in zip(*terms, strict=True))
        best = int(np.argmin(bias + variance))
        least.append(best)
        inside = _polynomial_terms(rows, rows, degrees, noise)
        yield close(
            inside.variance.mean(),
            noise**2 * (degrees + 1) / n,
            f"n = {n}: mean variance at the rows, against σ²p/n",
            rtol=1e-9,
        )
        yield at_most(
            np.diff(bias), 1e-3 * bias[0], f"n = {n}: change of bias² with the degree, at new inputs"
        ).as_empirical()
        yield at_least(
            np.diff(variance), 0.0, f"n = {n}: change of the variance with the degree, at new inputs"
        ).as_empirical()
        yield at_least(
            min(best, degrees - best), 1, f"n = {n}: distance of the best degree from both ends"
        ).as_empirical()
        tried = sorted({1, 3, best, 9})
        y = wave(rows) + noise * rng.normal(size=(400, n))
        measured = [
            (
                (
                    polynomial_fit(np.broadcast_to(rows, y.shape), y, d).predict(np.broadcast_to(grid, (400, 100)))
                    - wave(grid)
                )
                ** 2
            ).mean(axis=1)
            for d in tried
        ]
        for d, excess in zip(tried, measured, strict=True):
            yield mean(
                excess, bias[d] + variance[d], f"n = {n}, degree {d}: (f_D − f*)² of 400 refits, against the exact sum"
            )
        x = np.arange(degrees + 1)
        lines = {"bias²": (x, np.maximum(bias, 1e-6)), "variance": (x, variance), "sum": (x, bias + variance)}
        points = {"sum": (tried, [m.mean() for m in measured])}
        panels.append(
            figure.curves(
                f"n = {n}: least at degree {best}", "degree", "squared error", lines=lines, points=points, log="y"
            )
        )
    yield at_least(np.diff(least), 0, "change of the best degree from n = 20 to 50 to 200").as_empirical()
    title = (
        f"The risk is U-shaped in the degree; least at degree {least[0]}, {least[1]}, {least[2]} for 20, 50, 200 rows"
    )
    yield figure.beside(title, *panels)


def _polynomial_terms(rows, inputs, degree, noise):
    smoother = learning.legendre_features(inputs, degree) @ np.linalg.pinv(learning.legendre_features(rows, degree))
    return linear_terms(smoother, wave(rows), wave(inputs), noise**2)
