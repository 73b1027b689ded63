"""How many numbers a network has, computes with and keeps, in all and by layer."""

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from .architectures.fully_connected import MLP


def parameter_count(model: PyTree) -> int:
    """The number of scalars stored in the floating-point arrays of a model: of any Equinox module or pytree.

    The shapes are enough: a model that would not fit the memory can be counted from `eqx.filter_eval_shape`.

    >>> parameter_count(MLP((64, 32, 10), key=jax.random.key(0)))
    2410
    >>> import equinox as eqx
    >>> parameter_count(eqx.filter_eval_shape(MLP, (10**6, 10**6), bias=False, key=jax.random.key(0)))
    1000000000000
    """
    leaves = [leaf for leaf in jax.tree.leaves(model) if isinstance(leaf, jax.Array | jax.ShapeDtypeStruct)]
    return sum(prod(leaf.shape) for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.inexact))


def mlp_parameters(widths: Sequence[int], *, bias: bool = True) -> int:
    """P = Σ_l N_l (N_{l-1} + 1), without the 1 if there is no bias.

    >>> mlp_parameters((64, 32, 10)), mlp_parameters((64, 32, 10), bias=False)
    (2410, 2368)
    """
    return sum(m * (n + bias) for n, m in pairwise(widths))


class LayerCost(NamedTuple):
    """One layer: its parameters, and per input its multiply-adds and the activations kept for the backward pass."""

    shape: tuple[int, int]
    parameters: int
    multiply_adds: int
    activations: int


def layer_costs(net: MLP) -> list[LayerCost]:
    """Per layer N_l (N_{l-1} + 1) parameters, N_l N_{l-1} multiply-adds and N_l pre-activations to keep.

    >>> [cost.parameters for cost in layer_costs(MLP((64, 32, 10), key=jax.random.key(0)))]
    [2080, 330]
    """
    costs = []
    for layer in net.layers:
        out, inputs = layer.weight.shape
        costs.append(LayerCost((out, inputs), parameter_count(layer), out * inputs, out))
    return costs


def width_at_budget(budget: int, hidden_layers: int, inputs: int, outputs: int) -> int:
    """The largest width of `hidden_layers` equal hidden layers for which an MLP has at most `budget` parameters.

    The positive root of (L-1) N² + (inputs + outputs + L) N + outputs = budget, rounded down.

    >>> width_at_budget(2410, 1, 64, 10)
    32
    """
    if hidden_layers < 1:
        raise ValueError(f"width_at_budget got {hidden_layers} hidden layers; it needs at least 1.")
    if mlp_parameters((inputs, *[1] * hidden_layers, outputs)) > budget:
        raise ValueError(f"A budget of {budget} parameters is too small for {hidden_layers} hidden layers of width 1.")
    a, b, c = hidden_layers - 1, inputs + outputs + hidden_layers, outputs - budget
    width = int(-2 * c / (b + (b * b - 4 * a * c) ** 0.5))
    while mlp_parameters((inputs, *[width + 1] * hidden_layers, outputs)) <= budget:
        width += 1
    while mlp_parameters((inputs, *[width] * hidden_layers, outputs)) > budget:
        width -= 1
    return width
