"""Curves of low loss between trained networks, and how the barriers between them depend on the width."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, landscape, networks
from leadline.claims.scenarios.networks.digit_networks import cross_entropy
from leadline.evidence import Int, OneOf, at_least, at_most, claim, close, method, smaller
from leadline.landscape.two_layer_fits import falling_adam, match_hidden_units, softmax_risk
from leadline.networks import TwoLayer
from leadline.presentation import figure


def digit_network(rng: np.random.Generator, width: int, num_steps: int) -> TwoLayer:
    """64-width-10 without biases, softmax, Adam at 0.01 falling to 0, batches of 64, on the first 300 digits."""
    start = landscape.random_two_layer(rng, 64, width, 10)
    return landscape.fit_two_layer(start, *first_digits(), rng=rng, loss="softmax", num_steps=num_steps)


def first_digits() -> tuple[np.ndarray, np.ndarray]:
    """300 images and labels of the training part."""
    split = data.digits_split()
    return split.train_images[:300], split.train_labels[:300]


@method(sources=("penn", "cam"), shows=("landscape.Curve",), empirical=True)
def mode_connector(
    key,
    width: Int(8, 64, log=True) = 16,
    kind: OneOf("bezier", "polygon", "elastic band") = "bezier",
    num_steps: Int(150, 600) = 150,
):
    r"""Mode connectivity and loss barriers.

    Two trained networks are joined by the straight line, by the line after their units are matched, by a trained
    Bézier curve or polygon, or by a nudged elastic band; the barrier is the largest loss on the path less that of the
    worse end. A network and its shuffled copy are on opposite sides of a barrier until matched.

    $$\text{barrier} = \max_t L(\theta(t)) - \max(L(\theta_0), L(\theta_1))$$
    """
    rng = data.generator(key)
    trained = [digit_network(rng, width, 300) for _ in range(2)]
    layers = [[(jnp.asarray(w), None) for w in (net.weight, net.head)] for net in trained]
    a, b = (networks.mlp_from_affine(pairs, "relu") for pairs in layers)
    arrays = tuple(jnp.asarray(part) for part in first_digits())
    loss = eqx.filter_jit(cross_entropy)

    def profile(path):
        return landscape.path_profile(loss, path, *arrays, points=17)

    order = rng.permutation(width)
    while np.array_equal(order, np.arange(width)):
        order = rng.permutation(width)
    shuffled = networks.permute_units(a, [order])
    naive = profile(landscape.straight_line(a, shuffled))
    matched = profile(landscape.aligned_line(a, shuffled))
    yield at_least(naive.barrier, 1e-3, "a network and its shuffled copy: barrier on the line")
    yield close(matched.barrier, 0.0, "a network and its shuffled copy: barrier after matching the units", atol=1e-6)
    joined, options = (cross_entropy, a, b, *arrays), {"num_steps": num_steps}
    if kind == "elastic band":
        path = landscape.relax_band(*joined, images=7, optimiser=optax.sgd(0.3, momentum=0.9), **options).path
    else:
        rule = optax.adam(0.02)
        path = landscape.train_curve(*joined, key=key, kind=kind, draws=3, optimiser=rule, **options).curve
    profiles = {
        "line": profile(landscape.straight_line(a, b)),
        "line, units matched": profile(landscape.aligned_line(a, b)),
        kind: profile(path),
    }
    barriers = {name: found.barrier for name, found in profiles.items()}
    ends = [float(loss(net, *arrays)) for net in (a, b)]
    for name, found in profiles.items():
        yield close(found.losses[[0, -1]], ends, f"{name}: loss at the ends, that of A and B", rtol=1e-6, atol=1e-12)
    yield at_most(barriers[kind], barriers["line"], f"barrier on the {kind}, against that on the line")
    title = f"64-{width}-10 on digits, barriers: {', '.join(f'{name} {value:.2g}' for name, value in barriers.items())}"
    points = {name: (found.positions, found.losses) for name, found in profiles.items()}
    yield figure.curves(title, "t, from A to B", "cross-entropy", points=points)


@claim(sources=("cam", "penn"), empirical=True)
def barrier_versus_width(
    key, widest: OneOf(128, 256, 1024) = 128, pairs: Int(8, 12) = 8, num_steps: Int(200, 600) = 200
):
    r"""Barriers fall with width.

    Barriers on the straight line between independently trained networks fall with the width, and faster once their
    units are matched; on trained Bézier curves there is next to none at any width from 16 on.

    $$\max_t L(\theta(t)) - \max(L(\theta_0), L(\theta_1)) \text{ against width}$$

    Assumes: 64-width-10 ReLU networks without biases on digits, trained to a small loss.

    Check: `pairs` pairs are trained on 300 digits at three widths, and curves for `num_steps` steps.
    """
    rng = data.generator(key)
    (images, labels), rule = first_digits(), falling_adam(0.01, num_steps)
    widths = [16, 48 if widest == 128 else 128, widest]
    barriers = {name: np.zeros((len(widths), pairs)) for name in ("line", "line, units matched", "Bézier curve")}
    for i, width in enumerate(widths):
        for j in range(pairs):
            a, b = (digit_network(rng, width, 200) for _ in range(2))
            moved = match_hidden_units(a, b)
            drawn = {"key": jax.random.fold_in(key, pairs * i + j), "draws": 1, "batch": 64, "optimiser": rule}
            bent = landscape.train_curve(softmax_risk, a, b, images, labels, num_steps=num_steps, **drawn).curve
            ways = landscape.straight_line(a, b), landscape.straight_line(a, moved), bent
            for values, way in zip(barriers.values(), ways, strict=True):
                values[i, j] = landscape.path_profile(softmax_risk, way, images, labels, points=11).barrier
    plain, matched, curved = barriers.values()
    for name, values in (("line", plain), ("line, units matched", matched)):
        yield smaller(values[-1], values[0], f"{name}: barriers at width {widest} are smaller than at width 16")
    shares = matched.mean(axis=1) / plain.mean(axis=1)
    yield at_most(shares[-1], shares[0], f"matched over plain barrier, means: at width {widest}, against width 16")
    line, curve = plain.mean(axis=1), curved.mean(axis=1)
    yield at_most(curve, 0.25 * line, "mean barrier on the Bézier curve, against a quarter of that on the line")
    title = f"Width 16 to {widest}: barrier on the line {line[0]:.2g} to {line[-1]:.2g}, "
    title += f"matched {matched[0].mean():.2g} to {matched[-1].mean():.2g}, on curves {curved.max():.2g} at most"
    seen = {name: np.maximum(values, 1e-4) for name, values in barriers.items()}  # below is rounding
    points = {name: (widths, v.mean(axis=1), v.min(axis=1), v.max(axis=1)) for name, v in seen.items()}
    yield figure.curves(title, "width", "barrier of the cross-entropy", log="xy", points=points)
