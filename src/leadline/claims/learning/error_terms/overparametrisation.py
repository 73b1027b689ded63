"""Models with more weights than data: when they interpolate, and how much data their weights need."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, mean
from leadline.presentation import figure
from leadline.training import minimise


def _relu(z: np.ndarray) -> np.ndarray:
    return np.maximum(z, 0)


@claim(sources=("cam",))
def interpolation_threshold(key, samples: Int(20, 80) = 50, dim: Int(3, 12) = 10, excess: Int(1, 400) = 100):
    r"""Interpolation threshold of random features.

    A frozen random layer with p features fits every labelling of n inputs iff its feature matrix has rank n:
    generically from p = n on. Low-degree activations, equal inputs with different labels and dead units are
    exceptions, however many parameters there are.

    $$\min_w \|F w - y\|^2 = 0 \ \forall y \iff \mathrm{rank}\,F = n, \qquad E\,\tfrac1n\|F\hat w - y\|^2 =
    \sigma^2\left(1 - \tfrac{\mathrm{rank}\,F}{n}\right)$$

    Assumes: labels independent of the features, for the expected residual.

    Check: The layer has `excess` features beyond the threshold; residuals are averaged over 400 random labellings.
    """
    rng = data.generator(key)
    x, labels = rng.standard_normal((samples, dim)), rng.standard_normal((samples, 400))
    wide = learning.draw_features(dim, samples + excess, np.tanh, key=key)
    quarters = (samples // 4, samples // 2, 3 * samples // 4)
    widths = sorted({1, *quarters, samples - 1, samples, samples + 5, samples + excess})
    measured = {}
    for name, phi in {"tanh": np.tanh, "ReLU": _relu}.items():
        frozen = wide._replace(phi=phi)
        features = frozen(x)
        measured[name] = [_residual(features[:, :p], labels).mean() for p in widths]
        for p in (samples // 2, samples - 1):
            rank = np.linalg.matrix_rank(features[:, :p])
            residual = _residual(features[:, :p], labels)
            spread = (2 * (samples - rank)) ** 0.5 / samples
            yield mean(residual, 1 - rank / samples, f"{name}, {p} features: mean squared residual", deviation=spread)
        singular = np.linalg.svd(features, compute_uv=False)
        whole = np.sum(singular > singular[0] * 1e-12) == samples
        worst = np.abs(learning.fit_readout(frozen, x, labels[:, 0]).predict(features) - labels[:, 0]).max()
        rounding = 1e-14 * samples * singular[0] / singular[samples - 1]
        what = f"{name}, {samples + excess} features: largest residual of the fit"
        yield at_most(worst, rounding, what).given(whole, "the features have rank n")
    capped = (dim + 1) * (dim + 2) // 2
    more = capped + 10
    inputs, answers = rng.standard_normal((more, dim)), rng.standard_normal((more, 400))
    square = learning.draw_features(dim, more + excess, np.square, key=key)(inputs)
    what = f"rank of {more + excess} quadratic features, against C(d+2, 2)"
    yield exactly(np.linalg.matrix_rank(square), capped, what)
    what = f"quadratic, {more + excess} features, {more} inputs: mean squared residual"
    yield mean(_residual(square, answers), 10 / more, what, deviation=20**0.5 / more)
    twice = np.concatenate([x, x[:1]])
    conflict = np.append(labels[:, 0], labels[0, 0] + 2.0)
    double = _residual(wide(twice), conflict[:, None])[0] * (samples + 1)
    what = "summed squared residual with one input twice, labels 2 apart"
    yield at_least(double, 2.0, f"{what}: at least ½·2²", rtol=1e-6)
    whole = np.linalg.matrix_rank(wide(x)) == samples
    what = f"{what}: ½·2² where all else is fitted"
    yield close(double, 2.0, what, rtol=1e-6).given(whole, "the features of the different inputs have rank n")
    dead = wide._replace(biases=wide.biases * 0 - 1e3, phi=_relu)(x)
    yield exactly(np.linalg.matrix_rank(dead), 0, "rank of features of dead units (bias −1000)")
    fine, edge = np.arange(1, samples), widths.index(samples)
    before, after = measured["ReLU"][edge - 1 : edge + 1]
    title = f"The mean squared residual falls from {before:.2g} at {samples - 1} features to {after:.0e} at {samples}"
    lines = {"1 − p/n": (fine, 1 - fine / samples)}
    points, rules = {name: (widths, values) for name, values in measured.items()}, {f"n = {samples}": ("x", samples)}
    yield figure.curves(title, "features p", "mean squared residual", lines=lines, points=points, rules=rules, log="xy")


def _residual(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Mean squared residual of the least-squares fit to every column of labels, by projection."""
    basis, singular, _ = np.linalg.svd(features, full_matrices=False)
    basis = basis[:, singular > singular[0] * 1e-12]
    return np.mean((labels - basis @ (basis.T @ labels)) ** 2, axis=0)


@claim(sources=("penn",))
def parameters_and_sample_need(
    key, dim: Int(2, 40) = 20, factor: Real(2.0, 6.0) = 3.0, noise: Real(0.1, 3.0, log=True) = 1.0
):
    r"""Sample complexity and parameter count.

    Least squares with d weights has expected excess risk σ²d/(n − d − 1), so the number of samples it needs is linear
    in d. This is not a general rule for networks: on x₁x₂ a network with all of its 4,200 weights trained succeeds
    where 1,000 weights on frozen features do not.

    $$E\,\|\hat w - w\|^2 = \frac{\sigma^2 d}{n - d - 1}, \qquad n(\varepsilon) = d + 1 + d\,\sigma^2/\varepsilon$$

    Assumes: standard normal inputs and n > d + 3, for the formula.

    Check: `factor` is the ratio n/d of the simulated regression. Networks and frozen features see 1,000 sign vectors.
    """
    rng = data.generator(key)
    samples = int(np.ceil(factor * dim)) + 8
    excess = _excess_risks(rng, samples, dim, noise, 600)
    expected = noise**2 * dim / (samples - dim - 1)
    spread = _excess_deviation(samples, dim, noise)
    yield mean(excess, expected, f"excess risk of least squares, n = {samples}, d = {dim}", deviation=spread)
    goal = noise**2 / 2
    need = max(int(np.ceil(dim + 1 + dim * noise**2 / goal)), dim + 8)
    reached, spread = _excess_risks(rng, need, dim, noise, 600), _excess_deviation(need, dim, noise)
    what = f"excess risk at the sample need n = {need} for ε = σ²/2"
    yield mean(reached, goal, what, side="at most", deviation=spread)
    dims = np.array([4, 8, 16, 32])
    needs = []
    for d in dims:
        sizes = np.array([2, 3, 4]) * d + 8
        inverse = [1 / _excess_risks(rng, int(n), int(d), noise, 300).mean() for n in sizes]
        rate, offset = np.polyfit(sizes, inverse, 1)  # 1/excess is linear in n
        needs.append((1 / goal - offset) / rate)
    train_x, test_x = (rng.choice(np.array([-1, 1], np.float32), (n, 40)) for n in (1000, 2000))
    train_y, test_y = (x[:, 0] * x[:, 1] for x in (train_x, test_x))
    frozen = {}
    for size in (1000, 2000, 4000):
        features = learning.draw_features(40, size, _relu, key=jax.random.fold_in(key, size), dtype=np.float32)
        fit = learning.fit_readout(features, train_x, train_y, ridge=1e-3 * size)
        frozen[size] = np.mean(np.sign(fit.predict(features(test_x))) == test_y)
    units = 100
    trained, weights = _trained_accuracy(rng, units, (train_x, train_y), (test_x, test_y)), units * 42
    yield at_least(trained, 0.98, f"test accuracy on x₁x₂ of the trained network, {weights} weights").as_empirical()
    yield at_most(frozen[1000], 0.85, "test accuracy on x₁x₂ of 1000 weights on frozen features").as_empirical()
    what = "test accuracy on x₁x₂ of 1000 frozen features, against 4000"
    yield at_most(frozen[1000], frozen[4000], what, strict=True).as_empirical()
    grid = np.linspace(1, 40, 40)
    lines, points = {"d + 1 + d σ²/ε": (grid, grid + 1 + 2 * grid)}, {"simulated": (dims, needs)}
    title = "least squares: samples for excess risk σ²/2"
    linear = figure.curves(title, "weights d", "samples n", lines=lines, points=points)
    points = {"frozen ReLU features": (list(frozen), list(frozen.values()))}
    points["all weights trained"] = ([weights], [trained])
    product = figure.curves("x₁x₂ from 1000 samples", "weights that are trained", "test accuracy", points=points)
    title = (
        f"Least squares needs data in proportion to its weights; on x₁x₂ {weights} trained weights reach "
        f"{trained:.2f}, 1000 weights on frozen features {frozen[1000]:.2f}"
    )
    yield figure.beside(title, linear, product)


def _excess_risks(rng, samples: int, dim: int, noise: float, trials: int) -> np.ndarray:
    """‖ŵ − w‖² of least squares on standard normal inputs, in independent trials."""
    x = rng.standard_normal((trials, samples, dim))
    e = noise * rng.standard_normal((trials, samples, 1))
    transposed = x.transpose(0, 2, 1)
    error = np.linalg.solve(transposed @ x, transposed @ e)[:, :, 0]
    return np.sum(error**2, axis=1)


def _excess_deviation(samples: int, dim: int, noise: float) -> float:
    """The standard deviation of ‖ŵ − w‖², from the moments of the inverse Wishart distribution."""
    free = samples - dim
    scale = free * (free - 1) * (free - 3)
    trace_squared = (dim**2 * (free - 2) + 2 * dim) / scale
    trace_of_square = dim * (samples - 1) / scale
    second = trace_squared + 2 * trace_of_square
    return float(noise**2 * np.sqrt(second - (dim / (free - 1)) ** 2))


def _trained_accuracy(rng, units: int, train: tuple, test: tuple) -> float:
    """Test accuracy of a two-layer ReLU network after 300 Adam steps on the logistic loss."""
    start = (
        rng.standard_normal((40, units), dtype=np.float32) / np.float32(40**0.5),
        np.zeros(units, np.float32),
        rng.standard_normal(units, dtype=np.float32) / np.float32(units**0.5),
    )

    def score(net, x):
        return jax.nn.relu(x @ net[0] + net[1]) @ net[2]

    def loss(net, x, y):
        return jnp.mean(jax.nn.softplus(-y * score(net, x)))

    rule = optax.adamw(1e-2, weight_decay=0.1)
    end, _ = minimise(loss, jax.tree.map(jnp.asarray, start), rule, 300, *(jnp.asarray(a) for a in train))
    return float(np.mean(np.sign(score(end, jnp.asarray(test[0]))) == test[1]))
