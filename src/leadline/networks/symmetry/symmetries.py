"""Changes of a network's parameters that leave its function as it is: permuting and rescaling hidden units."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from ..architectures.fully_connected import MLP

Permutation = Int[Array | np.ndarray, " _"]


def permute_units(net: MLP, permutations: Sequence[Permutation]) -> MLP:
    """The same function with the hidden units in another order: W_l ↦ P_l W_l P_{l-1}ᵀ, b_l ↦ P_l b_l.

    Unit i of the new hidden layer l is unit permutations[l-1][i] of the old one; one permutation per hidden layer.

    >>> net = MLP((3, 4, 2), "tanh", key=jax.random.key(0))
    >>> moved = permute_units(net, [jnp.array([2, 0, 3, 1])])
    >>> bool(jnp.allclose(moved(jnp.ones(3)), net(jnp.ones(3))))
    True
    """
    hidden = net.widths[1:-1]
    if len(permutations) != len(hidden):
        raise ValueError(
            f"permute_units got {len(permutations)} permutations for {len(hidden)} hidden layers; give each."
        )
    for index, (p, width) in enumerate(zip(permutations, hidden, strict=True)):
        if isinstance(p, Tracer):
            continue
        if sorted(np.asarray(p).tolist()) != list(range(width)):
            raise ValueError(f"Permutation {index} is not one of 0..{width - 1}; list every unit exactly once.")
    layers = []
    for index, layer in enumerate(net.layers):
        weight = layer.weight if index == 0 else layer.weight[:, permutations[index - 1]]
        bias = layer.bias
        if index < len(hidden):
            weight = weight[permutations[index]]
            bias = bias if bias is None else bias[permutations[index]]
        layers.append(_replaced(layer, weight, bias))
    return eqx.tree_at(lambda n: n.layers, net, tuple(layers))


def random_permutations(net: MLP, *, key: PRNGKeyArray) -> list[Int[Array, " _"]]:
    """A uniformly random permutation of the units of each hidden layer."""
    hidden = net.widths[1:-1]
    keys = jax.random.split(key, max(len(hidden), 1))
    return [jax.random.permutation(k, width) for k, width in zip(keys, hidden, strict=False)]


def permutation_copies(net: MLP) -> int:
    """The number of networks that permutations make of one with distinct units: the product of N_l! over hidden layers.

    >>> permutation_copies(MLP((2, 3, 4, 1), key=jax.random.key(0)))
    144
    """
    from math import factorial, prod

    return prod(factorial(width) for width in net.widths[1:-1])


def rescale_units(net: MLP, factors: Sequence[Float[Array, " _"]]) -> MLP:
    """Multiply the incoming weights and the bias of hidden unit j by a_j and divide its outgoing weights by a_j.

    With D_l the diagonal matrix of the factors of layer l: W_l ↦ D_l W_l D_{l-1}⁻¹, b_l ↦ D_l b_l. The function
    stays as it is if φ(a t) = a φ(t): for positively homogeneous φ (ReLU) and a_j > 0. Factors of 0 are refused.

    >>> net = MLP((3, 4, 2), key=jax.random.key(0))
    >>> moved = rescale_units(net, [jnp.array([0.1, 1.0, 5.0, 30.0])])
    >>> bool(jnp.allclose(moved(jnp.ones(3)), net(jnp.ones(3)), rtol=1e-5))
    True
    """
    hidden = net.widths[1:-1]
    if len(factors) != len(hidden):
        raise ValueError(
            f"rescale_units got {len(factors)} vectors of factors for {len(hidden)} hidden layers; give each."
        )
    for index, (a, width) in enumerate(zip(factors, hidden, strict=True)):
        if a.shape != (width,):
            raise ValueError(
                f"The factors of hidden layer {index + 1} have shape {a.shape}; give one per unit: ({width},)."
            )
        if not isinstance(a, Tracer) and not bool(jnp.all(a != 0)):
            raise ValueError(
                f"A factor of hidden layer {index + 1} is 0, and 1/0 is not a weight; give factors above 0."
            )
    layers = []
    for index, layer in enumerate(net.layers):
        weight, bias = layer.weight, layer.bias
        if index > 0:
            weight = weight / factors[index - 1]
        if index < len(hidden):
            weight = factors[index][:, None] * weight
            bias = bias if bias is None else factors[index] * bias
        layers.append(_replaced(layer, weight, bias))
    return eqx.tree_at(lambda n: n.layers, net, tuple(layers))


def scale_balance(net: MLP, gradient: PyTree) -> list[tuple[Float[Array, " _"], Float[Array, " _"]]]:
    """For every hidden layer the two sides of ⟨∂L/∂w_j, w_j⟩ + ∂L/∂b_j b_j = ⟨∂L/∂v_j, v_j⟩, unit by unit.

    `gradient` is the gradient of any loss with respect to `net`. w_j, b_j go into unit j, v_j out of it. The sides are
    equal for positively homogeneous activations, because the loss is constant along the unit's scaling orbit.
    """
    into = [
        jnp.sum(g.weight * layer.weight, 1) + (0 if layer.bias is None else g.bias * layer.bias)
        for g, layer in zip(gradient.layers, net.layers, strict=True)
    ]
    out = [jnp.sum(g.weight * layer.weight, 0) for g, layer in zip(gradient.layers, net.layers, strict=True)]
    return list(zip(into[:-1], out[1:], strict=True))


def layer_norms(net: MLP) -> Float[Array, " layers"]:
    """The squared Frobenius norm of each weight matrix.

    Gradient flow on bias-free networks with a positively homogeneous activation conserves their differences.

    >>> layer_norms(MLP((2, 3, 1), init="zeros", key=jax.random.key(0))).tolist()
    [0.0, 0.0]
    """
    return jnp.stack([jnp.sum(layer.weight**2) for layer in net.layers])


def scale_invariants(net: MLP) -> list[Float[Array, " _"]]:
    """‖v_j‖² - ‖w_j‖² - b_j² of every hidden unit, layer by layer; w_j, b_j go into unit j, v_j out of it.

    Gradient flow of any loss conserves each of them if the activation is positively homogeneous, because the gradient
    is orthogonal to the unit's scaling orbit; without biases a layer's sum is ‖W_{l+1}‖² - ‖W_l‖². Du et al. 2018.

    >>> [invariant.tolist() for invariant in scale_invariants(MLP((2, 3, 1), init="zeros", key=jax.random.key(0)))]
    [[0.0, 0.0, 0.0]]
    """
    into = [jnp.sum(m.weight**2, 1) + (0 if m.bias is None else m.bias**2) for m in net.layers[:-1]]
    return [jnp.sum(m.weight**2, 0) - w for w, m in zip(into, net.layers[1:], strict=True)]


def _replaced(layer: eqx.nn.Linear, weight: Array, bias: Array | None) -> eqx.nn.Linear:
    layer = eqx.tree_at(lambda m: m.weight, layer, weight)
    return layer if bias is None else eqx.tree_at(lambda m: m.bias, layer, bias)
