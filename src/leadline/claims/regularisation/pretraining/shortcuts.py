"""Shortcut blocks: the identity is where they start and where decay pulls them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, regularisation, training
from leadline.claims.scenarios.networks.digit_networks import cross_entropy, digits
from leadline.evidence import Int, at_least, at_most, close, exactly, model
from leadline.presentation import figure

SEEDS, STEPS, WIDTH = 2, 150, 32


@model(sources=("sheet",), shows=("networks.ResidualNetwork", "networks.DenseNetwork"))
def shortcut_blocks(key, depth: Int(80, 160) = 100, growth: Int(2, 12) = 4, layers: Int(1, 12) = 6):
    r"""Shortcut blocks as a prior.

    An additive block x + F(x) with F = 0 is the identity, and weight decay pulls it there: the prior of a deep stack is
    to do nothing. A concatenating block keeps its input beside F(x); where every layer reads all earlier ones there are
    L(L+1)/2 connections, and c₀ + gl channels before layer l + 1. Residual stacks train at depths where plain ones do
    not.

    $$G(x) = x + F(x), \qquad [x, F(x)], \qquad \sum_{l=1}^{L} l = \frac{L(L+1)}{2}, \qquad c_l = c_0 + g\,l$$

    Assumes: for the identity, a last layer of F that is zero.

    Check: Two-matrix ReLU blocks with the last matrix set to zero; decay alone, without data; the weights of a dense
    network; and plain against residual ReLU networks of width 32, He variance, branches over √depth, 150 steps of Adam
    at 0.003 on digits, 2 seeds. The last part is a finding, and rests on that step size: at 0.001 both are slow, and
    the residual network's loss is not below half of the plain one's.
    """
    rng = data.generator(key)
    net = networks.ResidualNetwork(16, 16, 20, 1, two_matrices=True, dtype=float, key=key)
    zeroed = eqx.tree_at(lambda n: n.blocks.second, net, jnp.zeros_like(net.blocks.second))
    x = jnp.asarray(rng.normal(size=16))
    states = np.asarray(zeroed.states(x))
    yield exactly(states[1:], np.broadcast_to(states[0], states[1:].shape), "20 blocks with a zero last layer: states")
    stack = jax.jit(jax.jacobian(lambda h: jax.lax.scan(lambda h, b: (b(h), None), h, zeroed.blocks)[0]))
    values = np.linalg.svd(np.asarray(stack(x)), compute_uv=False)
    yield close(values, 1.0, "singular values of the stack's Jacobian", atol=1e-12)
    times, sizes = _decayed(net, x)
    yield close(
        sizes, sizes[0] * 0.9 ** (2 * times), "‖G(x) − x‖ of a block under decay alone, against (1 − ημ)²ᵗ", rtol=1e-10
    )
    dense = networks.DenseNetwork(5, growth, layers, 3, dtype=float, key=key)
    blocks = [_blocks_read(np.asarray(layer.weight), growth, 5) for layer in dense.layers]
    yield exactly(sum(blocks), layers * (layers + 1) // 2, "dense block: connections, against L(L+1)/2")
    widths = np.cumsum([len(s) for s in dense.states(jnp.ones(5))])
    yield exactly(
        widths, 5 + growth * np.arange(layers + 1), "dense block: channels before each layer, against c₀ + gl"
    )
    depths = (10, 30, depth)
    loss = {(name, d): _losses(key, d, name == "residual") for d in depths for name in ("plain", "residual")}
    what = f"training loss at depth {depth}: residual, every seed, against half of plain"
    yield at_most(loss["residual", depth], 0.5 * loss["plain", depth], what, strict=True).as_empirical()
    what = f"training loss of the plain network at depth {depth}, against 1: it has not learned"
    yield at_least(loss["plain", depth], 1.0, what).as_empirical()
    points = {
        name: (depths, *([f(loss[name, d]) for d in depths] for f in (np.median, np.min, np.max)))
        for name in ("plain", "residual")
    }
    title = (
        f"Depth {depth} after {STEPS} steps: training loss {np.median(loss['plain', depth]):.2g} plain, "
        f"{np.median(loss['residual', depth]):.2g} residual"
    )
    yield figure.curves(title, "blocks", "training loss", points=points, log="xy", rules={"chance": ("y", np.log(10))})


def _decayed(net, x):
    """‖G(x) − x‖ of a block after 0, 1, ..., 10 steps of weight decay by ημ = 0.1, without a data gradient."""
    rule = regularisation.decoupled_decay(optax.sgd(0.1), 0.1, 1.0, group=regularisation.everything)
    block, times, sizes = net.block(0), np.arange(11), []
    for _ in times:
        sizes.append(float(jnp.linalg.norm(block.branch(x))))
        block, _ = training.minimise(_nothing, block, rule, 1)
    return times, np.array(sizes)


def _nothing(block):
    """A loss that no data are in."""
    return 0.0 * jnp.sum(block.weight)


def _blocks_read(weight, growth, inputs):
    """How many of the earlier outputs, newest first and the input last, a layer has weights for."""
    earlier = (weight.shape[1] - inputs) // growth
    parts = np.split(weight, growth * np.arange(1, earlier + 1), axis=1)
    return sum(bool(part.any()) for part in parts)


def _losses(key, depth, skip):
    """Training losses on digits of networks with and without shortcuts, one for each seed."""
    images, labels, *_ = digits()
    return np.asarray(_trained(jax.random.split(key, SEEDS), images, labels, depth, skip))


@eqx.filter_jit
def _trained(keys, images, labels, depth, skip):
    def one(key):
        net = networks.ResidualNetwork(64, WIDTH, depth, 10, skip=skip, dtype=jnp.float32, key=key)
        rule = optax.adam(3e-3)
        end, _ = training.minimise(cross_entropy, net, rule, STEPS, images, labels, batch=32, key=key)
        return cross_entropy(end, images, labels)

    return jax.lax.map(one, keys)
