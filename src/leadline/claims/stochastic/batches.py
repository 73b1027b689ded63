"""The mean, covariance and second moment of a batch gradient by enumeration; sampling without replacement."""

from itertools import combinations, permutations, product
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning, stochastic
from leadline.claims.stochastic.descent_runs import regression
from leadline.claims.stochastic.noise_instruments import draw_network, sample_gradients
from leadline.evidence import Range, at_least, at_most, claim, close, figure, printed, slope, smaller


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


@claim(
    "minibatch-gradient-unbiased",
    says=(
        "Under uniform sampling, with or without replacement, the mean of the batch gradient is the full gradient; "
        "with pᵢ it is Σpᵢgᵢ, and weights 1/(n pᵢ) repair it. A loss that couples examples is biased at every b < n."
    ),
    formula=r"E\,\hat g = g, \qquad E\,\hat g_p = \sum_i p_i g_i",
    sources=("sheet", "penn", "eth"),
)
def minibatch_gradient_unbiased(
    key,
    samples: Annotated[int, Range(5, 8)] = 6,
    batch: Annotated[int, Range(1, 3)] = 2,
    skew: Annotated[float, Range(0.2, 3.0)] = 1.0,
):
    """Least squares in 3 dimensions by enumeration of all batches; a network with batch normalisation, all subsets."""
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
    coupled = np.asarray(
        _normalised_gradients(jnp.asarray(rng.standard_normal(8)), features, targets, jnp.asarray(masks))
    )
    sizes = masks.sum(1)
    whole = coupled[sizes == samples][0]
    bias = {b: float(np.linalg.norm(coupled[sizes == b].mean(0) - whole)) for b in range(2, samples + 1)}
    yield at_least(bias[2], 1e-3 * np.linalg.norm(whole), "‖bias‖ with batch normalisation, b = 2", strict=True)
    yield at_most(bias[samples - 1], bias[2], "‖bias‖ at b = n − 1, against b = 2", strict=True)
    relative = np.linalg.norm(skewed - full) / np.linalg.norm(full)
    sizes, size = np.array(list(bias)), np.linalg.norm(full)
    at_batch = {"uniform": uniform, "skewed": skewed, "reweighted": weighted}
    yield figure.curves(
        f"Batch normalisation: bias {bias[2] / np.linalg.norm(whole):.0%} of the gradient at b = 2, "
        f"{bias[samples - 1] / np.linalg.norm(whole):.1%} at b = {samples - 1}; skewed sampling {relative:.0%}, the "
        "others none",
        x="batch b",
        y="‖E ĝ − g‖ / ‖g‖",
        lines={"skewed": (np.array([1, samples]), np.full(2, np.linalg.norm(p @ gradients - full) / size))},
        points={name: ([batch], [np.linalg.norm(found - full) / size]) for name, found in at_batch.items()}
        | {"batch normalisation": (sizes, np.array(list(bias.values())) / np.linalg.norm(whole))},
    )


@claim(
    "minibatch-variance",
    says=(
        "The covariance of a batch gradient is C/b with replacement and (C/b)(n − b)/(n − 1) without, which is 0 at "
        "b = n. The step's covariance given w is η² times that, and depends on w."
    ),
    formula=r"\mathrm{Cov}(\hat g) = \frac{C}{b} \quad\text{or}\quad \frac{C}{b}\, \frac{n - b}{n - 1}",
    sources=("penn", "sheet", "eth"),
)
def minibatch_variance(
    key,
    samples: Annotated[int, Range(2, 6)] = 6,
    dimension: Annotated[int, Range(1, 5)] = 2,
    eta: Annotated[float, Range(0.01, 1.0, log=True)] = 0.1,
):
    """All batches of all sizes are enumerated; then a small network with 40 examples, 2000 batches of each size."""
    rng = data.generator(key)
    x, y = regression(rng, samples, dimension)
    gradients = x * (x @ rng.standard_normal(dimension) - y)[:, None]
    covariance = learning.gradient_covariance(gradients)
    tolerance = 1e-12 * max(np.trace(covariance), np.max(gradients**2))
    for b in range(1, samples + 1):
        drawn = gradients[np.array(list(product(range(samples), repeat=b)))].mean(1)
        yield close(learning.gradient_covariance(drawn), covariance / b, f"with replacement, b = {b}", atol=tolerance)
        drawn = gradients[np.array(list(combinations(range(samples), b)))].mean(1)
        predicted = covariance / b * (samples - b) / (samples - 1)
        yield close(learning.gradient_covariance(drawn), predicted, f"without replacement, b = {b}", atol=tolerance)
    steps = -eta * gradients
    yield close(learning.gradient_covariance(steps), eta**2 * covariance, "covariance of a step", atol=tolerance)

    params = draw_network(rng, 4, 3)
    each = sample_gradients(params, jnp.asarray(rng.standard_normal((40, 3))), jnp.asarray(rng.standard_normal(40)))
    flat = np.concatenate([np.asarray(g).reshape(40, -1) for g in each.values()], axis=1)
    trace, sizes = float(np.sum(flat.var(0))), np.array([1, 2, 4, 8, 16, 32, 40])
    order = np.argsort(rng.random((2000, 40)), axis=1)
    measured = {"with": [], "without": []}
    for b in sizes:
        clouds = (flat[rng.integers(40, size=(2000, b))].mean(1), flat[order[:, :b]].mean(1))
        for name, cloud in zip(measured, clouds, strict=True):
            measured[name].append(float(np.mean(np.sum((cloud - flat.mean(0)) ** 2, 1))))
    yield slope(sizes, measured["with"], -1.0, "network: variance against b, with replacement", within=0.03)
    yield at_most(measured["without"][-1], 1e-20 * trace, "network: variance at b = n without replacement", atol=1e-24)
    b = np.geomspace(1, 39.5, 60)
    yield figure.curves(
        f"Network: variance {trace:.3g}/b with replacement; without, it falls to 0 at b = n = 40",
        x="batch b",
        y="E‖ĝ − g‖²",
        lines={"with: tr C/b": (b, trace / b), "without: (tr C/b)(n − b)/(n − 1)": (b, trace / b * (40 - b) / 39)},
        points={"with: tr C/b": (sizes, measured["with"]),
                "without: (tr C/b)(n − b)/(n − 1)": (sizes[:-1], measured["without"][:-1])},
        log="xy",
    )  # fmt: skip


@claim(
    "minibatch-second-moment",
    says=(
        "E‖ĝ‖² = ‖g‖² + tr C/b, never below ‖g‖². From E‖gᵢ‖² ≤ σ₀ + σ‖g‖² it follows that it is at most "
        "σ₀/b + (1 + (σ − 1)/b)‖g‖²: a batch divides the noise, not the gradient."
    ),
    formula=r"E\|\hat g_b\|^2 = \|g\|^2 + \frac{\mathrm{tr}\,C}{b} "
    r"\le \frac{\sigma_0}{b} + \left(1 + \frac{\sigma - 1}{b}\right)\|g\|^2",
    sources=("penn",),
)
def minibatch_second_moment(
    key,
    offset: Annotated[float, Range(0.5, 10.0, log=True)] = 2.0,
    ratio: Annotated[float, Range(1.05, 5.0, log=True)] = 1.2,
):
    """The six points at w = w* + offset, σ = ratio · σ_min; batches of 1 to 4 are enumerated too."""
    x, y = (np.asarray(a) for a in stochastic.six_points().arrays)
    form, moments = stochastic.second_moment_form(x, y), stochastic.LeastSquaresMoments(x, y)
    sigma = ratio * form.least_slope
    sigma_0 = form.offset(sigma)
    v = np.array([offset])
    single, square = float(form(v)), float(form.gradient_square(v))
    sizes = np.array([1, 2, 4, 8, 16, 32, 64])
    true = square + (single - square) / sizes
    repaired = sigma_0 / sizes + (1 + (sigma - 1) / sizes) * square
    wrong = sigma_0 / sizes + sigma / sizes * square
    gradients = x[:, 0] * (x[:, 0] * (moments.minimiser[0] + offset) - y)
    for b in (1, 2, 4):
        drawn = gradients[np.array(list(product(range(6), repeat=b)))].mean(1)
        predicted = true[sizes == b]
        yield close(np.mean(drawn**2), predicted, f"E‖ĝ‖² over all batches of {b}", rtol=1e-12)
    yield at_most(true, repaired, "E‖ĝ‖², against σ₀/b + (1 + (σ − 1)/b)‖g‖²", rtol=1e-12)
    yield at_least(true, square, "E‖ĝ‖², against ‖g‖²")
    reference = 1.2 * form.least_slope
    two, ref_0 = np.array([2.0]), form.offset(reference)
    at_two, full = float(form(two)), float(form.gradient_square(two))
    b = np.array([1, 2, 4, 64])
    values = full + (at_two - full) / b
    yield close(values, [3.3442, 3.0060, 2.8369, 2.6783], "E‖ĝ‖² at w* + 2, b = 1, 2, 4, 64", atol=6e-5)
    bound = ref_0 / b + (1 + (reference - 1) / b) * full
    yield close(bound, [4.2927, 3.4802, 3.0740, 2.6932], "the bound there with σ = 1.541178", atol=6e-5)
    form_text = "E‖ĝ‖² ≤ σ₀/b + (σ/b)‖g‖²"
    yield printed(at_most(values[1], ref_0 / 2 + reference / 2 * full, "E‖ĝ‖² at w* + 2, b = 2"), "penn", form_text)
    yield printed(at_most(true[-1], wrong[-1], "E‖ĝ‖² at w* + offset, b = 64"), "penn", form_text)
    yield figure.curves(
        f"At b = 64 E‖ĝ‖² is {true[-1]:.4g}; the repaired bound says {repaired[-1]:.4g}, the printed one "
        f"{wrong[-1]:.2g}",
        x="batch b",
        y="second moment",
        lines={"repaired bound": (sizes, repaired), "printed bound": (sizes, wrong)},
        points={"E‖ĝ‖²": (sizes, true)},
        rules={"‖g‖²": ("y", square)},
        log="xy",
    )


@claim(
    "with-vs-without-replacement",
    says=(
        "Sampling without replacement is the better one: from w*, one epoch leaves E‖w − w*‖² of order η⁴ against η² "
        "with replacement, by enumeration of all orders; the advantage stays over many epochs."
    ),
    formula=r"E\|v\|^2 = O(\eta^4) \text{ without}, \quad O(\eta^2) \text{ with replacement}",
    sources=("penn",),
)
def with_vs_without_replacement(
    key,
    eta: Annotated[float, Range(0.02, 0.5, log=True)] = 0.1,
    start: Annotated[float, Range(0.0, 2.0)] = 0.0,
    epochs: Annotated[int, Range(10, 60)] = 30,
):
    """Six points, all 720 orders; then n = 40 in 5 dimensions from w*, 200 runs, step η·2/L_max."""
    x, y = (np.asarray(a) for a in stochastic.six_points().arrays)
    moments, x = stochastic.LeastSquaresMoments(x, y), x[:, 0]
    orders = np.array(list(permutations(range(6))))

    def one_epoch(step, distance):
        w = np.full(720, moments.minimiser[0] + distance)
        for rows in orders.T:
            w = w - step * x[rows] * (x[rows] * w - y[rows])
        return float(np.mean((w - moments.minimiser[0]) ** 2))

    def drawn(step, distance):
        return float(moments.path(moments.minimiser + distance, np.full(6, step)).distances[-1])

    etas = np.array([0.02, 0.05, 0.1, 0.2])
    without, given = np.array([one_epoch(s, 0.0) for s in etas]), np.array([drawn(s, 0.0) for s in etas])
    yield close(without, [3.54e-7, 1.26e-5, 1.73e-4, 2.05e-3], "one epoch from w* without, η = .02 to .2", rtol=5e-3)
    yield close(given, [3.54e-4, 1.97e-3, 6.56e-3, 1.91e-2], "one epoch from w* with replacement", rtol=5e-3)
    small = np.geomspace(1e-5, 1e-4, 4)
    yield slope(small, [one_epoch(s, 0.0) for s in small], 4.0, "E‖v‖² against η, without", within=0.01)
    yield slope(small, [drawn(s, 0.0) for s in small], 2.0, "E‖v‖² against η, with replacement", within=0.01)
    faster = at_most(
        one_epoch(eta, start), drawn(eta, start), f"one epoch from w* + {start:.3g}: without, against with"
    )
    yield faster
    yield printed(
        at_most(given, without, "with, against without, one epoch from w*"), "penn", "with replacement is faster"
    )

    rng = data.generator(key)
    x5, y5 = regression(rng, 40, 5)
    many = stochastic.LeastSquaresMoments(x5, y5)
    step, ends, curves = 2 * eta / np.max(np.sum(x5**2, 1)), {}, {}
    for name in stochastic.SAMPLERS:
        rows = stochastic.index_stream(40, 40 * epochs, sampler=name, key=key, seeds=200)
        w, curve = np.tile(many.minimiser, (200, 1)), []
        for t, i in enumerate(rows.T):
            w = w - step * x5[i] * (np.sum(x5[i] * w, 1) - y5[i])[:, None]
            if t % 40 == 39:
                curve.append(np.sum((w - many.minimiser) ** 2, 1))
        ends[name], curves[name] = curve[-1], np.mean(curve, axis=1)
    yield smaller(ends["reshuffle"], ends["replacement"], f"‖v‖² after {epochs} epochs: reshuffled, against with")
    exact = many.path(many.minimiser, np.full(40 * epochs, step)).distances[40::40]
    ages = np.arange(1, epochs + 1)
    yield figure.curves(
        f"After {epochs} epochs from w*: reshuffled {curves['reshuffle'][-1]:.2g}, with replacement "
        f"{curves['replacement'][-1]:.2g}",
        x="epochs",
        y="E‖w − w*‖²",
        lines={"replacement": (ages, exact)},
        points={name: (ages, curve) for name, curve in curves.items()},
        log="y",
    )
