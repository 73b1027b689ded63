"""Risks that can be measured: the gap between training and test risk, and the Bayes error from rows alone."""

import jax
import numpy as np

from leadline import data, learning, regularisation
from leadline.evidence import Int, Real, at_least, at_most, close, frequency, instrument, mean
from leadline.learning.risk.risk import expected_fit_risks
from leadline.presentation import figure
from leadline.regularisation.evaluation.nearest_neighbour_bracket import cover_hart_ceiling
from leadline.regularisation.evaluation.risk_gaps import loss_estimate


@instrument(sources=("penn", "sheet"), shows=("regularisation.risk_gap",))
def risk_and_gap(
    key,
    samples: Int(25, 100) = 30,
    dim: Int(1, 8) = 8,
    sigma: Real(0.1, 3.0, log=True) = 0.3,
    datasets: Int(100, 400) = 200,
):
    r"""Training risk, test risk and their gap.

    The empirical risk is the mean loss on the rows of the fit, the population risk the expected loss on a new row.
    The gap is their difference. A regulariser is any change that is meant to lower the second, not the first.

    $$\hat R(f) = \frac1n \sum_{i=1}^n l(f(x_i), y_i), \qquad R(f) = \mathbb{E}\, l(f(x), y), \qquad \text{gap}
    = R - \hat R$$

    Assumes: the test rows are new draws from the distribution of the training rows.

    Check: Least squares on Gaussian inputs, whose expected gap has a closed form. A polynomial of degree 10 on a noisy
    sine, with a ridge, with early stopping and with fewer terms: risks by quadrature and from 20000 new rows. The
    0-1 loss of a threshold between two Gaussian classes, with the interval of Clopper and Pearson.
    """
    rng = data.generator(key)
    gaps = []
    for _ in range(datasets):
        weights = rng.normal(size=dim)
        x = rng.normal(size=(samples + 200, dim))
        y = x @ weights + sigma * rng.normal(size=len(x))
        fit = learning.least_squares(x[:samples], y[:samples], intercept=False)
        gaps.append(regularisation.risk_gap(fit.predict, (x[:samples], y[:samples]), (x[samples:], y[samples:])).gap)
    low, high = expected_fit_risks(samples, dim, sigma)
    yield mean(gaps, high - low, "gap of least squares on Gaussian inputs, against σ²(d/(n − d − 1) + d/n)")
    wave, error = lambda x: np.sin(2 * np.pi * x[..., 0]), learning.noise_distribution("gaussian", sigma)
    law = learning.RegressionDistribution(wave, learning.UniformInputs(), error)
    train, fresh = law.draw((samples,), rng), law.draw((20_000,), rng)
    found = {}
    for name, predict in _toggled(train).items():
        found[name] = regularisation.risk_gap(predict, train, fresh)
        exact = learning.population_risk(predict, law, atol=1e-8)
        yield mean(
            (predict(fresh.x) - fresh.y) ** 2, exact, f"{name}: loss of new rows, against the risk by quadrature"
        )
    classes = learning.GaussianClasses(((-1.0,), (1.0,)), (-1, 1))
    held = learning.draw_sample(classes, 100, repeats=400, key=jax.random.fold_in(key, 1))
    wrong = np.where(held.x[..., 0] > 0.3, 1, -1) != held.y
    risk = learning.population_risk(lambda x: np.where(x[..., 0] > 0.3, 1, -1), classes, loss="zero-one")
    intervals = [loss_estimate(losses) for losses in 1.0 * wrong]
    covered = sum(one.low <= risk <= one.high for one in intervals)
    yield frequency(covered, 400, 0.95, "0-1 loss on 100 rows: exact 95% intervals that hold the risk", side="at least")
    bars = {"training risk": {}, "gap": {}}
    for name, one in found.items():
        bars["training risk"][name] = one.train.risk, one.train.risk - one.train.error, one.train.risk + one.train.error
        bars["gap"][name] = one.gap, one.gap - one.gap_error, one.gap + one.gap_error
    best = min(found, key=lambda name: found[name].test.risk)
    none = found["none"]
    least = f"test risk {none.test.risk:.2g}, least {found[best].test.risk:.2g} ({best})"
    title = f"Without a regulariser: training risk {none.train.risk:.2g}, gap {none.gap:.2g}; {least}"
    yield figure.categories(title, "regulariser", "squared loss ± standard error", points=bars)


def _toggled(train):
    """Polynomials of degree 10 on the same rows: free, with a ridge, stopped early, with fewer terms."""

    def features(x, degree):
        return learning.legendre_features(x[..., 0], degree)[..., 1:]

    filters = {
        "none": (regularisation.RidgeFilter(0.0), 10),
        "ridge": (regularisation.RidgeFilter(0.1), 10),
        "stopped": (regularisation.FlowFilter(5.0), 10),
        "degree 5": (regularisation.RidgeFilter(0.0), 5),
    }

    def predictor(kept, degree):
        fits = regularisation.filtered_fits(features(train.x, degree), train.y[:, None], [kept])
        return lambda x: (features(x, degree) @ fits.weights[0] + fits.bias[0])[..., 0]

    return {name: predictor(*options) for name, options in filters.items()}


@instrument(sources=("penn",), shows=("regularisation.bayes_error_bracket",))
def bayes_error(
    key, distance: Real(0.0, 6.0) = 2.0, classes: Int(2, 5) = 2, rows: Int(20_000, 100_000, log=True) = 100_000
):
    r"""Bayes error and the nearest neighbour.

    The Bayes error is the risk that no function can avoid, 0 only if y is a function of x. From labelled rows alone,
    the error of the nearest neighbour brackets it: in the limit of many rows it lies above the Bayes error and below
    twice that.

    $$R^* = \mathbb{E}\,\mathrm{Var}(y|x) \;\text{ or }\; \mathbb{E}\Big[1 - \max_c P(c|x)\Big], \qquad R^* \le
    R_{1NN} \le R^* \Big(2 - \tfrac{C}{C-1} R^*\Big)$$

    Assumes: the bracket is that of infinitely many rows.

    Check: C unit Gaussians on a line, `distance` apart, with equal shares; 5000 rows are classified. The nearest
    neighbour's limit is also computed, E[1 − Σ P(c|x)²]. For squared loss: two labels at each of 20000 inputs.
    """
    from scipy.stats import norm

    exact = 2 * (classes - 1) / classes * norm.cdf(-distance / 2)
    law = learning.GaussianClasses(tuple((distance * c,) for c in range(classes)), tuple(range(classes)))
    yield close(
        learning.bayes_risk(law, loss="zero-one"), exact, "R* by quadrature, against (2 − 2/C)Φ(−D/2)", atol=1e-8
    )
    found = _bracket(law, rows, key)
    limit = law.expectation(lambda x: 1 - (law.posterior(x) ** 2).sum(axis=-1))
    yield frequency(found.mistakes, found.items, limit, "error of the nearest neighbour, against its limit")
    yield frequency(found.mistakes, found.items, exact, "error of the nearest neighbour, against R*", side="at least")
    most = float(cover_hart_ceiling(exact, classes))
    yield frequency(
        found.mistakes, found.items, most, "error of the nearest neighbour, against R*(2 − R*C/(C−1))", side="at most"
    )
    yield at_most(limit, most, "limit of the nearest neighbour, against R*(2 − R*C/(C−1))", atol=1e-9)
    yield at_most(found.low, exact, "lower end of the bracket from rows alone, against R*")
    yield at_least(found.high, exact, "upper end of the bracket from rows alone, against R*")
    wave = learning.RegressionDistribution(
        lambda x: np.sin(2 * np.pi * x[..., 0]),
        learning.UniformInputs(),
        learning.noise_distribution("gaussian", 0.3),
        _swell,
    )
    rng = data.generator(key)
    x = wave.inputs.draw((20_000,), rng)
    twice = wave.target(x)[:, None] + _swell(x)[:, None] * wave.noise.rvs(size=(20_000, 2), random_state=rng)
    floor = learning.bayes_risk(wave, loss="squared")
    yield mean(
        np.diff(twice, axis=1) ** 2 / 2, floor, "squared loss: half the squared difference of two labels, against R*"
    )
    steps = np.linspace(0, 6, 13)
    lines, points = _against_distance(steps, classes, key)
    bracket = f"[{found.low:.3f}, {found.high:.3f}]"
    title = f"The nearest neighbour errs at {found.error:.3f}: the Bayes error {exact:.3f} is in {bracket}"
    yield figure.curves(title, "distance D of the classes", "error", lines=lines, points=points)


def _swell(x):
    return 0.5 + x[..., 0]


def _bracket(law, rows, key, confidence=0.9999):
    train, test = (learning.draw_sample(law, n, key=jax.random.fold_in(key, n)) for n in (rows, 5000))
    return regularisation.bayes_error_bracket(train.x, train.y, test.x, test.y, confidence=confidence)


def _against_distance(steps, classes, key):
    """R*, the ceiling of the nearest neighbour, and the brackets from 20000 rows, for each distance."""
    from scipy.stats import norm

    bayes = 2 * (classes - 1) / classes * norm.cdf(-steps / 2)
    lines = {"R*": (steps, bayes), "R*(2 − R*C/(C−1))": (steps, cover_hart_ceiling(bayes, classes))}
    laws = [learning.GaussianClasses(tuple((d * c,) for c in range(classes)), tuple(range(classes))) for d in steps]
    found = [_bracket(law, 20_000, key, 0.95) for law in laws]
    errors = [one.error for one in found]
    middle = [(one.low + one.high) / 2 for one in found]
    bracket = steps, middle, [one.low for one in found], [one.high for one in found]
    return lines, {"nearest neighbour": (steps, errors), "bracket for R* from rows": bracket}
