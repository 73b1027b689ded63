"""Which inputs a unit of a layer looks at: the size of its derivative by each of them, on data."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from .dissecting import Dissection
from .layer_facts import LayerFacts


def centre_of(layer: LayerFacts) -> tuple[int, ...]:
    """The position in the middle of a convolution's result.

    >>> from leadline.networks.dissection import dissect
    >>> conv = lambda w, x: jax.lax.conv(x[:, None], w, (1, 1), "SAME").reshape(len(x), -1)
    >>> centre_of(dissect(conv, jnp.ones((2, 1, 3, 3)), jnp.ones((1, 8, 6))).layers[0])
    (4, 3)
    """
    return tuple(side // 2 for side in layer.output_shape[1:])


def input_sensitivity(dissection: Dissection, params: PyTree, inputs: Any, number: int) -> Float[np.ndarray, "..."]:
    """Σ over rows of |∂z/∂x|, of the shape of one input, for z the middle position of convolution `number`: a sum over
    its channels with signs that alternate, so that they do not cancel. Inputs that z cannot see give exactly 0.

    >>> from leadline.networks.dissection import dissect
    >>> conv = lambda w, x: jax.lax.conv(x[:, None], w, (1, 1), "SAME").reshape(len(x), -1)
    >>> found = input_sensitivity(dissect(conv, jnp.ones((1, 1, 3, 3)), jnp.ones((1, 5, 5))), jnp.ones((1, 1, 3, 3)),
    ...                           jnp.ones((2, 5, 5)), 0)
    >>> found.sum(0).tolist()
    [0.0, 6.0, 6.0, 6.0, 0.0]
    """
    layer = dissection.layers[number]
    if not layer.is_convolution:
        raise ValueError(f"Layer {layer.name} is dense, so that it sees all of what comes in; give a convolution.")
    step = next(s for s in dissection.network.program.steps if layer.raw_slot in s.outputs)
    spec = step.settings["dimension_numbers"].out_spec
    where: list[Any] = [0] * len(spec)
    where[spec[1]] = slice(None)
    for axis, place in zip(spec[2:], centre_of(layer), strict=True):
        where[axis] = place
    return np.asarray(_sensitivity(_Place(dissection, layer.raw_slot, tuple(where)), params, jnp.asarray(inputs)))


class _Place:
    """Where to look in a program; equal to itself alone, so that jit takes it as it is."""

    def __init__(self, dissection: Dissection, slot: int, where: tuple[Any, ...]):
        self.program, self.slot, self.where = dissection.network.program, slot, where


@eqx.filter_jit
def _sensitivity(place: _Place, params: PyTree, inputs: Array) -> Array:
    leaves = jax.tree.leaves(params)

    def one(x: Array) -> Array:
        channels = place.program.run(leaves, x, {}, (place.slot,))[1][place.slot][place.where]
        signs = jnp.where(jnp.arange(channels.size) % 3 == 1, -1.0, 1.0).astype(channels.dtype)
        return signs @ channels

    return jnp.sum(jnp.abs(jax.vmap(jax.grad(one))(inputs)), axis=0)
