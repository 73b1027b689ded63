"""Networks with one activation turned into networks with another that compute the same function."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..architectures.fully_connected import MLP

Affine = tuple[Float[Array, "_ _"], Float[Array, " _"] | None]


def mlp_from_affine(affine: Sequence[Affine], activation: str, *, last_activation: bool = False) -> MLP:
    """The network with the given (W_l, b_l), in standard parametrisation; all b_l are None, or none is.

    >>> net = mlp_from_affine([(jnp.eye(2), jnp.zeros(2)), (jnp.ones((1, 2)), jnp.ones(1))], "relu")
    >>> net(jnp.array([3.0, -1.0])).tolist()
    [4.0]
    """
    biased = {bias is not None for _, bias in affine}
    if len(biased) != 1:
        raise ValueError("mlp_from_affine got some layers with and some without a bias; give every layer one, or none.")
    widths = [affine[0][0].shape[1], *(weight.shape[0] for weight, _ in affine)]
    net = MLP(
        widths,
        activation,
        init="zeros",
        bias=biased.pop(),
        last_activation=last_activation,
        dtype=affine[0][0].dtype,
        key=jax.random.key(0),
    )
    weights = eqx.tree_at(lambda n: [layer.weight for layer in n.layers], net, [weight for weight, _ in affine])
    if affine[0][1] is None:
        return weights
    return eqx.tree_at(lambda n: [layer.bias for layer in n.layers], weights, [bias for _, bias in affine])


def tanh_to_sigmoid(net: MLP) -> MLP:
    """The sigmoid network of the same widths and the same function as a tanh network, by tanh z = 2σ(2z) - 1.

    Each hidden (W, b) becomes (2W, 2b), and the layer (V, c) above a hidden one first becomes (2V, c - V 1): the
    constant needs a bias, which is made where the network has none.

    >>> net = MLP((3, 4, 2), "tanh", key=jax.random.key(0))
    >>> x = jnp.array([1.0, -2.0, 0.5])
    >>> bool(jnp.allclose(tanh_to_sigmoid(net)(x), net(x), atol=1e-5))
    True
    """
    return _rescaled(net, "tanh", "sigmoid", inside=2.0, outside=2.0, shift=-1.0)


def sigmoid_to_tanh(net: MLP) -> MLP:
    """The tanh network of the same widths and the same function as a sigmoid network, by σ(z) = (1 + tanh(z/2))/2.

    >>> net = MLP((3, 4, 2), "sigmoid", key=jax.random.key(0))
    >>> x = jnp.array([1.0, -2.0, 0.5])
    >>> bool(jnp.allclose(sigmoid_to_tanh(net)(x), net(x), atol=1e-5))
    True
    """
    return _rescaled(net, "sigmoid", "tanh", inside=0.5, outside=0.5, shift=0.5)


def absolute_to_relu(net: MLP) -> MLP:
    """The ReLU network of twice the hidden widths and the same function as an AbsU network: |z| = (z)₊ + (-z)₊.

    >>> net = MLP((3, 4, 2), "absolute", key=jax.random.key(0))
    >>> absolute_to_relu(net).widths
    (3, 8, 2)
    """
    _check(net, "absolute")
    affine = net.affine()
    layers = []
    for index, (weight, bias) in enumerate(affine):
        weight = weight if index == 0 else jnp.concatenate([weight, weight], axis=1)
        if index + 1 < len(affine):
            weight = jnp.concatenate([weight, -weight])
            bias = None if bias is None else jnp.concatenate([bias, -bias])
        layers.append((weight, bias))
    return mlp_from_affine(layers, "relu")


class AbsoluteBypass(eqx.Module):
    """A network of absolute values with a linear bypass: z₁ = W₁ x + b₁, z_{l+1} = V_l (|z_l| + z_l) + b_{l+1}.

    >>> net = MLP((3, 4, 2), key=jax.random.key(0))
    >>> relu_to_absolute(net)(jnp.ones(3)).shape
    (2,)
    """

    layers: tuple[eqx.nn.Linear, ...]

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " out"]:
        z = self.layers[0](x.ravel())
        for layer in self.layers[1:]:
            z = layer(jnp.abs(z) + z)
        return z


def relu_to_absolute(net: MLP) -> AbsoluteBypass:
    """The same function as a ReLU network, of absolute values and a linear bypass, by (z)₊ = (|z| + z)/2.

    >>> net, x = MLP((3, 4, 2), key=jax.random.key(0)), jnp.array([1.0, -2.0, 0.5])
    >>> bool(jnp.allclose(relu_to_absolute(net)(x), net(x)))
    True
    """
    _check(net, "relu")
    first, *rest = net.affine()
    halved = mlp_from_affine([first, *((weight / 2, bias) for weight, bias in rest)], "identity")
    return AbsoluteBypass(halved.layers)


def _rescaled(net: MLP, old: str, new: str, *, inside: float, outside: float, shift: float) -> MLP:
    """φ_old(z) = outside φ_new(inside z) + shift, in every hidden layer."""
    _check(net, old)
    affine = net.affine()
    layers = []
    for index, (weight, bias) in enumerate(affine):
        bias = jnp.zeros(weight.shape[0], weight.dtype) if bias is None else bias
        if index > 0:
            bias = bias + shift * weight.sum(axis=1)
            weight = outside * weight
        if index + 1 < len(affine):
            weight, bias = inside * weight, inside * bias
        layers.append((weight, bias))
    return mlp_from_affine(layers, new)


def _check(net: MLP, activation: str) -> None:
    if net.activation != activation or net.last_activation:
        ends = ", applied to the output too" if net.last_activation else ""
        raise ValueError(
            f"The network has the activation {net.activation!r}{ends}; this conversion needs {activation!r} in the "
            "hidden layers and a linear output."
        )
