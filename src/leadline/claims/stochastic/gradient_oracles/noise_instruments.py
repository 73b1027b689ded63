"""Instruments for the noise of stochastic gradients: bias and second moments."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, stochastic
from leadline.claims.stochastic.gradient_oracles.descent_runs import regression
from leadline.evidence import Int, OneOf, Real, at_least, at_most, close, exactly, frequency, instrument, reference
from leadline.presentation import figure
from leadline.stochastic.noise.bias_test import compare_gradients
from leadline.stochastic.problems.finite_sum import six_points


def squared_loss(params, x, y):
    """½(a·tanh(Bx + c) − y)², of one input."""
    return (params["readout"] @ jnp.tanh(params["weights"] @ x + params["bias"]) - y) ** 2 / 2


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


@instrument(sources=("penn",))
def gradient_bias_detector(key, batches: Int(300, 800) = 400, skew: Real(0.8, 1.2) = 1.0, batch: Int(6, 16) = 8):
    r"""Detecting biased data loaders.

    Is the mean of a loader's batch gradients the full gradient? This is answered by a test on random projections and a
    score for each layer: uniform loaders pass, a loader with pᵢ ∝ i is caught, and weights 1/(n pᵢ) repair it.

    $$T^2 = B\, \bar d^{\,T} \hat\Sigma^{-1} \bar d, \quad d_j = P(\hat g_j - g)$$

    Check: 100 loaders of each kind feed a network with one hidden layer 20 examples whose targets grow with the index.
    The test needs a normally distributed mean: the rarest example must be drawn several times, here 9 or more.
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
        return compare_gradients(full, means, key=key)

    seeds, shifts = 100, {"uniform": 0, "skewed": 200, "weighted": 400}
    reports = {kind: [report(kind, k + shift) for k in range(seeds)] for kind, shift in shifts.items()}
    flagged = {kind: sum(r.biased() for r in found) for kind, found in reports.items()}
    passed = {kind: seeds - found for kind, found in flagged.items()}
    yield frequency(passed["uniform"], seeds, 0.99, "uniform loaders that pass at level 0.001", side="at least")
    yield exactly(flagged["skewed"], seeds, f"loaders with pᵢ ∝ i^{skew:.3g} that are flagged, of {seeds}")
    yield frequency(passed["weighted"], seeds, 0.99, "loaders with weights 1/(n pᵢ) that pass", side="at least")
    rows, weights = loader("skewed", 0)
    arrays = (jnp.asarray(x), jnp.asarray(y), jnp.ones(n))
    stream = [(arrays[0][r], arrays[1][r], jnp.asarray(c)) for r, c in zip(rows[:60], weights[:60], strict=True)]
    found = stochastic.gradient_bias(weighted_batch_loss, params, arrays, stream, key=key)
    own = jax.tree.map(lambda g: np.einsum("jb,jb...->j...", weights, g[rows])[:60] / batch, each)
    again = compare_gradients(full, own, key=key)
    scores = ([report.z_scores[name] for name in sorted(each)] for report in (found, again))
    yield close(*scores, "scores from loader and loss, against scores from gradients", rtol=1e-6)
    values = {
        kind: {name: np.sqrt(np.mean([r.z_scores[name] ** 2 for r in rs])) for name in each}
        for kind, rs in reports.items()
    }
    title = f"{flagged['skewed']} of {seeds} skewed loaders are flagged, {flagged['weighted']} repaired ones"
    yield figure.bars(title, "layer", "root mean square score (1 without bias)", values=values)


@instrument(sources=("penn",))
def second_moment_constants(
    key,
    data_set: OneOf("six points", "random") = "six points",
    dimension: Int(1, 8) = 3,
    ratio: Real(1.01, 10.0, log=True) = 1.2,
):
    r"""Second-moment constants of gradient noise.

    Pairs (σ₀, σ) with E‖gᵢ‖² ≤ σ₀ + σ‖g‖². On least squares the trade-off is exact: σ must exceed λₘₐₓ(H⁻¹QH⁻¹) ≥ 1,
    and then σ₀ = q₀ + qᵀ(σH² − Q)⁻¹q; on a network it is the envelope of a scatter plot.

    $$E\|g_i\|^2 = v^T Q v - 2 q^T v + q_0 \le \sigma_0 + \sigma \|g\|^2$$

    Check: σ = `ratio` · σₘᵢₙ at 20 000 random points, and on a network along 60 steps of gradient descent.
    """
    rng = data.generator(key)
    if data_set == "six points":
        x, y = (np.asarray(a) for a in six_points().arrays)
    else:
        x, y = regression(rng, 40, dimension)
    form, moments = stochastic.second_moment_form(x, y), stochastic.LeastSquaresMoments(x, y)
    sigma = ratio * form.least_slope
    offset = form.offset(sigma)
    v = rng.standard_normal((20000, x.shape[1])) * rng.choice([0.1, 1.0, 10.0], (20000, 1))
    error = (v @ x.T - moments.residuals) ** 2
    true = error @ np.sum(x**2, 1) / len(x)
    yield close(form(v), true, "E‖gᵢ‖² at 20000 points, against vᵀQv − 2q·v + q₀", rtol=1e-10, atol=1e-10)
    yield at_most(true, offset + sigma * form.gradient_square(v), "E‖gᵢ‖², against σ₀ + σ‖g‖²", rtol=1e-10)
    tight = form.tight_point(sigma)
    bound = offset + sigma * form.gradient_square(tight)
    yield close(form(tight), bound, "E‖gᵢ‖² at v = −(σH² − Q)⁻¹q: the bound is met", rtol=1e-8)
    yield at_least(form.least_slope, 1.0, "σ_min, against 1 (Jensen)", rtol=1e-12)
    if data_set == "six points":
        yield reference(form.least_slope, 1.284315, "σ_min of the six points", digits=7)
        yield reference(form.offset(1.2 * form.least_slope), 0.181130, "σ₀ of the six points at 1.2 σ_min", digits=6)
    squares, seconds = _along_training(rng)
    network = {s: stochastic.second_moment_envelope(squares, seconds, s) for s in (1.0, 1.5)}
    yield at_least(seconds, squares, "network: E‖gᵢ‖², against ‖g‖² (Jensen)", rtol=1e-12)
    yield at_most(seconds, network[1.5] + 1.5 * squares, "network: E‖gᵢ‖², under its envelope", rtol=1e-12)
    grid = form.least_slope * np.geomspace(1.01, 10, 40)
    lines = {"q₀ + qᵀ(σH² − Q)⁻¹q": (grid, [form.offset(s) for s in grid])}
    rules = {"σ_min": ("x", form.least_slope)}
    exact = figure.curves("least squares: the least σ₀ for each σ", "σ", "σ₀", lines=lines, rules=rules, log="x")
    lines = {"σ₀ + 1.5‖g‖²": (np.sort(squares), network[1.5] + 1.5 * np.sort(squares))}
    points = {"along training": (squares, seconds)}
    name = f"a network in training: envelope with σ = 1.5, σ₀ = {network[1.5]:.3g}"
    envelope = figure.curves(name, "‖g‖²", "E‖gᵢ‖²", lines=lines, points=points)
    title = f"σ must exceed {form.least_slope:.4g}; at σ = {sigma:.3g} the least σ₀ is {offset:.3g}"
    yield figure.beside(title, exact, envelope)


def _along_training(rng):
    """‖g‖² and E‖gᵢ‖² of a small network at 60 steps of gradient descent."""
    x, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    params = draw_network(rng, 4, 3)
    squares, seconds = [], []
    for _ in range(60):
        each = sample_gradients(params, jnp.asarray(x), jnp.asarray(y))
        flat = np.concatenate([np.asarray(g).reshape(40, -1) for g in each.values()], axis=1)
        squares.append(np.sum(flat.mean(0) ** 2))
        seconds.append(np.mean(np.sum(flat**2, 1)))
        params = {name: p - 0.3 * np.asarray(each[name]).mean(0) for name, p in params.items()}
    return np.array(squares), np.array(seconds)
