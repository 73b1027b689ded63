"""Curves of low loss between trained networks, and how the barriers between them depend on the width."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, landscape, networks
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, figure, method, smaller

IMAGES = 300


def cross_entropy(net: networks.MLP, images: jax.Array, labels: jax.Array) -> jax.Array:
    """The mean cross-entropy of a network without biases."""
    first, second = (layer.weight for layer in net.layers)
    outputs = jnp.maximum(images @ first.T, 0) @ second.T
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(outputs, labels))


def digit_network(rng: np.random.Generator, width: int, steps: int) -> landscape.TwoLayer:
    """64-width-10 without biases, softmax, Adam at 0.01 falling to 0, batches of 64, on the first 300 digits."""
    start = landscape.random_two_layer(rng, 64, width, 10)
    return landscape.fit_two_layer(start, *first_digits(), rng=rng, loss="softmax", steps=steps)


def first_digits() -> tuple[np.ndarray, np.ndarray]:
    """300 images and labels of the training part."""
    split = data.digits_split()
    return split.train_images[:IMAGES], split.train_labels[:IMAGES]


def as_mlp(net: landscape.TwoLayer) -> networks.MLP:
    return networks.mlp_from_affine([(jnp.asarray(w), None) for w in net], "relu")


@method(
    "mode-connector",
    says=(
        "Two trained networks are joined by the straight line, by the line after their units are matched, by a "
        "trained Bézier curve or polygon, or by a nudged elastic band; the barrier is the largest loss on the path "
        "less that of the worse end. A network and its shuffled copy are on opposite sides of a barrier until matched."
    ),
    formula=r"\text{barrier} = \max_t L(\theta(t)) - \max(L(\theta_0), L(\theta_1))",
    sources=("penn", "cam"),
    shows=(
        "landscape.straight_line", "landscape.aligned_line", "landscape.train_curve", "landscape.relax_band",
        "landscape.path_profile", "landscape.Curve", "landscape.Profile", "landscape.TrainedCurve", "landscape.Band",
    ),
    empirical=True,
)  # fmt: skip
def mode_connector(
    key,
    width: Annotated[int, Range(8, 64, log=True)] = 16,
    kind: Annotated[str, Choice("bezier", "polygon", "elastic band")] = "bezier",
    steps: Annotated[int, Range(150, 600)] = 150,
):
    """Two networks trained on 300 digits, and a shuffled copy of the first; the curve or band has `steps` steps."""
    rng = data.generator(key)
    a, b = (as_mlp(digit_network(rng, width, 300)) for _ in range(2))
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
    yield close(matched.barrier, 0.0, "the same after matching the units", atol=1e-6)

    if kind == "elastic band":
        rule = optax.sgd(0.3, momentum=0.9)
        path = landscape.relax_band(cross_entropy, a, b, *arrays, images=7, steps=steps, optimiser=rule).path
    else:
        path = landscape.train_curve(
            cross_entropy, a, b, *arrays, key=key, kind=kind, steps=steps, draws=3, optimiser=optax.adam(0.02)
        ).curve
    profiles = {
        "line": profile(landscape.straight_line(a, b)),
        "line, units matched": profile(landscape.aligned_line(a, b)),
        kind: profile(path),
    }
    barriers = {name: found.barrier for name, found in profiles.items()}
    ends = [float(loss(net, *arrays)) for net in (a, b)]
    for name, found in profiles.items():
        yield close(found.losses[[0, -1]], ends, f"{name}: loss at the ends, that of A and B", rtol=1e-6, atol=1e-12)
    yield at_most(barriers[kind], barriers["line"], f"barrier on the {kind}, on the line")
    said = ", ".join(f"{name} {value:.2g}" for name, value in barriers.items())
    yield figure.curves(
        f"64-{width}-10 on digits, barriers: {said}", x="t, from A to B", y="cross-entropy",
        points={name: (found.positions, found.losses) for name, found in profiles.items()},
    )  # fmt: skip


@claim(
    "barrier-versus-width",
    says=(
        "Barriers on the straight line between independently trained networks fall with the width, and faster once "
        "their units are matched; on trained Bézier curves there is next to none at any width from 16 on."
    ),
    formula=r"\max_t L(\theta(t)) - \max(L(\theta_0), L(\theta_1)) \text{ against width}",
    sources=("cam", "penn"),
    assumes=("64-width-10 ReLU networks without biases on digits, trained to a small loss",),
    shows=("landscape.bend_between", "landscape.bezier_point", "landscape.match_hidden_units"),
    empirical=True,
)
def barrier_versus_width(
    key,
    widest: Annotated[int, Choice(128, 256, 1024)] = 128,
    pairs: Annotated[int, Range(8, 12)] = 8,
    steps: Annotated[int, Range(200, 600)] = 200,
):
    """`pairs` independent pairs at three widths, 16 to `widest`, on 300 digits; Bézier curves of `steps` steps."""
    rng = data.generator(key)
    images, labels = first_digits()
    widths = [16, 48 if widest == 128 else 128, widest]
    barriers = {name: np.zeros((len(widths), pairs)) for name in ("line", "line, units matched", "Bézier curve")}
    for i, width in enumerate(widths):
        for j in range(pairs):
            a, b = (digit_network(rng, width, 200) for _ in range(2))
            moved = landscape.match_hidden_units(a, b)
            bend = landscape.bend_between(a, b, images, labels, rng=rng, loss="softmax", steps=steps)
            halfway = [landscape.TwoLayer((a.first + c.first) / 2, (a.second + c.second) / 2) for c in (b, moved)]
            ways = ((a, halfway[0], b), (a, halfway[1], moved), (a, bend, b))
            for values, way in zip(barriers.values(), ways, strict=True):
                nets = [landscape.bezier_point(*way, t) for t in np.linspace(0, 1, 11)]
                losses = [landscape.softmax_loss(net(images), labels) for net in nets]
                values[i, j] = max(losses) - max(losses[0], losses[-1])
    plain, matched, curved = barriers.values()
    for name, values in (("line", plain), ("line, units matched", matched)):
        yield smaller(values[-1], values[0], f"{name}: barriers at width {widest} are smaller than at width 16")
    shares = matched.mean(axis=1) / plain.mean(axis=1)
    yield at_most(shares[-1], shares[0], f"matched over plain barrier, means: at width {widest}, at width 16")
    yield at_most(
        curved.mean(axis=1), 0.25 * plain.mean(axis=1), "mean barrier on the curve, a quarter of that on the line"
    )
    yield figure.curves(
        f"Width 16 to {widest}: barrier on the line {plain[0].mean():.2g} to {plain[-1].mean():.2g}, "
        f"matched {matched[0].mean():.2g} to {matched[-1].mean():.2g}, on curves {curved.max():.2g} at most",
        x="width", y="barrier of the cross-entropy", log="xy",
        points={
            name: (widths, *(np.maximum(f(values, axis=1), 1e-4) for f in (np.mean, np.min, np.max)))
            for name, values in barriers.items()
        },
    )  # fmt: skip
