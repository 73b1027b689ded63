"""Maxima over groups of dense units: pooling where there are no positions to pool over."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Float, PRNGKeyArray

from .windows import max_pool


class MaxoutNetwork(eqx.Module):
    """A dense network whose hidden units are maxima over groups of `pieces` affine maps (Goodfellow et al. 2013):

    h_i = max_{1 ≤ j ≤ k} (w_ij · x + b_ij), a convex activation that is learnt. The last layer is affine. An example of
    any shape is read as one row of numbers.

    >>> net = MaxoutNetwork((4, 3, 2), pieces=2, key=jax.random.key(0))
    >>> net(jnp.ones((2, 2))).shape, [layer.weight.shape for layer in net.layers]
    ((2,), [(6, 4), (2, 3)])
    """

    layers: tuple[eqx.nn.Linear, ...]
    pieces: int = eqx.field(static=True)

    def __init__(
        self, widths: Sequence[int], *, pieces: int = 2, dtype: DTypeLike | None = None, key: PRNGKeyArray
    ) -> None:
        if len(widths) < 2 or min(widths) < 1 or pieces < 1:
            raise ValueError(
                f"MaxoutNetwork got widths {tuple(widths)} and {pieces} pieces; give two or more widths, all above 0."
            )
        self.pieces = pieces
        layers = []
        *hidden, last = zip(widths, widths[1:], jax.random.split(key, len(widths) - 1), strict=False)
        for inputs, units, k in hidden:
            layers.append(_he(inputs, units * pieces, dtype, k))
        self.layers = (*layers, _he(*last[:2], dtype, last[2]))

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " classes"]:
        x = jnp.ravel(x)
        for layer in self.layers[:-1]:
            x = max_pool(layer(x), self.pieces, sides=1)
        return self.layers[-1](x)


def _he(inputs: int, units: int, dtype: DTypeLike | None, key: PRNGKeyArray) -> eqx.nn.Linear:
    """An affine map with weights N(0, 2/inputs) and biases 0."""
    layer = eqx.nn.Linear(inputs, units, dtype=dtype, key=key)
    kind = layer.weight.dtype
    weight = (jax.random.normal(key, layer.weight.shape, kind) * np.sqrt(2 / inputs)).astype(kind)
    return eqx.tree_at(lambda y: (y.weight, y.bias), layer, (weight, jnp.zeros(units, kind)))
