"""Covariate shift: what it costs a wrong and a right model, how it is seen, and how weights repair it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from scipy.special import ndtr, ndtri

from leadline import learning, networks, regularisation
from leadline.evidence import Int, Real, at_least, close, exactly, frequency, mean, method, model, smaller
from leadline.presentation import figure

NOISE, BEND = 0.5, 0.5
FITS, ALARMS = 300, 200


def curve(x):
    """The truth x + x²/2, which no line follows."""
    return x[..., 0] + BEND * x[..., 0] ** 2


def gaussian_shift(by, stretch=1.0):
    """Inputs N(0, 1) in training and N(by, stretch²) at test time."""
    start = learning.GaussianClasses(((0.0,),), (0,))
    return regularisation.CovariateShift(
        curve, start, regularisation.shifted_inputs(start, by=by, stretch=stretch), NOISE
    )


def moments(by, stretch, top):
    """E xᵏ for k = 0..top of N(by, stretch²), by the recursion of Stein."""
    m = [1.0, by]
    for k in range(2, top + 1):
        m.append(by * m[-1] + (k - 1) * stretch**2 * m[-2])
    return np.array(m)


def polynomial_risk(coefficients, by, stretch):
    """E (g(x) − f(x))² + σ² at test time for the polynomial g with these coefficients, lowest first, row by row."""
    apart = np.array(coefficients, float)
    apart[..., 1] -= 1.0
    apart[..., 2] -= BEND
    m = moments(by, stretch, 4)
    second = m[np.add.outer(np.arange(3), np.arange(3))]
    return np.einsum("...i,ij,...j->...", apart, second, apart) + NOISE**2


def line_coefficients(fit):
    """The coefficients of a line, or of a stack of lines, as of a parabola."""
    slope = np.asarray(fit.weights)[..., 0]
    return np.stack([np.broadcast_to(fit.bias, slope.shape), slope, np.zeros_like(slope)], axis=-1)


@model(sources=("penn",), shows=("regularisation.CovariateShift", "regularisation.detect_shift"))
def covariate_shift(key, shift: Real(0.25, 3.0) = 1.5, stretch: Real(0.5, 1.4) = 1.0, samples: Int(40, 400) = 100):
    r"""Covariate shift.

    The inputs have another density at test time, the rule from inputs to answers is the same. A wrong model, the best
    line for a bent truth, is best only where it was fitted: its test risk grows with the shift. A right model pays only
    variance. A classifier that tells training from test inputs detects the shift.

    $$p_{\mathrm{train}}(x) \ne p_{\mathrm{test}}(x), \quad p(y|x) \text{ common}; \qquad E\,R_{\mathrm{test}} =
    \sigma^2 + E_{\mathrm{test}}(\bar g - f)^2 + \sigma^2 \operatorname{tr}[(\Phi^\top\Phi)^{-1}
    E_{\mathrm{test}}\varphi \varphi^\top]$$

    Assumes: inputs N(0, 1) in training, N(δ, s²) at test; f(x) = x + x²/2; noise of deviation 1/2; ḡ is the fit to f.

    Check: Lines and parabolas are fitted to 300 draws of the noise on the same inputs; their risks are known in closed
    form. The detector is asked 200 times without a shift, and at the shift; for s = 1 no score has a larger area under
    the curve than Φ(δ/√2).
    """
    world = gaussian_shift(shift, stretch)
    keys = jax.random.split(key, 4)
    x = world.draw("train", samples, key=keys[0]).x
    rng = np.random.default_rng(np.asarray(jax.random.key_data(keys[1])).ravel())
    y = curve(x) + NOISE * rng.standard_normal((FITS, samples))
    spots = np.linspace(0, 3, 13)
    measured, predicted = {}, {}
    here = int(np.argmin(np.abs(spots - shift)))
    for name, degree in (("line", 1), ("parabola", 2)):
        powers = x ** np.arange(1, degree + 1)
        fits = learning.least_squares(np.broadcast_to(powers, (FITS, *powers.shape)), y)
        mean_fit = learning.least_squares(powers, curve(x))
        laws = [_risk_law(powers, _full(mean_fit), by, stretch) for by in spots]
        measured[name] = np.stack([polynomial_risk(_full(fits), by, stretch) for by in spots])
        predicted[name] = np.array([expected for expected, _ in laws])
        what = f"test risk of the fitted {name} at δ = {spots[here]:.3g}: mean over draws of the noise, against the sum"
        yield mean(measured[name][here], laws[here][0], what, deviation=laws[here][1])
    best = polynomial_risk(np.array([BEND, 1.0, 0.0]), 0.0, 1.0)
    grown = [polynomial_risk(np.array([BEND, 1.0, 0.0]), by, 1.0) - best for by in spots]
    closed = BEND**2 * (spots**4 + 4 * spots**2)
    yield close(grown, closed, "excess risk of the best line at s = 1, against (δ⁴ + 4δ²)/4", atol=1e-10)
    ends = measured["line"].mean(axis=1)[[0, -1]]
    yield at_least(
        ends[1], ends[0], "test risk of the fitted lines, mean: at δ = 3, against that at δ = 0", strict=True
    )
    alarms, areas = _detected(keys[2], 0.0, 1.0, samples, ALARMS), _detected(keys[3], shift, stretch, samples, 20)
    false = int(np.sum(alarms[:, 1] <= 0.05))
    yield frequency(false, ALARMS, 0.05, "no shift: share of alarms at p ≤ 0.05", side="at most")
    if stretch == 1.0:
        best_area = float(ndtr(shift / np.sqrt(2)))
        yield mean(areas[:, 0], best_area, "area under the curve of the detector, against Φ(δ/√2)", side="at most")
    yield _shift_figure(world, x, y[0], spots, measured, predicted, areas)


def _full(fit):
    """Coefficients of a fit of degree 1 or 2, lowest first, padded to degree 2."""
    weights = np.asarray(fit.weights)
    padded = np.concatenate([weights, np.zeros((*weights.shape[:-1], 2 - weights.shape[-1]))], axis=-1)
    return np.concatenate([np.broadcast_to(fit.bias, weights.shape[:-1])[..., None], padded], axis=-1)


def _risk_law(powers, coefficients, by, stretch):
    """Mean and deviation over the noise of the test risk: a quadratic form of the normal errors of a fit."""
    phi = np.hstack([np.ones((len(powers), 1)), powers])
    spread = np.zeros((3, 3))
    spread[: phi.shape[1], : phi.shape[1]] = NOISE**2 * np.linalg.inv(phi.T @ phi)
    second = moments(by, stretch, 4)[np.add.outer(np.arange(3), np.arange(3))]
    both, slope = second @ spread, 2 * second @ (coefficients - np.array([0.0, 1.0, BEND]))
    expected = polynomial_risk(coefficients, by, stretch) + np.trace(both)
    return expected, np.sqrt(slope @ spread @ slope + 2 * np.trace(both @ both))


def _detected(key, by, stretch, samples, times):
    """Area and p-value of the detector on fresh pairs of samples."""
    world, found = gaussian_shift(by, stretch), []
    for one in jax.random.split(key, times):
        a, b, c = jax.random.split(one, 3)
        train, test = world.draw("train", samples, key=a).x, world.draw("test", samples, key=b).x
        answer = regularisation.detect_shift(train, test, permutations=199, key=c)
        found.append((answer.auc, answer.p_value))
    return np.array(found)


def _shift_figure(world, x, y, spots, measured, predicted, areas):
    by = world.test.means[0][0]
    line = learning.least_squares(x, y)
    grid = np.linspace(min(x.min(), by - 2.5), max(x.max(), by + 2.5), 120)[:, None]
    lines = {
        "truth": (grid[:, 0], curve(grid)),
        "fitted line": (grid[:, 0], line.predict(grid)),
        "density in training": (grid[:, 0], 5 * world.train.density(grid)),
        "density at test": (grid[:, 0], 5 * world.test.density(grid)),
    }
    left = figure.curves("One truth, two densities (times 5)", "x", "y", lines=lines, points={"training": (x[:, 0], y)})
    middles = {name: risks.mean(axis=1) for name, risks in measured.items()}
    right = figure.curves(
        "Test risk against the shift",
        "shift δ",
        "test risk",
        log="y",
        lines={name: (spots, risks) for name, risks in predicted.items()},
        points={name: (spots, risks) for name, risks in middles.items()},
    )
    here = int(np.argmin(np.abs(spots - by)))
    title = (
        f"At a shift of {spots[here]:.3g} the line has test risk {middles['line'][here]:.2f}, the parabola "
        f"{middles['parabola'][here]:.2f}; the detector's area is {areas[:, 0].mean():.2f}"
    )
    return figure.beside(title, left, right)


@method(
    sources=("penn",),
    shows=(
        "regularisation.fit_weighted",
        "regularisation.weighted_least_squares",
        "regularisation.density_ratios",
        "regularisation.effective_sample_size",
    ),
)
def importance_weighted_erm(
    key, shift: Real(0.75, 1.75) = 1.25, samples: Int(400, 1500) = 600, proximal: Real(0.001, 1.0, log=True) = 0.01
):
    r"""Importance-weighted risk minimisation.

    The risk of any predictor under the test inputs is the mean of its training losses with weights that are the ratio
    of the densities. The line that minimises it is better at test time than the unweighted one. Poor overlap leaves few
    effective rows: for N(0, 1) and N(δ, 1) their share falls as exp(−δ²), and below 10 rows the fit is refused.

    $$\min_w \frac1n \sum_i p_i\, l_i(w) + \frac{\mu}{2}\|w - \hat w\|^2, \quad p_i = \frac{p_{\mathrm{test}}(x_i)}
    {p_{\mathrm{train}}(x_i)}; \qquad n_{\mathrm{eff}} = \frac{(\sum_i p_i)^2}{\sum_i p_i^2}$$

    Assumes: p(y|x) is common; there are training inputs wherever there are test inputs; the densities are known, or
    learned from inputs alone.

    Check: N(0, 1) and N(δ, 1), truth x + x²/2; 100 samples for the known densities, 12 for those of a calibrated
    classifier. The interval of the weighted risk uses its exact deviation, since the weights have heavy tails. For
    large δ a sample mostly misses the large weights, so that the effective size it shows is too good.
    """
    world = gaussian_shift(shift)
    keys = jax.random.split(key, 100)
    plain, weighted, sums, sizes = [], [], [], []
    start = np.array([BEND, 1.0, 0.0])  # the best line in training
    for one in keys:
        x, y = world.draw("train", samples, key=one)
        p = world.weights(x)
        losses = (y - start[0] - start[1] * x[:, 0]) ** 2
        sums.append(np.mean(p * losses))
        sizes.append(regularisation.effective_sample_size(p))
        plain.append(polynomial_risk(line_coefficients(learning.least_squares(x, y)), shift, 1.0))
        if sizes[-1] >= 10:
            line = regularisation.weighted_least_squares(x, y, p)
            weighted.append(polynomial_risk(line_coefficients(line), shift, 1.0))
    risk, deviation = _weighted_risk_law(start, shift)
    what = "weighted training risk of the best training line: mean over samples, against its test risk"
    yield mean(sums, risk, what, deviation=deviation / np.sqrt(samples))
    yield smaller(weighted, plain, "test risk of the weighted line, against the unweighted one")
    yield _learned(world, shift, samples, keys[:12], plain)
    yield _routes(world, samples, proximal, keys[0])
    half = gaussian_shift(0.75)
    squares = half.weights(half.draw("train", 20000, key=key).x) ** 2
    what = "E p² at δ = 0.75 over 20000 rows, against exp(δ²): the share of effective rows is its inverse"
    yield mean(squares, np.exp(0.75**2), what, deviation=np.sqrt(np.exp(6 * 0.75**2) - np.exp(2 * 0.75**2)))
    yield exactly(_refused(), True, "400 quantiles of N(0, 1) and a shift of 4: the fit is refused")
    yield _weights_figure(world, shift, samples, keys[0], np.mean(plain), np.mean(weighted))


def _weighted_risk_law(coefficients, by):
    """Mean and deviation of p·l for one training row: the test risk of a line, and by E[l²|x] under N(2δ, 1)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(24)  # exact for polynomials up to degree 47
    x = nodes + 2 * by
    apart = coefficients[0] + coefficients[1] * x - curve(x[:, None])
    fourth = apart**4 + 6 * apart**2 * NOISE**2 + 3 * NOISE**4
    second = np.exp(by**2) * np.sum(weights * fourth) / np.sqrt(2 * np.pi)
    risk = polynomial_risk(coefficients, by, 1.0)
    return risk, np.sqrt(second - risk**2)


def _learned(world, shift, samples, keys, plain):
    """Lines whose weights a classifier learned from the inputs of both sides."""
    found = []
    for one in keys:
        a, b, c = jax.random.split(one, 3)
        x, y = world.draw("train", samples, key=a)
        ratios = regularisation.density_ratios(x, world.draw("test", samples, key=b).x, key=c)
        line = regularisation.weighted_least_squares(x, y, ratios.weights)
        found.append(polynomial_risk(line_coefficients(line), shift, 1.0))
    return smaller(found, plain, "test risk with weights of a classifier, against the unweighted line")


def _routes(world, samples, proximal, key):
    """The weighted line by gradient descent on its objective, against the normal equations."""
    x, y = world.draw("train", samples, key=key)
    p = world.weights(x)
    anchor = learning.least_squares(x, y)
    exact = regularisation.weighted_least_squares(x, y, p, proximal=proximal, anchor=anchor)
    net = networks.MLP((1, 1), dtype=float, key=key)
    there = (jnp.asarray(anchor.weights)[None], jnp.asarray(anchor.bias)[None])
    net = eqx.tree_at(lambda n: (n.layers[0].weight, n.layers[0].bias), net, there)
    rows = learning.design(x)
    steep = np.linalg.eigvalsh(2 * (rows.T * p) @ rows / samples).max() + proximal
    run = regularisation.fit_weighted(
        net,
        (x, y),
        p,
        loss="squared",
        proximal=proximal,
        optimiser=optax.sgd(1 / steep),
        epochs=2000,
        batch=samples,
        key=key,
    )
    last = run.model.layers[0]
    measured = np.append(np.asarray(last.weight).ravel(), np.asarray(last.bias))
    what = "weighted line held near the unweighted one: slope and intercept by training, against the normal equations"
    return close(measured, [*exact.weights, exact.bias], what, atol=1e-6)


def _refused():
    """Whether the fit is refused on the 400 quantiles of N(0, 1), seen from N(4, 1)."""
    world = gaussian_shift(4.0)
    x = ndtri((np.arange(400) + 0.5) / 400)[:, None]
    try:
        regularisation.weighted_least_squares(x, curve(x), world.weights(x))
    except ValueError as error:
        return "effective sample size" in str(error)
    return False


def _weights_figure(world, shift, samples, key, plain, weighted):
    x, y = world.draw("train", samples, key=key)
    p = world.weights(x)
    grid = np.linspace(-3, shift + 2.5, 100)[:, None]
    fits = {
        "unweighted line": learning.least_squares(x, y),
        "weighted line": regularisation.weighted_least_squares(x, y, p),
    }
    lines = {"truth": (grid[:, 0], curve(grid))} | {n: (grid[:, 0], fit.predict(grid)) for n, fit in fits.items()}
    left = figure.curves(
        "Lines under training and test weighting", "x", "y", lines=lines, points={"training": (x[:, 0], y)}
    )
    middle = figure.histogram("Weights of the training rows", "log₁₀ of the weight", samples={"weights": np.log10(p)})
    spots = np.linspace(0, 4, 17)
    shares = [_size_share(by, samples, key) for by in spots]
    right = figure.curves(
        f"Effective share of {samples} rows",
        "shift δ",
        "effective share",
        log="y",
        lines={"exp(−δ²)": (spots, np.exp(-(spots**2)))},
        points={"measured": (spots, shares)},
        rules={"10 rows": ("y", 10 / samples)},
    )
    title = f"Weights take the line's test risk from {plain:.2f} to {weighted:.2f} at a shift of {shift:.3g}"
    return figure.beside(title, left, middle, right)


def _size_share(by, samples, key):
    world = gaussian_shift(by)
    return regularisation.effective_sample_size(world.weights(world.draw("train", samples, key=key).x)) / samples
