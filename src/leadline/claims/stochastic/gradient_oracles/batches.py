"""The mean, covariance and second moment of a batch gradient by enumeration; sampling without replacement."""

from itertools import combinations, permutations, product

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, stochastic
from leadline.claims.stochastic.gradient_oracles.descent_runs import regression
from leadline.claims.stochastic.gradient_oracles.noise_instruments import draw_network, sample_gradients
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, reference, slope, smaller
from leadline.presentation import figure
from leadline.stochastic.problems.finite_sum import six_points
from leadline.stochastic.runs.index_streams import SAMPLERS


def _spread(rows):
    return np.atleast_2d(np.cov(rows, rowvar=False, bias=True))


@jax.jit
def _normalised_gradients(w, x, y, masks):
    """Gradients of the mean loss of each subset (a row of `masks`) with batch normalisation over the subset."""

    def loss(w, mask):
        share = mask / mask.sum()
        hidden = x @ w[:6].reshape(3, 2)
        centre = share @ hidden
        hidden = (hidden - centre) / jnp.sqrt(share @ (hidden - centre) ** 2 + 0.1)
        return share @ (jnp.tanh(hidden) @ w[6:8] - y) ** 2 / 2

    return jax.vmap(jax.grad(loss), (None, 0))(w, masks)


@claim(sources=("sheet", "penn", "eth"))
def minibatch_gradient_unbiased(key, samples: Int(5, 8) = 6, batch: Int(1, 3) = 2, skew: Real(0.2, 3.0) = 1.0):
    r"""Mini-batch gradients are unbiased.

    Under uniform sampling, with or without replacement, the mean of the batch gradient is the full gradient; with
    probabilities pᵢ it is ∑ pᵢgᵢ, and weights 1/(n pᵢ) repair it. The batch gradient of a loss that couples examples
    is biased at every b < n.

    $$E\,\hat g = g, \qquad E\,\hat g_p = \sum_i p_i g_i$$

    Check: Enumerates all batches of least squares in 3 dimensions, and all subsets for a batch-normalised network.
    """
    rng = data.generator(key)
    x, y = regression(rng, samples, 3)
    gradients = x * (x @ rng.standard_normal(3) - y)[:, None]
    full, size = gradients.mean(0), np.abs(gradients).max()
    p = np.arange(1.0, samples + 1) ** skew
    p = p / p.sum()
    drawn = np.array(list(product(range(samples), repeat=batch)))
    chance = np.prod(p[drawn], axis=1)
    uniform = gradients[drawn].mean(1).mean(0)
    without = np.mean([gradients[list(c)].mean(0) for c in combinations(range(samples), batch)], axis=0)
    skewed = chance @ gradients[drawn].mean(1)
    weighted = chance @ (gradients[drawn] / (samples * p[drawn])[..., None]).mean(1)
    tolerance = 1e-12 * size * samples
    yield close(uniform, full, f"mean over all {len(drawn)} batches with replacement", atol=tolerance)
    yield close(without, full, "mean over all batches without replacement", atol=tolerance)
    yield close(skewed, p @ gradients, "mean with probabilities pᵢ, against Σpᵢgᵢ", atol=tolerance)
    yield close(weighted, full, "mean with pᵢ and weights 1/(n pᵢ)", atol=tolerance)
    masks = np.array([m for m in product([0.0, 1.0], repeat=samples) if sum(m) >= 2])
    features, targets = jnp.asarray(rng.standard_normal((samples, 3))), jnp.asarray(rng.standard_normal(samples))
    points = jnp.asarray(rng.standard_normal(8))
    coupled = np.asarray(_normalised_gradients(points, features, targets, jnp.asarray(masks)))
    sizes, whole = masks.sum(1), coupled[-1]
    bias = {b: np.linalg.norm(coupled[sizes == b].mean(0) - whole) for b in range(2, samples + 1)}
    yield at_least(bias[2], 1e-3 * np.linalg.norm(whole), "‖bias‖ with batch normalisation, b = 2", strict=True)
    yield at_most(bias[samples - 1], bias[2], "‖bias‖ with batch normalisation, b = n − 1 against b = 2", strict=True)
    size, most = np.linalg.norm(full), np.linalg.norm(whole)
    lines = {"skewed": ([1, samples], np.full(2, np.linalg.norm(p @ gradients - full) / size))}
    means = {"uniform": uniform, "skewed": skewed, "reweighted": weighted}
    found = {name: ([batch], [np.linalg.norm(value - full) / size]) for name, value in means.items()}
    found["batch normalisation"] = list(bias), np.array(list(bias.values())) / most
    title = f"Batch normalisation has bias {bias[2] / most:.0%} of the gradient at b = 2; uniform sampling has none"
    yield figure.curves(title, "batch b", "‖E ĝ − g‖ / ‖g‖", lines=lines, points=found)


@claim(sources=("penn", "sheet", "eth"))
def minibatch_variance(key, samples: Int(2, 6) = 6, dimension: Int(1, 5) = 2, eta: Real(0.01, 1.0, log=True) = 0.1):
    r"""Covariance of a mini-batch gradient.

    The covariance of a batch gradient is C/b with replacement and $\frac{C}{b} \cdot \frac{n-b}{n-1}$ without, which
    is 0 at b = n. The step's covariance given w is η² times that, and depends on w.

    $$\mathrm{Cov}(\hat g) = \frac{C}{b} \quad\text{or}\quad \frac{C}{b}\, \frac{n - b}{n - 1}$$

    Check: Enumerates all batches of all sizes; then 2000 batches of each size for a small network with 40 examples.
    """
    rng = data.generator(key)
    x, y = regression(rng, samples, dimension)
    gradients = x * (x @ rng.standard_normal(dimension) - y)[:, None]
    covariance = _spread(gradients)
    tolerance = 1e-12 * max(np.trace(covariance), np.max(gradients**2))
    for b in range(1, samples + 1):
        drawn = gradients[np.array(list(product(range(samples), repeat=b)))].mean(1)
        found = _spread(drawn)
        yield close(found, covariance / b, f"Cov(ĝ) with replacement, b = {b}", atol=tolerance)
        drawn = gradients[np.array(list(combinations(range(samples), b)))].mean(1)
        found, predicted = _spread(drawn), covariance / b * (samples - b) / (samples - 1)
        yield close(found, predicted, f"Cov(ĝ) without replacement, b = {b}", atol=tolerance)
    found = _spread(-eta * gradients)
    yield close(found, eta**2 * covariance, "covariance of a step, against η²C", atol=tolerance)
    params = draw_network(rng, 4, 3)
    each = sample_gradients(params, jnp.asarray(rng.standard_normal((40, 3))), jnp.asarray(rng.standard_normal(40)))
    flat = np.concatenate([np.asarray(g).reshape(40, -1) for g in each.values()], axis=1)
    trace, sizes = np.sum(flat.var(0)), np.array([1, 2, 4, 8, 16, 32, 40])
    order = np.argsort(rng.random((2000, 40)), axis=1)
    measured = {"with": [], "without": []}
    for b in sizes:
        clouds = (flat[rng.integers(40, size=(2000, b))].mean(1), flat[order[:, :b]].mean(1))
        for name, cloud in zip(measured, clouds, strict=True):
            measured[name].append(np.mean(np.sum((cloud - flat.mean(0)) ** 2, 1)))
    yield slope(sizes, measured["with"], -1.0, "network: variance against b, with replacement", within=0.03)
    yield at_most(measured["without"][-1], 1e-20 * trace, "network: variance at b = n without replacement", atol=1e-24)
    b = np.geomspace(1, 39.5, 60)
    title = f"Network: variance {trace:.3g}/b with replacement; without, it falls to 0 at b = n = 40"
    lines = {"with: tr C/b": (b, trace / b), "without: (tr C/b)(n − b)/(n − 1)": (b, trace / b * (40 - b) / 39)}
    points = {
        "with: tr C/b": (sizes, measured["with"]),
        "without: (tr C/b)(n − b)/(n − 1)": (sizes[:-1], measured["without"][:-1]),
    }
    yield figure.curves(title, "batch b", "E‖ĝ − g‖²", lines=lines, points=points, log="xy")


@claim(sources=("penn",))
def minibatch_second_moment(key, offset: Real(0.5, 10.0, log=True) = 2.0, ratio: Real(1.05, 5.0, log=True) = 1.2):
    r"""Second moment of a mini-batch gradient.

    E‖ĝ‖² = ‖g‖² + tr C/b, never below ‖g‖². From E‖gᵢ‖² ≤ σ₀ + σ‖g‖² it follows that it is at most σ₀/b + (1 + (σ −
    1)/b)‖g‖²: a batch divides the noise, not the gradient.

    $$E\|\hat g_b\|^2 = \|g\|^2 + \frac{\mathrm{tr}\,C}{b} \le \frac{\sigma_0}{b} + \left(1 + \frac{\sigma -
    1}{b}\right)\|g\|^2$$

    Check: The six points at w = w* + `offset` with σ = `ratio` · σₘᵢₙ; batches of 1 to 4 examples are enumerated too.
    """
    x, y = (np.asarray(a) for a in six_points().arrays)
    form, moments = stochastic.second_moment_form(x, y), stochastic.LeastSquaresMoments(x, y)
    gradients = x[:, 0] * (x[:, 0] * (moments.minimiser[0] + offset) - y)
    sizes = np.array([1, 2, 4, 8, 16, 32, 64])

    def second_moments(away, sigma, b):
        """E‖ĝ‖² at w* + away, its bound, the bound of the erratum and ‖g‖²."""
        single, square = form(np.array([away])), form.gradient_square(np.array([away]))
        true, first = square + (single - square) / b, form.offset(sigma) / b
        return true, first + (1 + (sigma - 1) / b) * square, first + sigma / b * square, square

    true, repaired, printed, square = second_moments(offset, ratio * form.least_slope, sizes)
    for b in (1, 2, 4):
        drawn = gradients[np.array(list(product(range(6), repeat=b)))].mean(1)
        yield close(np.mean(drawn**2), true[sizes == b], f"E‖ĝ‖² over all batches of {b}", rtol=1e-12)
    bound = at_most(true, repaired, "E‖ĝ‖², against σ₀/b + (1 + (σ − 1)/b)‖g‖²", rtol=1e-12)
    yield bound
    yield at_least(true, square, "E‖ĝ‖², against ‖g‖²")
    found, bounds, wrong, _ = second_moments(2.0, 1.2 * form.least_slope, np.array([1, 2, 4, 64]))
    yield reference(found, [3.3442, 3.0060, 2.8369, 2.6783], "E‖ĝ‖² at w* + 2, b = 1, 2, 4, 64", digits=5)
    what = "bound on E‖ĝ‖² at w* + 2, b = 1, 2, 4, 64, σ = 1.541178"
    yield reference(bounds, [4.2927, 3.4802, 3.0740, 2.6932], what, digits=5)
    prints = "E‖ĝ‖² ≤ σ₀/b + (σ/b)‖g‖²"
    yield erratum(at_most(found[1], wrong[1], "E‖ĝ‖² at w* + 2, b = 2"), of=bound, by="penn", prints=prints)
    yield erratum(at_most(true[-1], printed[-1], "E‖ĝ‖², b = 64"), of=bound, by="penn", prints=prints)
    title = f"At b = 64 E‖ĝ‖² is {true[-1]:.4g}: under {repaired[-1]:.4g}, above the erratum's {printed[-1]:.2g}"
    lines = {"repaired bound": (sizes, repaired), "erratum": (sizes, printed)}
    points, rules = {"E‖ĝ‖²": (sizes, true)}, {"‖g‖²": ("y", square)}
    yield figure.curves(title, "batch b", "second moment", lines=lines, points=points, rules=rules, log="xy")


@claim(sources=("penn",))
def with_vs_without_replacement(
    key, eta: Real(0.02, 0.5, log=True) = 0.1, start: Real(0.0, 2.0) = 0.0, epochs: Int(10, 60) = 30
):
    r"""Sampling with versus without replacement.

    Sampling without replacement is better: from w*, one epoch leaves E‖w − w*‖² of order η⁴, against η² with
    replacement, by enumeration of all orders; the advantage persists over many epochs.

    $$E\|v\|^2 = O(\eta^4) \text{ without}, \quad O(\eta^2) \text{ with replacement}$$

    Check: Enumerates all 720 orders of six points; then 200 runs on 40 examples in 5 dimensions with step size 2η/Lₘₐₓ.
    """
    six = six_points()
    moments = stochastic.LeastSquaresMoments(*(np.asarray(a) for a in six.arrays))
    orders = np.array(list(permutations(range(6))))

    def one_epoch(step, distance):
        ends = stochastic.sgd_runs(six, moments.minimiser + distance, step, orders, every=6)[:, -1]
        return np.mean((np.asarray(ends) - moments.minimiser) ** 2)

    def drawn(step, distance):
        return moments.path(moments.minimiser + distance, np.full(6, step)).distances[-1]

    etas = np.array([0.02, 0.05, 0.1, 0.2])
    without, given = np.array([one_epoch(s, 0.0) for s in etas]), np.array([drawn(s, 0.0) for s in etas])
    what = "E‖v‖² after one epoch from w*, η = .02, .05, .1, .2"
    yield reference(without, [3.54e-7, 1.26e-5, 1.73e-4, 2.05e-3], f"{what}, without replacement", digits=3)
    yield reference(given, [3.54e-4, 1.97e-3, 6.56e-3, 1.91e-2], f"{what}, with replacement", digits=3)
    small = np.geomspace(1e-5, 1e-4, 4)
    what = "E‖v‖² after one epoch from w* against η"
    yield slope(small, [one_epoch(s, 0.0) for s in small], 4.0, f"{what}, without replacement", within=0.01)
    yield slope(small, [drawn(s, 0.0) for s in small], 2.0, f"{what}, with replacement", within=0.01)
    what = f"E‖v‖² after one epoch from w* + {start:.3g}: without, against with replacement"
    faster = at_most(one_epoch(eta, start), drawn(eta, start), what)
    yield faster
    wrong = at_most(given, without, "E‖v‖² after one epoch from w*: with, against without replacement")
    yield erratum(wrong, of=faster, by="penn", prints="sampling with replacement is faster, citing Recht and Ré 2012")
    rng = data.generator(key)
    x5, y5 = regression(rng, 40, 5)
    five, many = stochastic.least_squares_sum(x5, y5), stochastic.LeastSquaresMoments(x5, y5)
    step, ends, curves = 2 * eta / np.max(np.sum(x5**2, 1)), {}, {}
    for name in SAMPLERS:
        rows = stochastic.index_stream(40, 40 * epochs, sampler=name, key=key, seeds=200)
        points = np.asarray(stochastic.sgd_runs(five, many.minimiser, step, rows, every=40))[:, 1:]
        distances = np.sum((points - many.minimiser) ** 2, axis=2)  # (run, epoch)
        ends[name], curves[name] = distances[:, -1], distances.mean(axis=0)
    yield smaller(ends["reshuffle"], ends["replacement"], f"‖v‖² after {epochs} epochs: reshuffled, against with")
    exact = many.path(many.minimiser, np.full(40 * epochs, step)).distances[40::40]
    ages = np.arange(1, epochs + 1)
    reached = curves["reshuffle"][-1], curves["replacement"][-1]
    title = f"After {epochs} epochs from w*: reshuffled {reached[0]:.2g}, with replacement {reached[1]:.2g}"
    points = {name: (ages, curve) for name, curve in curves.items()}
    yield figure.curves(title, "epochs", "E‖w − w*‖²", lines={"replacement": (ages, exact)}, points=points, log="y")
