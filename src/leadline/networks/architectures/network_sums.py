"""Sums and multiples of networks, as networks again: what it costs in width."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import block_diag
from jaxtyping import Array, Float

from ..symmetry.conversions import mlp_from_affine
from .fully_connected import MLP


def add_networks(a: MLP, b: MLP) -> MLP:
    """The network x ↦ a(x) + b(x), whose hidden layers are those of `a` and `b` side by side: widths N_a + N_b.

    Needs a linear output layer. The first matrices are stacked, the inner ones are the blocks of a block diagonal
    matrix, the last ones stand beside each other, and the last biases are added.

    >>> a, b = (MLP((2, 3, 3, 1), "tanh", key=jax.random.key(seed)) for seed in (0, 1))
    >>> both = add_networks(a, b)
    >>> both.widths, bool(jnp.allclose(both(jnp.ones(2)), a(jnp.ones(2)) + b(jnp.ones(2)), atol=1e-5))
    ((2, 6, 6, 1), True)
    """
    if (a.widths[0], a.widths[-1], len(a.widths), a.activation) != (
        b.widths[0],
        b.widths[-1],
        len(b.widths),
        b.activation,
    ):
        raise ValueError(
            f"add_networks got widths {a.widths} ({a.activation}) and {b.widths} ({b.activation}); inputs, outputs, "
            "depth and activation must agree."
        )
    if len(a.widths) < 3 or a.last_activation or a.parametrisation != "standard" or b.parametrisation != "standard":
        raise ValueError(
            "add_networks needs a hidden layer, a linear output layer and the standard parametrisation; "
            "build the networks so."
        )
    last = len(a.layers) - 1
    layers = []
    for index, (one, two) in enumerate(zip(a.layers, b.layers, strict=True)):
        if index == 0:
            weight = jnp.concatenate([one.weight, two.weight])
        elif index == last:
            weight = jnp.concatenate([one.weight, two.weight], axis=1)
        else:
            weight = block_diag(one.weight, two.weight)
        bias = None
        if one.bias is not None or two.bias is not None:
            first, second = _bias(one), _bias(two)
            bias = first + second if index == last else jnp.concatenate([first, second])
        layers.append((weight, bias))
    return mlp_from_affine(layers, a.activation)


def _bias(layer: eqx.nn.Linear) -> Array:
    return jnp.zeros(len(layer.weight), layer.weight.dtype) if layer.bias is None else layer.bias


def scale_network(net: MLP, factor: float | Float[Array, ""]) -> MLP:
    """The network x ↦ factor · net(x) at the same width: the output layer times the factor.

    >>> net = MLP((2, 3, 1), key=jax.random.key(0))
    >>> bool(jnp.allclose(scale_network(net, -2.0)(jnp.ones(2)), -2 * net(jnp.ones(2))))
    True
    """
    if net.last_activation:
        raise ValueError("scale_network needs a linear output layer; build the network without last_activation.")
    last = jax.tree.map(lambda array: factor * array, net.layers[-1])
    return eqx.tree_at(lambda n: n.layers[-1], net, last)
