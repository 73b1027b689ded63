"""Correlations of a batch with a kernel whose derivatives are fast on CPUs: by patches, and by Winograd's algorithm.

XLA's CPU compiler has fast code for a convolution in a layer's usual form, but not for its derivatives by the kernel
(and by the input, as JAX writes it), which take many times as long as a matrix product. A layer has few shapes and is
differentiated once, so that the algorithm with the fewest operations pays; `differentiation.programs` puts convolutions
of any traced function into another form, whose derivatives of every order are in that form again.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leadline.differentiation.programs.patch_convolutions import LARGEST_WINDOW, patch_product, position_product

_FEWEST_CHANNELS = 8  # input channels from which Winograd's sums are less work than what they save

Pads = Sequence[tuple[int, int]]


def fast_correlation(
    x: Float[Array, "*_ channels"], kernel: Float[Array, "*_ channels out"], stride: int, dilation: int, pads: Pads
) -> Float[Array, "*_ out"] | None:
    """The correlation of one example (*sides, channels) with a kernel (*taps, channels, out), or None where neither
    way pays: windows above 64 positions.

    >>> x, kernel = jnp.arange(4.0)[:, None], jnp.array([1.0, 10.0])[:, None, None]
    >>> fast_correlation(x, kernel, 1, 1, [(0, 0)]).ravel().tolist()
    [10.0, 21.0, 32.0]
    """
    taps = kernel.shape[:-2]
    if taps == (3, 3) and stride == dilation == 1 and x.shape[-1] >= _FEWEST_CHANNELS:
        return winograd_correlation(x, kernel, pads)
    if np.prod(taps) <= LARGEST_WINDOW:
        return patch_product(x[None], kernel, [stride] * len(taps), pads, [dilation] * len(taps))[0]
    return None


# Winograd 1980, Lavin and Gray 2016: F(2, 3) has two outputs of three taps for four multiplications instead of six.
_TAPS = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])


def winograd_correlation(
    x: Float[Array, "height width channels"], kernel: Float[Array, "3 3 channels out"], pads: Pads
) -> Float[Array, "_ _ out"]:
    """The same for 3 x 3 taps at stride 1, with 16 multiplications for every 2 x 2 outputs instead of 36.

    y = Aᵀ [(G w Gᵀ) ∘ (Bᵀ x B)] A on tiles of 4 x 4, whose channels are summed by 16 matrix products.

    >>> x = jnp.arange(25.0).reshape(5, 5, 1)
    >>> winograd_correlation(x, jnp.ones((3, 3, 1, 1)), [(0, 0), (0, 0)])[..., 0].tolist()
    [[54.0, 63.0, 72.0], [99.0, 108.0, 117.0], [144.0, 153.0, 162.0]]
    """
    height, width = (n + low + high - 2 for n, (low, high) in zip(x.shape[:2], pads, strict=True))
    rows, columns = -(-height // 2), -(-width // 2)  # tiles, the last ones beyond the border where a side is odd
    more = [(low, high + n % 2) for n, (low, high) in zip((height, width), pads, strict=True)]
    halves = jnp.pad(x, (*more, (0, 0))).reshape(rows + 1, 2, columns + 1, 2, x.shape[-1])
    taps = jnp.einsum("ai,bj,ijco->abco", _TAPS.astype(kernel.dtype), _TAPS.astype(kernel.dtype), kernel)
    products = [
        [position_product(tile, taps[a, b]) for b, tile in enumerate(_tile_parts(strip, 1))]
        for a, strip in enumerate(_tile_parts(halves, 0))
    ]
    strips = [_output_parts(parts) for parts in zip(*products, strict=True)]  # four, of two rows each
    blocks = [jnp.stack(_output_parts(parts), axis=2) for parts in zip(*strips, strict=True)]
    y = jnp.stack(blocks, axis=1)  # (rows, 2, columns, 2, out)
    return y.reshape(2 * rows, 2 * columns, -1)[:height, :width]


def _tile_parts(pairs: Float[Array, "..."], axis: int) -> list[Array]:
    """Bᵀ d of the tiles d of four positions that begin at every second one; `axis` counts pairs, the next is a pair."""
    tiles = pairs.shape[axis] - 1
    d0, d1, d2, d3 = (
        jax.lax.index_in_dim(jax.lax.slice_in_dim(pairs, first, first + tiles, axis=axis), side, axis + 1, False)
        for first in (0, 1)
        for side in (0, 1)
    )
    return [d0 - d2, d1 + d2, d2 - d1, d1 - d3]


def _output_parts(parts: Sequence[Array]) -> list[Array]:
    """Aᵀ m: two outputs of four products."""
    m0, m1, m2, m3 = parts
    return [m0 + m1 + m2, m1 - m2 - m3]
