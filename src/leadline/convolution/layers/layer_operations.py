"""What the layers compute on one example (*sides, channels): windows with a kernel, maxima and means of windows."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

from leadline.differentiation.programs.canonical_convolutions import CanonicalConvolutions

from ..pooling.window_reductions import reduce_axes, reduce_windows
from .layer_kinds import ConvLayer, Pooling, PoolLayer, border


def correlate_windows(
    x: Float[Array, "*_ channels"], kernel: Float[Array, "out _ ..."], layer: ConvLayer
) -> Float[Array, "*_ out"]:
    """y[i, c] = Σ_r Σ_t w[c, r, t] x[s i + d t - pad, r], with zeros or, if the layer wraps, the other end outside.

    >>> layer = ConvLayer(1, 3, padding="same", wrap=True)
    >>> correlate_windows(jnp.array([[1.0], [2.0], [4.0]]), jnp.array([[[0.0, 0.0, 1.0]]]), layer).ravel().tolist()
    [2.0, 4.0, 1.0]
    """
    sides, pad = x.ndim - 1, border(layer)
    kernel = jnp.moveaxis(kernel, (1, 0), (-2, -1))  # (*taps, in, out)
    if layer.turn:
        kernel = jnp.mean(jnp.stack([jnp.rot90(kernel, quarter) for quarter in range(4)]), axis=0)
    if layer.flip:
        kernel = jnp.flip(kernel, range(sides))
    if layer.wrap and pad:
        x, pad = jnp.pad(x, (*[(pad, pad)] * sides, (0, 0)), mode="wrap"), 0
    return _correlation(x, kernel, layer.stride, layer.dilation, layer.groups, pad)


@partial(jax.custom_jvp, nondiff_argnums=(2, 3, 4, 5))
def _correlation(x: Array, kernel: Array, stride: int, dilation: int, groups: int, pad: int) -> Array:
    """As the primitive that readers of a traced network know; its derivatives are in the form that is fast on CPUs."""
    sides = x.ndim - 1
    space = "DHW"[-sides:]
    return jax.lax.conv_general_dilated(
        x[None],
        kernel,
        [stride] * sides,
        [(pad, pad)] * sides,
        rhs_dilation=[dilation] * sides,
        feature_group_count=groups,
        dimension_numbers=(f"N{space}C", f"{space}IO", f"N{space}C"),
    )[0]


@partial(_correlation.defjvp, symbolic_zeros=True)
def _correlation_tangent(
    stride: int, dilation: int, groups: int, pad: int, primals: tuple[Array, Array], tangents: tuple[Any, Any]
) -> tuple[Array, Array]:
    def form(x: Array, kernel: Array) -> Array:
        return CanonicalConvolutions(_correlation.__wrapped__)(x, kernel, stride, dilation, groups, pad)

    (x, kernel), (dx, dkernel) = primals, tangents
    if isinstance(dx, SymbolicZero):
        return jax.jvp(lambda kernel: form(x, kernel), (kernel,), (dkernel,))
    if isinstance(dkernel, SymbolicZero):
        return jax.jvp(lambda x: form(x, kernel), (x,), (dx,))
    return jax.jvp(form, primals, tangents)


def pool_windows(x: Float[Array, "*_ channels"], layer: PoolLayer) -> Float[Array, "*_ channels"]:
    """The maximum or mean of every window; the border counts as -∞ for a maximum and as 0 for a mean.

    >>> pool_windows(jnp.array([1.0, 3.0, 2.0, 8.0, 9.0])[:, None], PoolLayer(2)).ravel().tolist()
    [3.0, 8.0]
    """
    axes, options = range(x.ndim - 1), {"dilation": layer.dilation, "pad": border(layer)}
    return reduce_windows(x, axes, layer.kind, layer.kernel, layer.stride, **options)


def pool_positions(x: Float[Array, "*_ channels"], kind: Pooling) -> Float[Array, " channels"]:
    """The maximum or mean of each channel over all positions."""
    return reduce_axes(x, kind, tuple(range(x.ndim - 1)))


def spread_blocks(x: Float[Array, "*_ channels"], kernel: Float[Array, "out channels ..."]) -> Float[Array, "*_ out"]:
    """y[f i + a, c] = Σ_r w[c, r, a] x[i, r]: each position becomes a block, by one matrix product.

    >>> spread_blocks(jnp.array([[1.0], [2.0]]), jnp.array([[[1.0, 10.0]]])).ravel().tolist()
    [1.0, 10.0, 2.0, 20.0]
    """
    sides = x.ndim - 1
    blocks = jnp.tensordot(x, kernel, axes=((-1,), (1,)))  # (*sides, out, *factor)
    order = (*(axis for side in range(sides) for axis in (side, sides + 1 + side)), sides)
    shape = [n * f for n, f in zip(x.shape[:-1], kernel.shape[2:], strict=True)]
    return jnp.transpose(blocks, order).reshape(*shape, len(kernel))
