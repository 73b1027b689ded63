"""Residual networks: the layer, what it is at zero weights, and how deep it can be trained."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, training
from leadline.claims.networks.digit_networks import cross_entropy, digits
from leadline.claims.networks.drawn_networks import drawn
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, exactly, figure, model


@model(
    "residual-network",
    says=(
        "A residual layer adds a branch to its input, x + s(φ(Wx + b) − φ(0)), or to a projection Vx where the "
        "dimensions differ. The Jacobian of a stack is the product of the factors I + s D W; with s = 1/√L its "
        "singular values stay of order 1 at every depth."
    ),
    formula=r"F(x) = V x + s\,(\varphi(W x + b) - \varphi(0)), \qquad J = \prod_\ell (I + s\, D_\ell W_\ell)",
    sources=("eth",),
    shows=("networks.ResidualLayer", "networks.ResidualNetwork"),
)
def residual_network(
    key,
    width: Annotated[int, Range(1, 48)] = 24,
    depth: Annotated[int, Range(1, 60)] = 10,
    outputs: Annotated[int, Range(1, 48)] = 5,
    activation: Annotated[str, Choice("relu", "tanh", "sigmoid", "softplus", "gelu")] = "tanh",
    two_matrices: bool = False,
):
    """A random stack; one layer of it with V = I, and one to another dimension, against the formula in NumPy."""
    rng = data.generator(key)
    phi = networks.activation(activation)
    options = {"two_matrices": two_matrices}
    square = drawn(rng, networks.ResidualLayer, width, width, activation, **options)
    as_projected = drawn(rng, networks.ResidualLayer, width, width, activation, projected=True, **options)
    as_projected = eqx.tree_at(
        lambda layer: (layer.weight, layer.bias, layer.second, layer.projection),
        as_projected,
        (square.weight, square.bias, square.second, jnp.eye(width)),
        is_leaf=lambda leaf: leaf is None,
    )
    x = jnp.asarray(rng.normal(size=width))
    yield exactly(as_projected(x), square(x), "the projected layer with V = I, against the square layer")
    uneven = drawn(rng, networks.ResidualLayer, width, outputs, activation, projected=True, scale=0.5, **options)
    W, b, U, V = (
        None if a is None else np.asarray(a) for a in (uneven.weight, uneven.bias, uneven.second, uneven.projection)
    )
    branch = np.asarray(phi(jnp.asarray(W @ np.asarray(x) + b))) - float(phi(jnp.zeros(())))
    by_hand = V @ np.asarray(x) + 0.5 * (branch if U is None else U @ branch)
    size = float(np.abs(by_hand).max() + np.abs(branch).max())
    yield close(
        uneven(x),
        by_hand,
        f"projected layer from {width} to {outputs}, against V x + s(φ(Wx+b) − φ(0))",
        atol=1e-13 * size * width,
    )

    net = drawn(rng, networks.ResidualNetwork, width, width, depth, outputs, activation, **options)
    direction = drawn(rng, networks.ResidualNetwork, width, width, depth, outputs, activation, **options)
    c = jnp.asarray(rng.normal(size=outputs))

    @eqx.filter_jit
    def examined(net, direction, x, c):
        stack = jax.jacobian(lambda x: net.states(x)[-1])(x)

        def loss(net):
            return jnp.tanh(c @ net(x) / outputs)

        def moved(h):
            return loss(jax.tree.map(lambda p, d: p + h * d, net, direction))

        gradient = jax.grad(loss)(net)
        h = 1e-6
        slope = sum(jnp.vdot(g, d) for g, d in zip(jax.tree.leaves(gradient), jax.tree.leaves(direction), strict=True))
        return stack, net.block_jacobians(x), slope, (moved(h) - moved(-h)) / (2 * h), optax.global_norm(gradient)

    stack, factors, slope, difference, steep = examined(net, direction, x, c)
    product = np.asarray(net.first.weight)
    for factor in np.asarray(factors):
        product = factor @ product
    yield close(
        stack,
        product,
        "Jacobian of the stack, against the product of I + s D W",
        atol=1e-12 * float(jnp.abs(stack).max()),
    )
    length = float(optax.global_norm(direction))
    yield close(
        difference, slope, "directional derivative, differences against reverse mode", atol=1e-6 * float(steep) * length
    )

    spectra = {}
    for layers in (1, 10, 50):
        shown = drawn(rng, networks.ResidualNetwork, 32, 32, layers, 1, activation)
        J = np.eye(32)
        for factor in np.asarray(
            eqx.filter_jit(lambda net, x: net.block_jacobians(x))(shown, jnp.asarray(rng.normal(size=32)))
        ):
            J = factor @ J
        spectra[layers] = np.linalg.svd(J, compute_uv=False)
    spread = spectra[50][0] / spectra[50][-1]
    yield figure.beside(
        f"Fifty blocks with branches scaled by 1/√50: condition number {spread:.2g}",
        figure.graph(
            "A block: the input passes by the branch",
            nodes=[(0, 0, "x", 0.0), (1, 1, "W, b", 0.3), (2, 1, "φ", 0.6), (3, 0, "+", 0.0), (4, 0, "F(x)", 0.0)],
            edges=[(0, 3, 2.0), (0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0)],
        ),
        figure.curves(
            "Singular values of the stack's Jacobian, width 32",
            x="number, sorted",
            y="singular value",
            points={f"{layers} block{'s' * (layers > 1)}": (np.arange(32) + 1, s) for layers, s in spectra.items()},
            rules={"identity": ("y", 1.0)},
            log="y",
        ),
    )  # fmt: skip


@claim(
    "residual-identity-at-zero",
    says=(
        "At W = 0, b = 0 a residual layer is exactly the identity for every activation, the projected one x → Vx, "
        "and a plain layer the constant φ(0). Without the term −φ(0) every block adds φ(0): 100 sigmoid "
        "blocks return x + 50."
    ),
    formula=r"x + \varphi(0) - \varphi(0) = x",
    sources=("eth",),
    assumes=("W = 0 and b = 0",),
    shows=("networks.ResidualLayer", "networks.ResidualNetwork"),
)
def residual_identity_at_zero(
    key,
    width: Annotated[int, Range(1, 100)] = 8,
    depth: Annotated[int, Range(1, 400)] = 100,
    outputs: Annotated[int, Range(1, 100)] = 5,
    activation: Annotated[str, Choice("sigmoid", "softplus", "tanh", "relu", "gelu")] = "sigmoid",
):
    """Zero-weight layers of every activation, and three stacks of `depth` blocks of the chosen one."""
    rng = data.generator(key)
    x = jnp.asarray(rng.normal(size=width))
    same, constant, projected, corrected = [], [], [], []

    def zeroed(layer):
        return jax.tree.map(jnp.zeros_like, layer)

    for name, phi in networks.ACTIVATIONS.items():
        square = zeroed(drawn(rng, networks.ResidualLayer, width, width, name))
        plain = zeroed(drawn(rng, networks.ResidualLayer, width, outputs, name, skip=False, centred=False))
        same.append(np.asarray(square(x)))
        constant.append((np.asarray(plain(x)), np.full(outputs, float(phi(jnp.zeros(()))))))
        layer = drawn(rng, networks.ResidualLayer, width, outputs, name, projected=True)
        layer = eqx.tree_at(lambda m: (m.weight, m.bias), layer, (0 * layer.weight, 0 * layer.bias))
        projected.append(np.asarray(layer(x)))
        corrected.append(np.asarray(layer.projection @ x))
    yield exactly(np.array(same), np.asarray(x), f"residual layer at zero weights, {len(same)} activations")
    yield exactly([m for m, _ in constant], [p for _, p in constant], "plain layer at zero weights, against φ(0)")
    yield exactly(np.array(projected), np.array(corrected), "projected layer at zero weights, against V x")

    stacks = {}
    for name, options in (
        ("residual", {}), ("without −φ(0)", {"centred": False}), ("plain", {"skip": False, "centred": False}),
    ):  # fmt: skip
        build = {"branch_scale": 1.0} | options
        net = zeroed(drawn(rng, networks.ResidualNetwork, width, width, depth, 1, activation, **build))
        net = eqx.tree_at(lambda n: n.first.weight, net, jnp.eye(width))
        stacks[name] = np.asarray(eqx.filter_jit(lambda net, x: net.states(x))(net, x))
    at_zero = float(networks.activation(activation)(jnp.zeros(())))
    start = np.asarray(x)
    yield exactly(stacks["residual"][-1], start, f"a stack of {depth} residual blocks")
    drift = start + at_zero * depth
    yield close(
        stacks["without −φ(0)"][-1],
        drift,
        f"{depth} blocks without −φ(0), against x + {depth} φ(0)",
        atol=1e-12 * (1 + depth * at_zero) * depth,
    )
    yield exactly(stacks["plain"][-1], at_zero, f"{depth} plain layers: the constant φ(0)")

    layers = np.arange(depth + 1)
    seen = np.unique(np.linspace(0, depth, 21).astype(int))
    predicted = {
        "residual": np.full(depth + 1, start[0]),
        "without −φ(0)": start[0] + at_zero * layers,
        "plain": np.where(layers > 0, at_zero, start[0]),
    }
    yield figure.curves(
        (
            f"Zero weights, {activation}: {depth} residual blocks return x, without −φ(0) they return "
            f"x + {at_zero * depth:.3g}"
        ),
        x="blocks",
        y="first entry of the state",
        lines={name: (layers, values) for name, values in predicted.items()},
        points={name: (seen, states[seen, 0]) for name, states in stacks.items()},
    )


@claim(
    "residual-depth-trainability",
    says=(
        "In the same number of steps a plain MLP trains when shallow and fails when deep, while the same layers with "
        "skip connections and branches scaled by 1/√L still train at depth 100."
    ),
    formula=r"x \mapsto \varphi(W x) \quad \text{against} \quad x \mapsto x + L^{-1/2} \varphi(W x)",
    sources=("eth",),
    assumes=("the same He variance, data, batches and optimiser in both arms; no normalisation",),
    shows=("networks.ResidualNetwork",),
    slow="about 35 seconds",
    empirical=True,
)
def residual_depth_trainability(
    key,
    depth: Annotated[int, Range(90, 120)] = 100,
):
    """ReLU, width 64, digits, 500 steps of Adam at 1e-3 in batches of 32, 3 seeds; at depths 5, `depth`/2, `depth`."""
    images, labels, *_ = digits()
    rule, steps, seeds = optax.adam(1e-3), 500, 3
    rng = data.generator(key)
    keys = jax.random.split(key, seeds)
    depths = (5, depth // 2, depth)
    loss, steep = {}, {}

    @eqx.filter_jit
    def train(nets, keys, images, labels):
        """One seed after the other: on a CPU faster, to compile and to run, than all of them side by side."""

        def one(seeded):
            net, key = seeded
            end, _ = training.minimise(cross_entropy, net, rule, steps, images, labels, batch=32, key=key)
            first = jax.grad(cross_entropy)(net, images[:256], labels[:256]).blocks.weight[0]
            return cross_entropy(end, images, labels), jnp.linalg.norm(first)

        return jax.lax.map(one, (nets, keys))

    for layers in depths:
        for name, skip in (("plain", False), ("residual", True)):
            built = [
                drawn(rng, networks.ResidualNetwork, 64, 64, layers, 10, skip=skip, dtype=jnp.float32, bias_scale=0.0)
                for _ in range(seeds)
            ]
            nets = jax.tree.map(lambda *leaves: jnp.stack(leaves), *built)
            values, norms = train(nets, keys, images, labels)
            loss[name, layers], steep[name, layers] = np.asarray(values), np.asarray(norms)
    deep, half = depths[2], depths[1]
    yield at_most(loss["residual", deep], 0.1, f"training loss, residual, depth {deep}, every seed", strict=True)
    yield at_least(
        loss["plain", deep],
        5 * loss["residual", deep],
        f"training loss, plain, depth {deep}, against 5 times the residual one",
    )
    yield at_most(
        loss["residual", half], loss["plain", half], f"training loss, residual against plain, depth {half}", strict=True
    )
    yield at_most(loss["plain", 5], 0.1, "training loss, plain, depth 5: shallow networks need no skips", strict=True)
    shrinks = [np.median(steep[name, deep] / steep[name, 5]) for name in ("plain", "residual")]
    yield figure.curves(
        (
            f"At depth {deep} the plain network stays at loss {np.median(loss['plain', deep]):.2g}, the residual one "
            f"reaches {np.median(loss['residual', deep]):.2g}"
        ),
        x="hidden layers",
        y="training loss after 500 steps",
        points={
            name: (depths, *([f(loss[name, layers]) for layers in depths] for f in (np.median, np.min, np.max)))
            for name in ("plain", "residual")
        },
        log="xy",
    )
    yield figure.bars(
        (
            f"Gradient of the first block at the start, depth {deep} over depth 5: {shrinks[0]:.2g} plain, "
            f"{shrinks[1]:.2g} residual"
        ),
        x="hidden layers",
        y="gradient norm, median of 3 seeds",
        values={
            name: {str(layers): float(np.median(steep[name, layers])) for layers in depths}
            for name in ("plain", "residual")
        },
        log=True,
    )  # fmt: skip
