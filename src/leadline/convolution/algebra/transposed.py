"""Transposed convolution: the adjoint of a strided one, the sizes it gives, and where its windows overlap."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int, Num

from leadline._arrays import namespace
from leadline._checks import require_counts

from .discrete import flip


def transposed_size(
    size: int, kernel: int, *, stride: int = 1, padding: int = 0, dilation: int = 1, extra: int = 0
) -> int:
    """(m - 1) s + dilation (k - 1) + 1 - 2p + o positions for m: those that a convolution would take back to m.

    `extra` (o, "output padding") is 0 to stride - 1: a convolution takes that many different sizes to the same m.

    >>> transposed_size(4, 3, stride=2, padding=1, extra=1)
    8
    """
    require_counts("transposed_size", size=size, kernel=kernel, stride=stride, dilation=dilation)
    require_counts("transposed_size", least=0, padding=padding, extra=extra)
    if extra >= stride:
        raise ValueError(f"transposed_size got {extra} extra positions at stride {stride}; give at most {stride - 1}.")
    found = (size - 1) * stride + dilation * (kernel - 1) + 1 - 2 * padding + extra
    if found < 1:
        raise ValueError(f"A padding of {padding} leaves {found} positions of the result; give a smaller one.")
    return found


def transposed_convolution(
    y: Num[Array | np.ndarray, "_ ..."],
    kernel: Num[Array | np.ndarray, "_ _ ..."],
    *,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    extra: int = 0,
) -> Num[Array | np.ndarray, "_ ..."]:
    """x[r, i · stride + k · dilation - padding] += Σ_c w[c, r, k] y[c, i]: the adjoint of `layer_correlation`.

    ⟨Cx, y⟩ = ⟨x, Cᵀy⟩ with the same kernel, stride, padding and dilation; as a matrix it is that of the layer,
    transposed. In JAX it is computed as zeros between the inputs followed by a convolution of stride 1, in NumPy by
    adding up the windows.

    >>> transposed_convolution(np.array([[1, 2]]), np.array([[[1, 10, 100]]]), stride=2).tolist()
    [[1, 10, 102, 20, 200]]
    """
    taps = np.shape(kernel)[2:]
    if np.ndim(y) != len(taps) + 1 or np.shape(y)[0] != np.shape(kernel)[0] or len(taps) == 0:
        raise ValueError(
            f"transposed_convolution got an input of shape {np.shape(y)} and a kernel of shape {np.shape(kernel)}; "
            "give (out, *positions) and (out, in, *taps) of the convolution whose adjoint is wanted."
        )
    options = {"stride": stride, "padding": padding, "dilation": dilation, "extra": extra}
    sides = tuple(transposed_size(m, k, **options) for m, k in zip(np.shape(y)[1:], taps, strict=True))
    if namespace(y, kernel) is np:
        return _added_up(y, kernel, sides, stride, padding, dilation)
    axes, dtype = len(taps), jnp.result_type(y, kernel)
    turned = jnp.stack([flip(part) for part in jnp.asarray(kernel, dtype).reshape(-1, *taps)])
    turned = turned.reshape(kernel.shape).swapaxes(0, 1)  # (in, out, *taps)
    room = [(dilation * (k - 1) - padding, dilation * (k - 1) - padding + extra) for k in taps]
    return lax.conv_general_dilated(
        jnp.asarray(y, dtype)[None],
        turned,
        (1,) * axes,
        room,
        lhs_dilation=(stride,) * axes,
        rhs_dilation=(dilation,) * axes,
    )[0]


def _added_up(y: Any, kernel: Any, sides: tuple[int, ...], stride: int, padding: int, dilation: int) -> np.ndarray:
    """Each input adds its window of the kernel to the result, of which `padding` on both sides is cut off."""
    roomy = tuple(
        max(n + 2 * padding, stride * (m - 1) + dilation * (k - 1) + 1)
        for n, m, k in zip(sides, y.shape[1:], kernel.shape[2:], strict=True)
    )
    total = np.zeros((kernel.shape[1], *roomy), np.result_type(y, kernel))
    for tap in np.ndindex(*kernel.shape[2:]):
        places = tuple(
            slice(t * dilation, t * dilation + stride * (m - 1) + 1, stride)
            for t, m in zip(tap, y.shape[1:], strict=True)
        )
        total[(slice(None), *places)] += np.tensordot(kernel[(slice(None), slice(None), *tap)].T, y, 1)
    return total[(slice(None), *(slice(padding, padding + n) for n in sides))]


def overlap_counts(kernel: int, stride: int, size: int) -> Int[np.ndarray, " positions"]:
    """How many windows of a transposed convolution cover each position, along one axis with `size` inputs.

    Inside, they are even, all k/s, only if the stride divides the kernel; otherwise they alternate between ⌊k/s⌋ and
    ⌈k/s⌉ with period s: the checkerboard of generated images (Odena, Dumoulin & Olah 2016). In several dimensions the
    counts are products.

    >>> overlap_counts(3, 2, 4).tolist(), overlap_counts(4, 2, 4).tolist()
    ([1, 1, 2, 1, 2, 1, 2, 1, 1], [1, 1, 2, 2, 2, 2, 2, 2, 1, 1])
    """
    position = np.arange(transposed_size(size, kernel, stride=stride))
    first = np.maximum(-(-(position - kernel + 1) // stride), 0)
    return np.minimum(position // stride, size - 1) - first + 1
