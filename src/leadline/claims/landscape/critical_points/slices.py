"""Slices of loss surfaces: comparable ones by filter normalisation, what they miss, and what skip connections do."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from leadline import data, landscape, networks, training
from leadline.claims.scenarios.networks.digit_networks import cross_entropy
from leadline.claims.scenarios.networks.drawn_networks import drawn
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, instrument
from leadline.presentation import figure


def _banded(surface, levels=14):
    """Filled contours: each value replaced by the number of its band, bands evenly spaced in the logarithm."""
    logs = np.log(surface.values)
    edges = np.linspace(logs.min(), logs.max(), levels + 1)[1:-1]
    return surface.a, surface.b, np.digitize(logs, edges).astype(float)


def _contours(title, surface):
    domain = (surface.a[0], surface.a[-1]), (surface.b[0], surface.b[-1])
    return figure.plane(title, "a", "b", regions=_banded(surface), points={"weights": [[0.0, 0.0]]}, domain=domain)


def _loss_by_hand(net, images, labels):
    """Mean cross-entropy of a ReLU network with one hidden layer, in NumPy."""
    from scipy.special import logsumexp

    (first, last), rows = ((np.asarray(m.weight), np.asarray(m.bias)) for m in net.layers), np.asarray(images)
    logits = np.maximum(rows @ first[0].T + first[1], 0.0) @ last[0].T + last[1]
    return float(np.mean(logsumexp(logits, axis=1) - logits[np.arange(len(rows)), labels]))


@eqx.filter_jit
def _trained(start, images, labels, steps):
    return training.minimise(cross_entropy, start, optax.adam(0.01), steps, images, labels)


@instrument(sources=("penn",), shows=("landscape.filter_normalised",))
def loss_slice(
    key,
    factor: Real(3.0, 30.0, log=True) = 10.0,
    hidden: OneOf(8, 16) = 8,
    steps: OneOf(50, 150) = 50,
    points: OneOf(11, 21, 31) = 21,
):
    r"""Filter-normalised loss slices.

    The loss on a plane through the weights, along random directions or through checkpoints. With the directions scaled
    filter by filter to the norms of the weights, the picture does not change when the layers of a ReLU network are
    rescaled; along plain directions it does. The extremes of the full Hessian are shown beside it: a random slice
    misses negative curvature.

    $$f(a, b) = l(w + a d_1 + b d_2), \quad d_i \leftarrow d_i \|w_i\| / \|d_i\|$$

    Assumes: ReLU layers, for the invariance under rescaling.

    Check: The slices are taken for a 64-`hidden`-10 ReLU network on 100 digits, and for the same function with its
    first layer multiplied by `factor`.
    """
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
    first, last = (_loss_by_hand(model, images, split.train_labels[:100]) for model in (start, net))
    centre = ours.values[points // 2, points // 2]
    yield close(centre, last, "centre of the slice, against the training loss", rtol=1e-9)
    slices = f"of the networks with their first layer times 1 and {factor:g}"
    yield close(pictures["filter", "twin"].values, ours.values, f"filter-normalised slices {slices}", rtol=1e-6)
    change = np.abs(pictures["none", "twin"].values / pictures["none", "net"].values - 1).max()
    yield at_least(change, 1e-3, f"largest relative difference along plain directions {slices}")
    plane = landscape.checkpoint_plane(start, net, twin)
    (_, (across, _), (_, up)) = plane.places
    between = surface(start, (plane.first, plane.second), a=(0.0, float(across)), b=(0.0, float(up)))
    corners = between.values[0, [0, -1]]
    yield close(corners, [first, last], "plane through checkpoints: loss at the start and at the end", rtol=1e-9)
    least, greatest = ours.extremes.values
    directions = landscape.random_directions(net, 2, key=jax.random.fold_in(key, 1))
    spread = np.linalg.eigvalsh(landscape.slice_curvatures(cross_entropy, net, directions, images, labels))
    yield at_least(spread[0], least, "least curvature in the slice at its centre, against λ_min", rtol=1e-6)
    yield at_most(spread[1], greatest, "greatest curvature in the slice at its centre, against λ_max", rtol=1e-6)
    yield at_most(least, 0.0, "λ_min of the full Hessian at the trained weights", strict=True)
    flat, back = ravel_pytree(eqx.filter(net, eqx.is_inexact_array))
    reach = 6 * float(np.linalg.norm(flat) / np.sqrt(flat.size))
    ends = [back(jnp.asarray(vector)) for vector in ours.extremes.vectors]
    steep = surface(net, ends, a=(-reach, reach), b=(-reach, reach))
    title = f"The random slice sees curvatures {spread[0]:.3g} to {spread[1]:.3g}; the full Hessian has "
    title += f"{least:.3g} to {greatest:.3g}"
    panels = [_contours("random filter-normalised directions", ours)]
    yield figure.beside(title, *panels, _contours("eigenvectors of λ_min (a) and λ_max (b)", steep))


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
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(h @ weights["last"].T, labels))


@eqx.filter_jit
def _trained_stack(start, strengths, images, labels, steps):
    def one(weights, strength):
        end, _ = training.minimise(_deep_loss, weights, optax.adam(3e-3), steps, strength, images, labels)
        return end, _deep_loss(end, strength, images, labels)

    return jax.vmap(one)(start, strengths)


@claim(sources=("penn",), empirical=True)
def skip_connections_smooth_slices(
    key,
    depth: Int(20, 56) = 20,
    width: Int(10, 16) = 12,
    num_steps: Int(100, 400) = 150,
    seeds: Int(3, 4) = 3,
    points: Int(9, 17) = 13,
    strength: Real(0.1, 0.9) = 0.5,
):
    r"""Skip connections smooth the loss slice.

    An empirical finding: around a trained deep network with skip connections the filter-normalised slice is nearly
    convex; without them it is rugged. This is measured by the share of grid points at which the slice has negative
    curvature, at skip strengths 0, ½ and 1.

    $$h \leftarrow s h + \beta\, \mathrm{relu}(W h + b), \quad \beta^2 = 1 - s^2 + s^2 / L$$

    Check: Networks of `depth` layers are trained on 64 digits by Adam from He initialisation.
    """
    split, rng = data.digits_split(), data.generator(key)
    images, labels = jnp.asarray(split.train_images[:64], jnp.float32), jnp.asarray(split.train_labels[:64])
    strengths = np.repeat(np.float32([0.0, strength, 1.0]), seeds)
    one = [_deep_net(rng, depth, width) for _ in range(seeds)] * 3
    stack = jax.tree.map(lambda *leaves: jnp.stack(leaves), *one)
    ends, losses = _trained_stack(stack, jnp.asarray(strengths), images, labels, num_steps)
    losses = np.asarray(losses).reshape(3, seeds)
    ends = jax.tree.map(np.asarray, ends)
    surfaces = []
    for k, s in enumerate(strengths):
        net = jax.tree.map(lambda a, k=k: a[k], ends)
        turned = jax.random.fold_in(key, k % seeds)
        plane = landscape.random_directions(net, 2, stacked=("blocks", "biases"), key=turned)
        surfaces.append(landscape.loss_surface(_deep_loss, net, *plane, np.asarray(s), images, labels, points=points))
    shares = np.array([s.negative_share() for s in surfaces]).reshape(3, seeds)
    none, some, full = shares.mean(axis=1)
    reached = [f"{row.min():.2g} to {row.max():.2g}" for row in losses]
    what = "least share of negative curvature without skips, against the largest with "
    what += f"(training losses {reached[0]} and {reached[2]})"
    yield at_least(shares[0].min(), shares[2].max(), what, strict=True)
    yield at_most(full, none / 2, "mean share of negative curvature with skips, against half of the one without")
    what = f"mean share of negative curvature at skip strength {strength:g} (training losses {reached[1]}), against 1"
    yield at_least(some, full, what)
    panels = [
        _contours(f"skip strength {s:g}: {share:.0%} negative, training loss {loss:.2g}", surfaces[k * seeds])
        for k, (s, share, loss) in enumerate(zip((0.0, strength, 1.0), shares[:, 0], losses[:, 0], strict=True))
    ]
    title = f"Depth {depth}: negative curvature at {none:.0%} of the slice without skips, at {full:.0%} with"
    yield figure.beside(title, *panels, columns=3)
