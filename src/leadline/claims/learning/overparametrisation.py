"""Models with more weights than data: when they interpolate, and how much data their weights need."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, mean, printed
from leadline.training import minimise


def _relu(z: np.ndarray) -> np.ndarray:
    return np.maximum(z, 0)


@claim(
    "interpolation-threshold",
    says=(
        "A frozen random layer with p features fits every labeling of n inputs iff its feature matrix has rank n: "
        "generically from p = n on. Low-degree activations, equal inputs with different labels and dead units are "
        "exceptions, however many parameters there are."
    ),
    formula=(
        r"\min_w \|F w - y\|^2 = 0 \ \forall y \iff \mathrm{rank}\,F = n, \qquad E\,\tfrac1n\|F\hat w - y\|^2 = "
        r"\sigma^2\left(1 - \tfrac{\mathrm{rank}\,F}{n}\right)"
    ),
    sources=("cam",),
    assumes=("labels independent of the features, for the expected residual",),
    shows=("learning.draw_features", "learning.fit_readout", "learning.RandomFeatures"),
)
def interpolation_threshold(
    key,
    samples: Annotated[int, Range(20, 80)] = 50,
    dim: Annotated[int, Range(3, 12)] = 10,
    excess: Annotated[int, Range(1, 400)] = 100,
):
    """`excess` features beyond the threshold; each residual is averaged over 400 random labelings."""
    rng = data.generator(key)
    x, labels = rng.standard_normal((samples, dim)), rng.standard_normal((samples, 400))
    wide = learning.draw_features(dim, samples + excess, np.tanh, key=key)
    widths = sorted(
        {1, samples // 4, samples // 2, 3 * samples // 4, samples - 1, samples, samples + 5, samples + excess}
    )
    measured = {}
    for name, phi in {"tanh": np.tanh, "ReLU": _relu}.items():
        features = wide._replace(phi=phi)(x)
        measured[name] = [_residual(features[:, :p], labels) for p in widths]
        for p in (samples // 2, samples - 1):
            rank = np.linalg.matrix_rank(features[:, :p])
            residual = _residual(features[:, :p], labels)
            spread = (2 * (samples - rank)) ** 0.5 / samples
            yield mean(residual, 1 - rank / samples, f"{name}, {p} features: mean squared residual", deviation=spread)
        full = features[:, : samples + excess]
        singular = np.linalg.svd(full, compute_uv=False)
        whole = int(np.sum(singular > singular[0] * 1e-12)) == samples
        fit = learning.fit_readout(learning.RandomFeatures(wide.weights, wide.biases, phi), x, labels[:, 0])
        worst = float(np.abs(fit.predict(full) - labels[:, 0]).max())
        rounding = 1e-14 * samples * singular[0] / singular[samples - 1]
        yield at_most(
            worst, rounding, f"{name}, {samples + excess} features: largest residual of the fit"
        ).given(whole, "the features have rank n")  # fmt: skip

    capped = (dim + 1) * (dim + 2) // 2
    more = capped + 10
    inputs, answers = rng.standard_normal((more, dim)), rng.standard_normal((more, 400))
    square = learning.draw_features(dim, more + excess, np.square, key=key)(inputs)
    yield exactly(
        np.linalg.matrix_rank(square), capped, f"rank of {more + excess} quadratic features, against C(d+2, 2)"
    )
    stalled = _residual(square, answers)
    yield mean(
        stalled, 10 / more, f"quadratic, {more + excess} features, {more} inputs: mean squared residual",
        deviation=20**0.5 / more,
    )  # fmt: skip
    yield printed(
        at_most(stalled.mean(), 1e-12, f"training error with {more + excess} parameters and {more} samples, quadratic"),
        "cam", "more parameters than samples suffice",
    )  # fmt: skip
    twice = np.concatenate([x, x[:1]])
    conflict = np.append(labels[:, 0], labels[0, 0] + 2.0)
    double = _residual(wide(twice), conflict[:, None])[0]
    rank = np.linalg.matrix_rank(wide(x))
    yield at_least(
        double * (samples + 1), 2.0, "summed squared residual with one input twice, labels 2 apart: ½·2²", rtol=1e-6
    )
    yield close(double * (samples + 1), 2.0, "the same, where all else is fitted", rtol=1e-6).given(
        rank == samples, "the features of the different inputs have rank n"
    )
    yield printed(
        at_most(double, 1e-12, f"training error with {samples + excess} parameters and one input twice"),
        "cam", "more parameters than samples suffice",
    )  # fmt: skip
    dead = wide._replace(biases=wide.biases * 0 - 1e3, phi=_relu)(x)
    yield exactly(np.linalg.matrix_rank(dead), 0, "rank of features of dead units (bias −1000)")

    fine = np.arange(1, samples + excess + 1)
    edge = widths.index(samples)
    yield figure.curves(
        f"The mean squared residual falls from {measured['ReLU'][edge - 1].mean():.2g} at {samples - 1} features to "
        f"{measured['ReLU'][edge].mean():.0e} at {samples}",
        x="features p", y="mean squared residual",
        lines={"1 − p/n": (fine, np.where(fine < samples, 1 - fine / samples, np.nan))},
        points={name: (widths, [max(r.mean(), 1e-33) for r in values]) for name, values in measured.items()},
        rules={f"n = {samples}": ("x", samples)}, log="xy",
    )  # fmt: skip


def _residual(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Mean squared residual of the least-squares fit to every column of labels, by projection."""
    basis, singular, _ = np.linalg.svd(features, full_matrices=False)
    basis = basis[:, singular > singular[0] * 1e-12]
    return np.mean((labels - basis @ (basis.T @ labels)) ** 2, axis=0)


@claim(
    "parameters-and-sample-need",
    says=(
        "Least squares with d weights has expected excess risk σ²d/(n−d−1), so its sample need is linear in d. That is "
        "no law for networks: on x₁x₂ a network with all of its 4,200 weights trained is right where 1,000 weights on "
        "frozen features are not."
    ),
    formula=(
        r"E\,\|\hat w - w\|^2 = \frac{\sigma^2 d}{n - d - 1}, \qquad n(\varepsilon) = d + 1 + d\,\sigma^2/\varepsilon"
    ),
    sources=("penn",),
    assumes=("standard normal inputs and n > d + 3, for the formula",),
)
def parameters_and_sample_need(
    key,
    dim: Annotated[int, Range(2, 40)] = 20,
    factor: Annotated[float, Range(2.0, 6.0)] = 3.0,
    noise: Annotated[float, Range(0.1, 3.0, log=True)] = 1.0,
):
    """`factor` is n/d of the simulated regression; network and frozen features see 1,000 of the 2⁴⁰ sign vectors."""
    rng = data.generator(key)
    samples = int(np.ceil(factor * dim)) + 8
    excess = _excess_risks(rng, samples, dim, noise, 600)
    expected = noise**2 * dim / (samples - dim - 1)
    yield mean(
        excess, expected, f"excess risk, n = {samples}, d = {dim}", deviation=_excess_deviation(samples, dim, noise)
    )
    goal = noise**2 / 2
    need = int(np.ceil(dim + 1 + dim * noise**2 / goal))
    reached = _excess_risks(rng, max(need, dim + 8), dim, noise, 600)
    yield mean(reached, goal, f"excess risk at the sample need n = {max(need, dim + 8)} for ε = σ²/2", side="at most",
               deviation=_excess_deviation(max(need, dim + 8), dim, noise))  # fmt: skip

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
        frozen[size] = float(np.mean(np.sign(fit.predict(features(test_x))) == test_y))
    units = 100
    trained, weights = _trained_accuracy(rng, units, (train_x, train_y), (test_x, test_y)), units * 42
    yield at_least(trained, 0.98, f"test accuracy on x₁x₂ of the trained network, {weights} weights")
    yield at_most(frozen[1000], 0.85, "test accuracy of 1000 weights on frozen features")
    yield at_most(frozen[1000], frozen[4000], "more frozen features, better: 1000 against 4000", strict=True)
    yield printed(
        at_least(frozen[1000], trained, f"accuracy of 1000 weights, against {weights}, from 1000 samples"),
        "penn", "more weights need much more data",
    )  # fmt: skip
    grid = np.linspace(1, 40, 40)
    yield figure.beside(
        f"Least squares needs data in proportion to its weights; on x₁x₂ {weights} trained weights reach "
        f"{trained:.2f}, 1000 weights on frozen features {frozen[1000]:.2f}",
        figure.curves(
            "least squares: samples for excess risk σ²/2", x="weights d", y="samples n",
            lines={"d + 1 + d σ²/ε": (grid, grid + 1 + 2 * grid)}, points={"simulated": (dims, needs)},
        ),
        figure.curves(
            "x₁x₂ from 1000 samples", x="weights that are trained", y="test accuracy",
            points={
                "frozen ReLU features": (list(frozen), list(frozen.values())),
                "all weights trained": ([weights], [trained]),
            },
        ),
    )  # fmt: skip


def _excess_risks(rng, samples: int, dim: int, noise: float, trials: int) -> np.ndarray:
    """‖ŵ − w‖² of least squares on standard normal inputs, in independent trials."""
    x = rng.standard_normal((trials, samples, dim))
    e = noise * rng.standard_normal((trials, samples, 1))
    transposed = x.transpose(0, 2, 1)
    error = np.linalg.solve(transposed @ x, transposed @ e)[:, :, 0]
    return np.sum(error**2, axis=1)


def _excess_deviation(samples: int, dim: int, noise: float) -> float:
    """The standard deviation of ‖ŵ − w‖², from the moments of the inverse Wishart law."""
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

    end, _ = minimise(
        lambda net, x, y: jnp.mean(jax.nn.softplus(-y * score(net, x))), jax.tree.map(jnp.asarray, start),
        optax.adamw(1e-2, weight_decay=0.1), 300, *(jnp.asarray(a) for a in train),
    )  # fmt: skip
    return float(np.mean(np.sign(np.asarray(score(end, jnp.asarray(test[0])))) == test[1]))
