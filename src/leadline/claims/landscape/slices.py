"""Slices of loss surfaces: comparable ones by filter normalisation, what they miss, and what skip connections do."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from leadline import data, landscape, networks, training
from leadline.claims.networks.digit_networks import cross_entropy
from leadline.claims.networks.drawn_networks import drawn
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, figure, instrument, printed


def _banded(surface, levels=14):
    """Filled contours: each value replaced by the number of its band, bands evenly spaced in the logarithm."""
    logs = np.log(surface.values)
    edges = np.linspace(logs.min(), logs.max(), levels + 1)[1:-1]
    return surface.a, surface.b, np.digitize(logs, edges).astype(float)


def _contours(title, surface, x, y):
    return figure.plane(
        title, x=x, y=y, regions=_banded(surface), points={"weights": [[0.0, 0.0]]},
        domain=((surface.a[0], surface.a[-1]), (surface.b[0], surface.b[-1])),
    )  # fmt: skip


def _loss_by_hand(net, images, labels):
    """Mean cross-entropy of a ReLU network with one hidden layer, in NumPy."""
    (first, last), rows = ((np.asarray(m.weight), np.asarray(m.bias)) for m in net.layers), np.asarray(images)
    logits = np.maximum(rows @ first[0].T + first[1], 0.0) @ last[0].T + last[1]
    top = logits.max(axis=1)
    return float(np.mean(top + np.log(np.exp(logits - top[:, None]).sum(1)) - logits[np.arange(len(rows)), labels]))


@eqx.filter_jit
def _trained(start, images, labels, steps):
    return training.minimise(cross_entropy, start, optax.adam(0.01), steps, images, labels)


@instrument(
    "loss-slice",
    says=(
        "The loss on a plane through the weights, along random directions or through checkpoints. Scaled filter by "
        "filter to the norms of the weights, the picture does not change when the layers of a ReLU network are "
        "rescaled; along plain directions it does. The extremes of the full Hessian stand beside it: a random slice "
        "misses negative curvature."
    ),
    formula=r"f(a, b) = l(w + a d_1 + b d_2), \quad d_i \leftarrow d_i \|w_i\| / \|d_i\|",
    sources=("penn",),
    assumes=("ReLU layers, for the invariance under rescaling",),
    shows=(
        "landscape.loss_surface",
        "landscape.random_directions",
        "landscape.filter_normalised",
        "landscape.checkpoint_plane",
        "landscape.slice_curvatures",
    ),
)
def loss_slice(
    key,
    factor: Annotated[float, Range(3.0, 30.0, log=True)] = 10.0,
    hidden: Annotated[int, Choice(8, 16)] = 8,
    steps: Annotated[int, Choice(50, 150)] = 50,
    points: Annotated[int, Choice(11, 21, 31)] = 21,
):
    """A 64-`hidden`-10 ReLU network on 100 digits, and the same function with its first layer times `factor`."""
    split, rng = data.digits_split(), data.generator(key)
    images, labels = jnp.asarray(split.train_images[:100]), jnp.asarray(split.train_labels[:100])
    start = drawn(rng, networks.MLP, (64, hidden, 10), "relu", bias_scale=0.0)
    net, _ = _trained(start, images, labels, steps)
    twin = networks.rescale_units(net, [jnp.full(hidden, factor)])

    def surface(model, directions, **options):
        return landscape.loss_surface(cross_entropy, model, *directions, images, labels, points=points, **options)

    pictures = {}
    for scaling in ("filter", "none"):
        for name, model in (("net", net), ("twin", twin)):
            directions = landscape.random_directions(model, 2, scaling=scaling, key=jax.random.fold_in(key, 1))
            pictures[scaling, name] = surface(model, directions, extremes=(scaling, name) == ("filter", "net"))
    ours = pictures["filter", "net"]
    trained_loss = _loss_by_hand(net, images, split.train_labels[:100])
    middle = points // 2
    yield close(ours.values[middle, middle], trained_loss, "centre of the slice, against the training loss", rtol=1e-9)
    yield close(
        pictures["filter", "twin"].values, ours.values,
        f"filter-normalised slice of the network with its first layer times {factor:g}", rtol=1e-6,
    )  # fmt: skip
    plain = pictures["none", "net"].values
    yield printed(
        close(pictures["none", "twin"].values, plain, "the same along plain random directions", rtol=1e-3),
        "penn",
        "plain random directions, for networks that are one function",
    )
    plane = landscape.checkpoint_plane(start, net, twin)
    (_, (across, _), (_, up)) = plane.places
    between = surface(start, (plane.first, plane.second), a=(0.0, float(across)), b=(0.0, float(up)))
    ends = [_loss_by_hand(model, images, split.train_labels[:100]) for model in (start, net)]
    yield close(
        between.values[0, [0, -1]], ends, "plane through checkpoints: loss at the start and at the end", rtol=1e-9
    )

    least, greatest = ours.extremes
    seen = landscape.slice_curvatures(
        cross_entropy, net, landscape.random_directions(net, 2, key=jax.random.fold_in(key, 1)), images, labels
    )
    spread = np.linalg.eigvalsh(seen)
    yield at_least(spread[0], least.value, "least curvature in the slice at its centre, against λ_min", rtol=1e-6)
    yield at_most(spread[1], greatest.value, "greatest curvature in the slice, against λ_max", rtol=1e-6)
    yield at_most(least.value, 0.0, "λ_min of the full Hessian at the trained weights", strict=True)
    flat, back = ravel_pytree(eqx.filter(net, eqx.is_inexact_array))
    reach = 2 * float(np.linalg.norm(flat) / np.sqrt(flat.size))
    ends = [back(jnp.asarray(end.vector)) for end in (least, greatest)]
    steep = surface(net, ends, a=(-3 * reach, 3 * reach), b=(-3 * reach, 3 * reach))
    yield figure.beside(
        f"The random slice sees curvatures {spread[0]:.3g} to {spread[1]:.3g}; the full Hessian has {least.value:.3g} "
        f"to {greatest.value:.3g}",
        _contours("random filter-normalised directions", ours, "a", "b"),
        _contours("eigenvectors of λ_min (a) and λ_max (b)", steep, "a", "b"),
    )


def _deep_net(rng, depth, width):
    """Weights of a deep network: N(0, 2/fan-in), biases 0."""

    def draw(*shape):
        return np.float32(rng.normal(size=shape) * np.sqrt(2 / shape[-1]))

    return {
        "first": draw(width, 64),
        "blocks": draw(depth, width, width),
        "biases": np.zeros((depth, width), np.float32),
        "last": draw(10, width) * np.float32(0.5),
    }


def _deep_loss(weights, strength, images, labels):
    """Cross-entropy of h ← s h + β relu(W h + b), β² = 1 − s² + s²/depth: plain at s = 0, residual at s = 1."""
    depth = weights["blocks"].shape[0]
    branch = jnp.sqrt(1 - strength**2 + strength**2 / depth)

    def block(h, layer):
        weight, bias = layer
        return strength * h + branch * jax.nn.relu(h @ weight.T + bias), None

    h, _ = jax.lax.scan(block, images @ weights["first"].T, (weights["blocks"], weights["biases"]))
    logits = h @ weights["last"].T
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels))


@eqx.filter_jit
def _trained_stack(start, strengths, images, labels, steps):
    def one(weights, strength):
        rule = optax.adam(3e-3)
        end, _ = training.minimise(_deep_loss, weights, rule, steps, strength, images, labels)
        return end, _deep_loss(end, strength, images, labels)

    return jax.vmap(one)(start, strengths)


@claim(
    "skip-connections-smooth-slices",
    says=(
        "A finding: around a trained deep network with skip connections the filter-normalised slice is nearly convex; "
        "without them it is rugged. Measured by the share of grid points at which the slice has negative curvature, at "
        "skip strengths 0, ½ and 1."
    ),
    formula=r"h \leftarrow s h + \beta\, \mathrm{relu}(W h + b), \quad \beta^2 = 1 - s^2 + s^2 / L",
    sources=("penn",),
    empirical=True,
    shows=("landscape.loss_surface", "landscape.LossSurface"),
)
def skip_connections_smooth_slices(
    key,
    depth: Annotated[int, Range(20, 56)] = 20,
    width: Annotated[int, Range(10, 16)] = 12,
    steps: Annotated[int, Range(100, 400)] = 150,
    seeds: Annotated[int, Range(3, 4)] = 3,
    points: Annotated[int, Range(9, 17)] = 13,
    strength: Annotated[float, Range(0.1, 0.9)] = 0.5,
):
    """Networks of `depth` layers on 64 digits, Adam from He's start; skip strengths 0, `strength` and 1."""
    split, rng = data.digits_split(), data.generator(key)
    images = jnp.asarray(split.train_images[:64], jnp.float32)
    labels = jnp.asarray(split.train_labels[:64])
    strengths = np.repeat(np.float32([0.0, strength, 1.0]), seeds)
    one = [_deep_net(rng, depth, width) for _ in range(seeds)] * 3
    stack = jax.tree.map(lambda *leaves: jnp.stack(leaves), *one)
    ends, losses = _trained_stack(stack, jnp.asarray(strengths), images, labels, steps)
    losses = np.asarray(losses).reshape(3, seeds)
    ends = jax.tree.map(np.asarray, ends)
    surfaces = []
    for k, s in enumerate(strengths):
        net = jax.tree.map(lambda a, k=k: a[k], ends)
        directions = landscape.random_directions(
            net, 2, stacked=("blocks", "biases"), key=jax.random.fold_in(key, k % seeds)
        )
        surfaces.append(
            landscape.loss_surface(_deep_loss, net, *directions, np.asarray(s), images, labels, points=points)
        )
    shares = np.array([s.negative_share() for s in surfaces]).reshape(3, seeds)
    reached = [f"{row.min():.2g} to {row.max():.2g}" for row in losses]
    yield at_least(
        shares[0].min(),
        shares[2].max(),
        f"least share of negative curvature without skips, against the largest with (training losses {reached[0]} and "
        f"{reached[2]})",
        strict=True,
    )
    yield at_most(
        shares[2].mean(), shares[0].mean() / 2, "mean share with skips, against half of the one without: nearly convex"
    )
    yield at_least(
        shares[1].mean(),
        shares[2].mean(),
        f"mean share at skip strength {strength:g} (training losses {reached[1]}), against strength 1",
    )
    panels = [
        _contours(f"skip strength {s:g}: {share:.0%} negative, training loss {loss:.2g}", surfaces[k * seeds], "a", "b")
        for k, (s, share, loss) in enumerate(zip((0.0, strength, 1.0), shares[:, 0], losses[:, 0], strict=True))
    ]
    yield figure.beside(
        f"Depth {depth}: negative curvature at {shares[0].mean():.0%} of the slice without skips, at "
        f"{shares[2].mean():.0%} with ({seeds} seeds; bands of the logarithm of the loss)",
        *panels,
        columns=3,
    )
