"""Gradients of single examples in a digit network: how alike they are, and how few directions their noise has."""

from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, stochastic, training
from leadline.claims.scenarios.networks.drawn_networks import drawn
from leadline.evidence import Int, Real, at_least, at_most, claim, close
from leadline.presentation import figure
from leadline.stochastic.noise.gradient_similarity import layer_gradients, mean_pairwise_cosine


def _example_loss(net, image, label):
    return optax.softmax_cross_entropy_with_integer_labels(net(image), label)


@eqx.filter_jit
def _advance(net, opt_state, rows, images, labels):
    """Adam at 3e-3 on the given batches, from the state where it was (None: from the beginning)."""

    def losses(net, batch, *_):
        return jax.vmap(_example_loss, (None, 0, 0))(net, images[batch], labels[batch]), None

    ran = training.scan_steps(losses, net, optax.adam(3e-3), rows, opt_state=opt_state)
    return ran.model, ran.opt_state


def _training(
    rng: np.random.Generator, widths: tuple[int, ...], times: list[int]
) -> Iterator[tuple[int, networks.MLP]]:
    """A tanh network on all digits in batches of 64, at each of the times, which are multiples of 50."""
    images, labels = (jnp.asarray(part) for part in data.digits())
    net = drawn(rng, networks.MLP, widths, "tanh", gain=1.0, bias_scale=0.0)
    opt_state = None
    for t in range(0, times[-1] + 1, 50):
        if t in times:
            yield t, net
        rows = rng.integers(len(labels), size=(50, 64))
        if t < times[-1]:
            net, opt_state = _advance(net, opt_state, jnp.asarray(rows), images, labels)


@claim(sources=("penn",), empirical=True)
def gradient_similarity_by_layer(
    key, width: Int(16, 48) = 32, depth: Int(1, 3) = 1, examples: Int(200, 600) = 400, num_steps: Int(500, 3000) = 1000
):
    r"""Similarity of per-example gradients by layer.

    Conjecture: momentum works in networks because the gradients of examples resemble each other, those of lower layers
    more than those of upper ones. Measured by mean cosines they hardly do in a digit network; which layer is ahead
    varies, and no order is asserted.

    $$\frac{1}{n(n-1)} \sum_{i \ne j} \cos(g_i^{(l)}, g_j^{(l)})$$

    Assumes: cosines of single examples' gradients, by layer.

    Check: A tanh network with `depth` hidden layers, by Adam at step size 0.003, batches of 64; bootstrap intervals.
    """
    rng = data.generator(key)
    images, labels = data.digits()
    rows = rng.choice(len(labels), examples, replace=False)
    last = 50 * round(num_steps / 50)
    found: dict[int, list] = {}
    for t, net in _training(rng, (64, *[width] * depth, 10), sorted({0, 100, last})):
        parts = layer_gradients(_example_loss, net, images[rows], labels[rows])
        found[t] = [mean_pairwise_cosine(part, key=key) for part in parts.values()]
        if t == 0:
            first = next(iter(parts.values()))
    unit = first / np.linalg.norm(first, axis=1, keepdims=True)
    total = (np.sum(unit.sum(axis=0) ** 2) - examples) / (examples * (examples - 1))
    yield close(found[0][0].value, total, "mean cosine against (‖Σ gᵢ/‖gᵢ‖‖² − n)/n(n − 1)", atol=1e-12)
    cosines = np.array([[each.value for each in layers] for layers in found.values()])
    yield at_least(cosines, -1 / (examples - 1), "mean cosine, against −1/(n − 1)", rtol=1e-9)
    yield at_most(cosines, 0.15, "mean cosine of two examples' gradients, every layer and time")
    times, ahead = np.array(list(found)), np.sum(cosines[:, 0] > cosines[:, -1])
    title = f"Mean cosines stay below {cosines.max():.3f}; the first layer is ahead of the last {ahead} times"
    points = {}
    for layer in range(cosines.shape[1]):
        low, high = ([getattr(f[layer], end) for f in found.values()] for end in ("low", "high"))
        points[f"layer {layer + 1}"] = times + 1, cosines[:, layer], low, high
    yield figure.curves(title, "Adam steps + 1", "mean cosine of two examples' gradients", points=points, log="x")


@claim(sources=("penn",), empirical=True)
def gradient_covariance_low_rank(
    key,
    width: Int(16, 48) = 32,
    examples: Int(400, 1000) = 600,
    threshold: Real(3e-4, 1e-2, log=True) = 1e-3,
    num_steps: Int(800, 3000) = 1000,
):
    r"""Gradient covariance is nearly low-rank.

    Finding: the covariance of gradients has few significant eigenvalues. In a digit network a few per cent exceed a
    thousandth of the largest and the effective rank is near ten; the share depends on the threshold and on the size,
    and low rank goes with large noise.

    $$C = \frac1n \sum_i (g_i - g)(g_i - g)^\top, \qquad \frac{(\mathrm{tr}\, C)^2}{\mathrm{tr}\, C^2} \ll p$$

    Assumes: C comes from a sample of examples, so its rank is below their number.

    Check: The network 64-width-10, by Adam at step size 0.003, batches of 64, at four times; C of `examples` digits.
    """
    rng = data.generator(key)
    images, labels = data.digits()
    rows = rng.choice(len(labels), examples, replace=False)
    times = sorted({0, 100, 400, 50 * round(num_steps / 50)})
    trained = _training(rng, (64, width, 10), times)
    found = {t: stochastic.gradient_noise(_example_loss, net, images[rows], labels[rows]) for t, net in trained}
    p = next(iter(found.values())).parameters
    shares = np.array([noise.count_above(threshold) / p for noise in found.values()])
    ranks = np.array([noise.effective_rank for noise in found.values()])
    scales = np.array([noise.noise_scale.value for noise in found.values()])
    yield at_most(
        shares, 0.2, f"share of {p} eigenvalues above {threshold:.1g} of the largest, at four times in training"
    )
    yield at_most(ranks / p, 0.03, "effective rank (tr C)²/tr C² over p, at four times in training")
    yield at_least(scales, 1.0, "noise scale tr C/‖g‖²: low rank with large noise")
    points = {
        f"step {t}": (np.arange(1, examples), (s.spectrum / s.spectrum[0])[: examples - 1]) for t, s in found.items()
    }
    title = f"At most {shares.max():.1%} of {p} eigenvalues exceed {threshold:.1g} of the largest"
    rules = {f"{threshold:.1g} of the largest": ("y", threshold)}
    yield figure.curves(
        title, "rank of the eigenvalue", "eigenvalue of C / largest", points=points, rules=rules, log="xy"
    )
