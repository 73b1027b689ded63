"""Gradients of single examples in a digit network: how alike they are, and how few directions their noise has."""

from collections.abc import Iterator
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, stochastic
from leadline.claims.networks.drawn_networks import drawn
from leadline.evidence import Range, at_least, at_most, claim, close, figure


def _example_loss(net, image, label):
    return optax.softmax_cross_entropy_with_integer_labels(net(image), label)


@eqx.filter_jit
def _advance(net, memory, rows, images, labels):
    """Adam at 3e-3 on the given batches."""
    rule = optax.adam(3e-3)

    def loss(net, x, y):
        return jnp.mean(jax.vmap(_example_loss, (None, 0, 0))(net, x, y))

    def move(state, batch):
        net, memory = state
        change, memory = rule.update(jax.grad(loss)(net, images[batch], labels[batch]), memory)
        return (optax.apply_updates(net, change), memory), None

    return jax.lax.scan(move, (net, memory), rows)[0]


def _training(
    rng: np.random.Generator, widths: tuple[int, ...], times: list[int]
) -> Iterator[tuple[int, networks.MLP]]:
    """A tanh network on all digits in batches of 64, at each of the times, which are multiples of 50."""
    images, labels = (jnp.asarray(part) for part in data.digits())
    net = drawn(rng, networks.MLP, widths, "tanh", gain=1.0, bias_scale=0.0)
    memory = optax.adam(3e-3).init(eqx.filter(net, eqx.is_inexact_array))
    for t in range(0, times[-1] + 1, 50):
        if t in times:
            yield t, net
        rows = rng.integers(len(labels), size=(50, 64))
        if t < times[-1]:
            net, memory = _advance(net, memory, jnp.asarray(rows), images, labels)


@claim(
    "gradient-similarity-by-layer",
    says=(
        "Conjecture: momentum works in networks because the gradients of examples resemble each other, lower "
        "layers' more than upper ones'. Measured by mean cosines they hardly do in a digit network; which "
        "layer is ahead varies, and no order is asserted."
    ),
    formula=r"\frac{1}{n(n-1)} \sum_{i \ne j} \cos(g_i^{(l)}, g_j^{(l)})",
    sources=("penn",),
    assumes=("cosines of single examples' gradients, by layer",),
    empirical=True,
)
def gradient_similarity_by_layer(
    key,
    width: Annotated[int, Range(16, 48)] = 32,
    depth: Annotated[int, Range(1, 3)] = 1,
    examples: Annotated[int, Range(200, 600)] = 400,
    steps: Annotated[int, Range(500, 3000)] = 1000,
):
    """A tanh network with `depth` hidden layers, Adam at 3e-3 with batches of 64; bootstrap intervals over examples."""
    rng = data.generator(key)
    images, labels = data.digits()
    rows = rng.choice(len(labels), examples, replace=False)
    last = 50 * round(steps / 50)
    found: dict[int, list] = {}
    for t, net in _training(rng, (64, *[width] * depth, 10), sorted({0, 100, last})):
        parts = stochastic.layer_gradients(_example_loss, net, images[rows], labels[rows])
        found[t] = [stochastic.mean_pairwise_cosine(part, key=key) for part in parts.values()]
        if t == 0:
            first = next(iter(parts.values()))
    unit = first / np.linalg.norm(first, axis=1, keepdims=True)
    total = (np.sum(unit.sum(axis=0) ** 2) - examples) / (examples * (examples - 1))
    yield close(found[0][0].value, total, "mean cosine against (‖Σ gᵢ/‖gᵢ‖‖² − n)/n(n − 1)", atol=1e-12)
    cosines = np.array([[each.value for each in layers] for layers in found.values()])
    yield at_least(cosines, -1 / (examples - 1), "mean cosine against −1/(n − 1)", rtol=1e-9)
    yield at_most(cosines, 0.15, "mean cosine of two examples' gradients, every layer and time")
    times = np.array(list(found))
    lower, upper = cosines[:, 0], cosines[:, -1]
    ahead = int(np.sum(lower > upper))
    yield figure.curves(
        f"Mean cosines are {cosines.min():.3f} to {cosines.max():.3f}; the first layer is ahead of the last at "
        f"{ahead} of {len(times)} times",
        x="Adam steps + 1", y="mean cosine of two examples' gradients",
        points={
            f"layer {layer + 1}": (
                times + 1, cosines[:, layer],
                [f[layer].low for f in found.values()], [f[layer].high for f in found.values()],
            )
            for layer in range(cosines.shape[1])
        },
        log="x",
    )  # fmt: skip


@claim(
    "gradient-covariance-low-rank",
    says=(
        "Finding: the covariance of gradients has few significant eigenvalues. In a digit network a few per "
        "cent exceed a thousandth of the largest and the effective rank is near ten; the share depends on the "
        "threshold and on the size, and low rank goes with large noise."
    ),
    formula=r"C = \frac1n \sum_i (g_i - g)(g_i - g)^\top, \qquad \frac{(\mathrm{tr}\, C)^2}{\mathrm{tr}\, C^2} \ll p",
    sources=("penn",),
    assumes=("C from a sample of examples: its rank is below their number",),
    empirical=True,
)
def gradient_covariance_low_rank(
    key,
    width: Annotated[int, Range(16, 48)] = 32,
    examples: Annotated[int, Range(400, 1000)] = 600,
    threshold: Annotated[float, Range(3e-4, 1e-2, log=True)] = 1e-3,
    steps: Annotated[int, Range(800, 3000)] = 1000,
):
    """The network 64-width-10 under Adam at 3e-3 with batches of 64, at four times; C from `examples` digits."""
    rng = data.generator(key)
    images, labels = data.digits()
    rows = rng.choice(len(labels), examples, replace=False)
    times = sorted({0, 100, 400, 50 * round(steps / 50)})
    found = {
        t: stochastic.gradient_noise(_example_loss, net, images[rows], labels[rows])
        for t, net in _training(rng, (64, width, 10), times)
    }
    p = next(iter(found.values())).parameters
    shares = np.array([noise.count_above(threshold) / p for noise in found.values()])
    ranks = np.array([noise.effective_rank for noise in found.values()])
    scales = np.array([noise.noise_scale.value for noise in found.values()])
    yield at_most(shares, 0.2, f"share of {p} eigenvalues above {threshold:.1g} of the largest, four times")
    yield at_most(ranks / p, 0.03, "effective rank (tr C)²/tr C² over p, four times")
    yield at_least(scales, 1.0, "noise scale tr C/‖g‖²: low rank with large noise")
    order = np.arange(1, examples)
    yield figure.curves(
        f"Of {p} eigenvalues {', '.join(f'{100 * s:.1f}%' for s in shares)} exceed {threshold:.1g} of the "
        f"largest; effective rank {', '.join(f'{r:.3g}' for r in ranks)}; noise scale "
        f"{', '.join(f'{s:.3g}' for s in scales)}",
        x="rank of the eigenvalue", y="eigenvalue of C / largest",
        points={
            f"step {t}": (order[::3], np.maximum(noise.spectrum / noise.spectrum[0], 1e-12)[: examples - 1 : 3])
            for t, noise in found.items()
        },
        rules={f"{threshold:.1g} of the largest": ("y", threshold)}, log="xy",
    )  # fmt: skip
