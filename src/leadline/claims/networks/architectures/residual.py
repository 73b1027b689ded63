"""Residual networks: the layer, what it is at zero weights, and how deep it can be trained."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, training
from leadline.claims.scenarios.networks.digit_networks import cross_entropy, digits
from leadline.claims.scenarios.networks.drawn_networks import drawn
from leadline.evidence import Int, OneOf, at_least, at_most, claim, close, exactly, model
from leadline.presentation import figure


@model(sources=("eth",))
def residual_network(
    key,
    width: Int(1, 48) = 24,
    depth: Int(1, 60) = 10,
    outputs: Int(1, 48) = 5,
    activation: OneOf("relu", "tanh", "sigmoid", "softplus", "gelu") = "tanh",
    two_matrices: bool = False,
):
    r"""Residual network (ResNet).

    A residual layer adds a branch to its input, x + s(φ(Wx + b) − φ(0)), or to a projection Vx where the dimensions
    differ. The Jacobian of a stack is the product of the factors I + s D W; with s = 1/√L its singular values stay of
    order 1 at every depth.

    $$F(x) = V x + s\,(\varphi(W x + b) - \varphi(0)), \qquad J = \prod_\ell (I + s\, D_\ell W_\ell)$$

    Check: Random residual stacks are compared with the formula: a layer with V = I, a layer to another dimension, and
    the Jacobian of the whole stack.
    """
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
    W, b, U, V = uneven.weight, uneven.bias, uneven.second, uneven.projection
    branch = phi(W @ x + b) - phi(jnp.zeros(()))
    by_hand = V @ x + 0.5 * (branch if U is None else U @ branch)
    size = float(jnp.abs(by_hand).max() + jnp.abs(branch).max())
    what = f"projected layer from {width} to {outputs}, against V x + s(φ(Wx+b) − φ(0))"
    yield close(uneven(x), by_hand, what, atol=1e-13 * size * width)

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
    product = functools.reduce(lambda J, factor: factor @ J, np.asarray(factors), np.asarray(net.first.weight))
    tiny = 1e-12 * float(jnp.abs(stack).max())
    yield close(stack, product, "Jacobian of the stack, against the product of I + s D W", atol=tiny)
    tiny = 1e-6 * float(steep * optax.global_norm(direction))
    yield close(difference, slope, "directional derivative, differences against reverse mode", atol=tiny)

    spectra, number = {}, np.arange(32) + 1
    jacobians = eqx.filter_jit(lambda net, x: net.block_jacobians(x))
    for layers in (1, 10, 50):
        shown = drawn(rng, networks.ResidualNetwork, 32, 32, layers, 1, activation)
        factors = np.asarray(jacobians(shown, jnp.asarray(rng.normal(size=32))))
        J = functools.reduce(lambda J, factor: factor @ J, factors, np.eye(32))
        spectra[f"{layers} block{'s' * (layers > 1)}"] = (number, np.linalg.svd(J, compute_uv=False))
    nodes = [(0, 0, "x", 0.0), (1, 1, "W, b", 0.3), (2, 1, "φ", 0.6), (3, 0, "+", 0.0), (4, 0, "F(x)", 0.0)]
    edges = [(0, 3, 2.0), (0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0)]
    jacobian, rules = "Singular values of the stack's Jacobian, width 32", {"identity": ("y", 1.0)}
    s = spectra["50 blocks"][1]
    yield figure.beside(
        f"Fifty blocks with branches scaled by 1/√50: condition number {s[0] / s[-1]:.2g}",
        figure.graph("A block: the input passes by the branch", nodes=nodes, edges=edges),
        figure.curves(jacobian, "number, sorted", "singular value", points=spectra, rules=rules, log="y"),
    )


@claim(sources=("eth",))
def residual_identity_at_zero(
    key,
    width: Int(1, 100) = 8,
    depth: Int(1, 400) = 100,
    outputs: Int(1, 100) = 5,
    activation: OneOf("sigmoid", "softplus", "tanh", "relu", "gelu") = "sigmoid",
):
    r"""Residual layers start as the identity.

    At W = 0, b = 0 a residual layer is exactly the identity for every activation, a projected one is x → Vx, and a
    plain layer is the constant φ(0). Without the term −φ(0) every block adds φ(0): 100 sigmoid blocks return x + 50.

    $$x + \varphi(0) - \varphi(0) = x$$

    Assumes: W = 0 and b = 0.

    Check: Layers with zero weights are evaluated for every activation, and three stacks of many blocks for the chosen
    one.
    """
    rng = data.generator(key)
    x = jnp.asarray(rng.normal(size=width))
    same, constant, projected = [], [], []

    def zeroed(layer):
        return jax.tree.map(jnp.zeros_like, layer)

    for name, phi in networks.ACTIVATIONS.items():
        square = zeroed(drawn(rng, networks.ResidualLayer, width, width, name))
        plain = zeroed(drawn(rng, networks.ResidualLayer, width, outputs, name, skip=False, centred=False))
        same.append(square(x))
        constant.append((plain(x), np.full(outputs, phi(jnp.zeros(())))))
        layer = drawn(rng, networks.ResidualLayer, width, outputs, name, projected=True)
        layer = eqx.tree_at(lambda m: (m.weight, m.bias), layer, (0 * layer.weight, 0 * layer.bias))
        projected.append((layer(x), layer.projection @ x))
    yield exactly(same, x, f"residual layer at zero weights, against x, {len(same)} activations")
    yield exactly(*np.stack(constant, 1), "plain layer at zero weights, against φ(0)")
    yield exactly(*np.stack(projected, 1), "projected layer at zero weights, against V x")
    stacks, uncentred = {}, {"centred": False}
    for name, options in (("residual", {}), ("without −φ(0)", uncentred), ("plain", uncentred | {"skip": False})):
        options = {"branch_scale": 1.0} | options
        net = zeroed(drawn(rng, networks.ResidualNetwork, width, width, depth, 1, activation, **options))
        net = eqx.tree_at(lambda n: n.first.weight, net, jnp.eye(width))
        stacks[name] = np.asarray(eqx.filter_jit(lambda net, x: net.states(x))(net, x))
    at_zero, start = float(networks.activation(activation)(jnp.zeros(()))), np.asarray(x)
    yield exactly(stacks["residual"][-1], start, f"{depth} residual blocks at zero weights, against x")
    what, tiny = f"{depth} blocks without −φ(0), against x + {depth} φ(0)", 1e-12 * (1 + depth * at_zero) * depth
    yield close(stacks["without −φ(0)"][-1], start + at_zero * depth, what, atol=tiny)
    yield exactly(stacks["plain"][-1], at_zero, f"{depth} plain layers at zero weights, against the constant φ(0)")
    layers = np.arange(depth + 1)
    lines = {
        "residual": (layers, np.full(depth + 1, start[0])),
        "without −φ(0)": (layers, start[0] + at_zero * layers),
        "plain": (layers, np.where(layers > 0, at_zero, start[0])),
    }
    seen = np.unique(np.linspace(0, depth, 21).astype(int))
    points = {name: (seen, states[seen, 0]) for name, states in stacks.items()}
    drifted = f"without −φ(0) they return x + {at_zero * depth:.3g}"
    title = f"Zero weights, {activation}: {depth} residual blocks return x, {drifted}"
    yield figure.curves(title, "blocks", "first entry of the state", lines=lines, points=points)


@claim(sources=("eth",), slow="about 35 seconds", empirical=True)
def residual_depth_trainability(key, depth: Int(90, 120) = 100):
    r"""Skip connections make depth trainable.

    In the same number of steps a plain MLP trains when shallow and fails when deep, while the same layers with skip
    connections and branches scaled by 1/√L still train at depth 100.

    $$x \mapsto \varphi(W x) \quad \text{against} \quad x \mapsto x + L^{-1/2} \varphi(W x)$$

    Assumes: the same He variance, data, batches and optimiser in both arms; no normalisation.

    Check: ReLU networks of width 64 are trained on digits by 500 steps of Adam with step size 10⁻³ in batches of 32,
    with 3 seeds, at depth 5, half the chosen depth and the full depth.
    """
    images, labels, *_ = digits()
    rule, steps, seeds = optax.adam(1e-3), 500, 3
    rng, keys = data.generator(key), jax.random.split(key, seeds)
    depths, arms = (5, depth // 2, depth), ("plain", "residual")
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
        for name in arms:
            options = {"skip": name == "residual", "dtype": jnp.float32, "bias_scale": 0.0}
            built = [drawn(rng, networks.ResidualNetwork, 64, 64, layers, 10, **options) for _ in range(seeds)]
            nets = jax.tree.map(lambda *leaves: jnp.stack(leaves), *built)
            loss[name, layers], steep[name, layers] = map(np.asarray, train(nets, keys, images, labels))
    (plain, residual), half = (loss[name, depth] for name in arms), depths[1]
    yield at_most(residual, 0.1, f"training loss, residual, depth {depth}, every seed", strict=True)
    yield at_least(plain, 5 * residual, f"training loss, plain, depth {depth}, against 5 times the residual one")
    what = f"training loss, residual against plain, depth {half}"
    yield at_most(loss["residual", half], loss["plain", half], what, strict=True)
    yield at_most(loss["plain", 5], 0.1, "training loss, plain, depth 5: shallow networks need no skips", strict=True)
    points, norms = {}, {}
    for name in arms:
        points[name] = (depths, *([f(loss[name, layers]) for layers in depths] for f in (np.median, np.min, np.max)))
        norms[name] = {str(layers): np.median(steep[name, layers]) for layers in depths}
    shrinks = [np.median(steep[name, depth] / steep[name, 5]) for name in arms]
    reached = f"{np.median(plain):.2g}, the residual one reaches {np.median(residual):.2g}"
    title = f"At depth {depth} the plain network stays at loss {reached}"
    yield figure.curves(title, "hidden layers", "training loss after 500 steps", points=points, log="xy")
    ratios = f"{shrinks[0]:.2g} plain, {shrinks[1]:.2g} residual"
    title = f"Gradient of the first block at the start, depth {depth} over depth 5: {ratios}"
    yield figure.bars(title, "hidden layers", "gradient norm, median of 3 seeds", values=norms, log=True)
