"""Instruments for the noise of stochastic gradients: bias and second moments."""

from functools import partial
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, stochastic
from leadline.claims.stochastic.descent_runs import regression
from leadline.evidence import Choice, Range, at_least, at_most, close, exactly, figure, frequency, instrument, printed


def two_layers(params, x):
    """a·tanh(Bx + c), of one input."""
    return params["readout"] @ jnp.tanh(params["weights"] @ x + params["bias"])


def squared_loss(params, x, y):
    return (two_layers(params, x) - y) ** 2 / 2


def weighted_batch_loss(params, x, y, weights):
    return jnp.mean(weights * jax.vmap(partial(squared_loss, params))(x, y))


def draw_network(rng, width, dimension):
    return {
        "weights": jnp.asarray(rng.standard_normal((width, dimension)) / np.sqrt(dimension)),
        "bias": jnp.asarray(0.3 * rng.standard_normal(width)),
        "readout": jnp.asarray(rng.standard_normal(width) / np.sqrt(width)),
    }


@eqx.filter_jit
def sample_gradients(params, x, y):
    return jax.vmap(jax.grad(squared_loss), (None, 0, 0))(params, x, y)


@instrument(
    "gradient-bias-detector",
    says=(
        "Is the mean of a loader's batch gradients the full gradient? A test on random projections and a score for "
        "each layer: uniform loaders pass, a loader with pᵢ ∝ i is caught, and weights 1/(n pᵢ) repair it."
    ),
    formula=r"T^2 = B\, \bar d^{\,T} \hat\Sigma^{-1} \bar d, \quad d_j = P(\hat g_j - g)",
    sources=("penn",),
    shows=("stochastic.gradient_bias", "stochastic.compare_gradients", "stochastic.GradientBias"),
)
def gradient_bias_detector(
    key,
    batches: Annotated[int, Range(300, 800)] = 400,
    skew: Annotated[float, Range(0.8, 1.2)] = 1.0,
    batch: Annotated[int, Range(6, 16)] = 8,
):
    """A network with one hidden layer on 20 examples whose targets grow with the index; 100 loaders of each kind.

    The test trusts the normal law of a mean: the rarest example must be drawn several times, here 9 or more.
    """
    rng = data.generator(key)
    n = 20
    x = rng.standard_normal((n, 3))
    y = np.linspace(-2, 2, n) + 0.3 * rng.standard_normal(n)
    params = draw_network(rng, 4, 3)
    each = {name: np.asarray(g) for name, g in sample_gradients(params, jnp.asarray(x), jnp.asarray(y)).items()}
    full = {name: g.mean(0) for name, g in each.items()}
    p = np.arange(1.0, n + 1) ** skew
    p = p / p.sum()
    keys = np.asarray(jax.random.key_data(jax.random.split(key, 600))).astype(np.uint32)

    def loader(kind, k):
        own = jax.random.wrap_key_data(keys[k])
        rows = stochastic.draw_indices(n, batch, batches, probabilities=None if kind == "uniform" else p, key=own)
        weights = 1 / (n * p[rows]) if kind == "weighted" else np.ones(rows.shape)
        return rows, weights

    def report(kind, k):
        rows, weights = loader(kind, k)
        means = {name: np.einsum("jb,jb...->j...", weights, g[rows]) / batch for name, g in each.items()}
        return stochastic.compare_gradients(full, means, key=key)

    seeds = 100
    reports = {kind: [report(kind, k + shift) for k in range(seeds)] for shift, kind in
               ((0, "uniform"), (200, "skewed"), (400, "weighted"))}  # fmt: skip
    flagged = {kind: sum(r.biased() for r in found) for kind, found in reports.items()}
    yield frequency(
        seeds - flagged["uniform"], seeds, 0.99, "uniform loaders that pass at level 0.001", side="at least"
    )
    yield exactly(flagged["skewed"], seeds, f"loaders with pᵢ ∝ i^{skew:.3g} that are flagged, of {seeds}")
    passed = seeds - flagged["weighted"]
    yield frequency(passed, seeds, 0.99, "loaders with weights 1/(n pᵢ) that pass", side="at least")

    rows, weights = loader("skewed", 0)
    arrays = (jnp.asarray(x), jnp.asarray(y), jnp.ones(n))
    stream = [(arrays[0][r], arrays[1][r], jnp.asarray(c)) for r, c in zip(rows[:60], weights[:60], strict=True)]
    found = stochastic.gradient_bias(weighted_batch_loss, params, arrays, stream, key=key)
    own = jax.tree.map(lambda g: np.einsum("jb,jb...->j...", weights, g[rows])[:60] / batch, each)
    again = stochastic.compare_gradients(full, own, key=key)
    yield close(
        [found.z_scores[name] for name in sorted(each)],
        [again.z_scores[name] for name in sorted(each)],
        "scores from loader and loss, against scores from gradients",
        rtol=1e-6,
    )
    names = list(each)
    yield figure.bars(
        f"{flagged['skewed']} of {seeds} skewed loaders are flagged, {flagged['uniform']} uniform and "
        f"{flagged['weighted']} repaired ones",
        x="layer",
        y="root mean square score (1 without bias)",
        values={
            kind: {name: float(np.sqrt(np.mean([r.z_scores[name] ** 2 for r in found]))) for name in names}
            for kind, found in reports.items()
        },
    )


@instrument(
    "second-moment-constants",
    says=(
        "Pairs (σ₀, σ) with E‖gᵢ‖² ≤ σ₀ + σ‖g‖². On least squares the trade-off is exact: σ must exceed "
        "λ_max(H⁻¹QH⁻¹) ≥ 1, and then σ₀ = q₀ + qᵀ(σH² − Q)⁻¹q; on a network it is the envelope of a scatter."
    ),
    formula=r"E\|g_i\|^2 = v^T Q v - 2 q^T v + q_0 \le \sigma_0 + \sigma \|g\|^2",
    sources=("penn",),
    shows=("stochastic.second_moment_form", "stochastic.SecondMomentForm", "stochastic.second_moment_envelope"),
)
def second_moment_constants(
    key,
    data_set: Annotated[str, Choice("six points", "random")] = "six points",
    dimension: Annotated[int, Range(1, 8)] = 3,
    ratio: Annotated[float, Range(1.01, 10.0, log=True)] = 1.2,
):
    """σ = ratio · σ_min; 20000 random points, and a network along 60 steps of gradient descent."""
    rng = data.generator(key)
    if data_set == "six points":
        six = stochastic.six_points()
        x, y = (np.asarray(a) for a in six.arrays)
    else:
        x, y = regression(rng, 40, dimension)
    p = x.shape[1]
    form, moments = stochastic.second_moment_form(x, y), stochastic.LeastSquaresMoments(x, y)
    sigma = ratio * form.least_slope
    offset = form.offset(sigma)
    v = rng.standard_normal((20000, p)) * rng.choice([0.1, 1.0, 10.0], (20000, 1))
    error = (v @ x.T - moments.residuals) ** 2
    true = error @ np.sum(x**2, 1) / len(x)
    yield close(form(v), true, "E‖gᵢ‖² at 20000 points, against vᵀQv − 2q·v + q₀", rtol=1e-10, atol=1e-10)
    yield at_most(true, offset + sigma * form.gradient_square(v), "E‖gᵢ‖², against σ₀ + σ‖g‖²", rtol=1e-10)
    tight = form.tight_point(sigma)
    bound = offset + sigma * form.gradient_square(tight)
    yield close(form(tight), bound, "E‖gᵢ‖² at v = −(σH² − Q)⁻¹q: the bound is met", rtol=1e-8)
    yield at_least(form.least_slope, 1.0, "σ_min, against 1 (Jensen)", rtol=1e-12)
    if data_set == "six points":
        yield close(form.least_slope, 1.284315, "σ_min of the six points", atol=5e-7)
        yield close(form.offset(1.2 * form.least_slope), 0.181130, "σ₀ at 1.2 σ_min", atol=5e-7)
    direction = np.linalg.eigh(np.linalg.inv(form.hessian) @ form.square @ np.linalg.inv(form.hessian))[1][:, -1]
    far = 1e4 * np.linalg.solve(form.hessian, direction)
    yield printed(
        at_most(form(far), 1e3 * form.constant + 0.9 * form.gradient_square(far), "E‖gᵢ‖² far away, σ = 0.9"),
        "penn",
        "E‖gᵢ‖² ≤ σ₀ + σ‖g‖² with any σ > 0",
    )
    squares, seconds = _along_training(rng)
    network = {s: stochastic.second_moment_envelope(squares, seconds, s) for s in (1.0, 1.5)}
    yield at_least(seconds, squares, "network: E‖gᵢ‖², against ‖g‖² (Jensen)", rtol=1e-12)
    yield at_most(seconds, network[1.5] + 1.5 * squares, "network: E‖gᵢ‖², under its envelope", rtol=1e-12)
    grid = form.least_slope * np.geomspace(1.01, 10, 40)
    yield figure.beside(
        f"σ must exceed {form.least_slope:.4g}; at σ = {sigma:.3g} the least σ₀ is {offset:.3g}",
        figure.curves(
            "least squares: the least σ₀ for each σ",
            x="σ",
            y="σ₀",
            lines={"q₀ + qᵀ(σH² − Q)⁻¹q": (grid, [form.offset(s) for s in grid])},
            rules={"σ_min": ("x", form.least_slope)},
            log="x",
        ),
        figure.curves(
            f"a network in training: envelope with σ = 1.5, σ₀ = {network[1.5]:.3g}",
            x="‖g‖²",
            y="E‖gᵢ‖²",
            lines={"σ₀ + 1.5‖g‖²": (np.sort(squares), network[1.5] + 1.5 * np.sort(squares))},
            points={"along training": (squares, seconds)},
        ),
    )


def _along_training(rng):
    """‖g‖² and E‖gᵢ‖² of a small network at 60 steps of gradient descent."""
    x, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    params = draw_network(rng, 4, 3)
    squares, seconds = [], []
    for _ in range(60):
        each = sample_gradients(params, jnp.asarray(x), jnp.asarray(y))
        flat = np.concatenate([np.asarray(g).reshape(40, -1) for g in each.values()], axis=1)
        squares.append(float(np.sum(flat.mean(0) ** 2)))
        seconds.append(float(np.mean(np.sum(flat**2, 1))))
        params = {name: p - 0.3 * np.asarray(each[name]).mean(0) for name, p in params.items()}
    return np.array(squares), np.array(seconds)
