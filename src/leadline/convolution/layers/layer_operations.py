"""What the layers compute on one example (channels, *sides): windows with a kernel, maxima and means of windows."""

from itertools import product

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .layer_kinds import ConvLayer, Pooling, PoolLayer, border, window_count


def correlate_windows(
    x: Float[Array, "channels ..."], kernel: Float[Array, "out _ ..."], layer: ConvLayer
) -> Float[Array, "out ..."]:
    """y[c, i] = Σ_r Σ_t w[c, r, t] x[r, s i + d t - pad], with zeros or, if the layer wraps, the other end outside.

    >>> layer = ConvLayer(1, 3, padding="same", wrap=True)
    >>> correlate_windows(jnp.array([[1.0, 2.0, 4.0]]), jnp.array([[[0.0, 0.0, 1.0]]]), layer).tolist()
    [[2.0, 4.0, 1.0]]
    """
    sides, pad = x.ndim - 1, border(layer)
    if layer.flip:
        kernel = jnp.flip(kernel, range(2, kernel.ndim))
    if layer.wrap and pad:
        x, pad = jnp.pad(x, ((0, 0), *[(pad, pad)] * sides), mode="wrap"), 0
    return jax.lax.conv_general_dilated(
        x[None],
        kernel,
        [layer.stride] * sides,
        [(pad, pad)] * sides,
        rhs_dilation=[layer.dilation] * sides,
        feature_group_count=layer.groups,
    )[0]


def pool_windows(x: Float[Array, "channels ..."], layer: PoolLayer) -> Float[Array, "channels ..."]:
    """The maximum or mean of every window; the border counts as -∞ for a maximum and as 0 for a mean.

    Windows side by side are an axis of a reshaped array and others strided slices: on CPUs the gradients of both are
    many times faster than that of a window reduction.

    >>> pool_windows(jnp.array([[1.0, 3.0, 2.0, 8.0, 9.0]]), PoolLayer(2)).tolist()
    [[3.0, 8.0]]
    """
    pad, sides = border(layer), x.shape[1:]
    counts = [window_count(n, layer) for n in sides]
    empty = -jnp.inf if layer.kind == "max" else 0.0
    if pad:
        x = jnp.pad(x, ((0, 0), *[(pad, pad)] * len(sides)), constant_values=empty)
    if layer.kernel == layer.stride and layer.dilation == 1:
        x = x[:, *(slice(0, count * layer.stride) for count in counts)]
        windows = x.reshape(len(x), *(n for count in counts for n in (count, layer.stride)))
        return _reduced(windows, layer.kind, tuple(range(2, windows.ndim, 2)))
    parts = []
    for offset in product(range(layer.kernel), repeat=len(sides)):
        starts = [o * layer.dilation for o in offset]
        ends = [start + (count - 1) * layer.stride + 1 for start, count in zip(starts, counts, strict=True)]
        parts.append(x[:, *(slice(a, b, layer.stride) for a, b in zip(starts, ends, strict=True))])
    return _reduced(jnp.stack(parts), layer.kind, (0,))


def pool_positions(x: Float[Array, "channels ..."], kind: Pooling) -> Float[Array, " channels"]:
    """The maximum or mean of each channel over all positions."""
    return _reduced(x, kind, tuple(range(1, x.ndim)))


def spread_blocks(x: Float[Array, "channels ..."], kernel: Float[Array, "out channels ..."]) -> Float[Array, "out ..."]:
    """y[c, f i + a] = Σ_r w[c, r, a] x[r, i]: each position becomes a block, by one matrix product.

    >>> spread_blocks(jnp.array([[1.0, 2.0]]), jnp.array([[[1.0, 10.0]]])).tolist()
    [[1.0, 10.0, 2.0, 20.0]]
    """
    sides = x.ndim - 1
    blocks = jnp.tensordot(kernel, x, axes=((1,), (0,)))  # (out, *factor, *sides)
    order = (0, *(axis for side in range(sides) for axis in (1 + sides + side, 1 + side)))
    shape = [n * f for n, f in zip(x.shape[1:], kernel.shape[2:], strict=True)]
    return jnp.transpose(blocks, order).reshape(len(kernel), *shape)


def _reduced(x: Array, kind: Pooling, axes: tuple[int, ...]) -> Array:
    return jnp.max(x, axis=axes) if kind == "max" else jnp.mean(x, axis=axes)
