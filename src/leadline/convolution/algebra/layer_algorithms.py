"""One convolutional layer by four algorithms: tap by tap, im2col, FFT, and XLA's own."""

from collections.abc import Callable
from math import prod
from typing import Any, Literal, NamedTuple, get_args

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Num

from leadline._arrays import namespace
from leadline._checks import require_axes, require_counts
from leadline.differentiation.programs.patch_convolutions import window_places

from .discrete import convolve, fast_sides

Algorithm = Literal["taps", "im2col", "fft", "xla"]
Input = Num[Array | np.ndarray, "_ ..."]  # (in, *sides)
Kernel = Num[Array | np.ndarray, "_ _ ..."]  # (out, in, *taps)
Output = Num[Array | np.ndarray, "_ ..."]  # (out, *positions)


class Geometry(NamedTuple):
    """Sides of a layer's output, and the distance between the first and the last tap on each axis."""

    outputs: tuple[int, ...]
    reaches: tuple[int, ...]


def layer_geometry(
    function: str,
    shape: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: int,
    padding: int,
    dilation: int,
    wrap: bool = False,
) -> Geometry:
    """What fits on each axis: ⌊(n + 2 padding - dilation (k - 1) - 1)/stride⌋ + 1 positions; ValueError if nothing."""
    require_counts(function, stride=stride, dilation=dilation)
    require_counts(function, least=0, padding=padding)
    if len(shape) < 2 or len(kernel) != len(shape) + 1 or kernel[1] != shape[0] or 0 in (*shape, *kernel):
        raise ValueError(
            f"{function} got an input of shape {shape} and a kernel of shape {kernel}; "
            "give (in, *sides) and (out, in, *taps) with as many axes of taps as of sides."
        )
    if wrap and padding > min(shape[1:]):
        raise ValueError(f"{function} cannot wrap {padding} positions of sides {shape[1:]}; pad by at most a side.")
    reaches = tuple(dilation * (k - 1) for k in kernel[2:])
    outputs = tuple((n + 2 * padding - r - 1) // stride + 1 for n, r in zip(shape[1:], reaches, strict=True))
    if min(outputs) < 1:
        raise ValueError(
            f"{function} got windows of {tuple(r + 1 for r in reaches)} positions for sides {shape[1:]} with padding "
            f"{padding}; give a larger input, more padding or a smaller kernel."
        )
    return Geometry(outputs, reaches)


def layer_correlation(
    x: Input,
    kernel: Kernel,
    *,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    wrap: bool = False,
    algorithm: str | None = None,
) -> Output:
    """y[c, i] = Σ_r Σ_k w[c, r, k] x[r, i · stride + k · dilation - padding], what a convolutional layer computes.

    "taps" adds one scaled copy of the input for each tap, "im2col" copies all windows and takes one matrix product,
    "fft" multiplies spectra, "xla" calls XLA's own. NumPy arrays go through "im2col" unless told otherwise (integers
    stay exact but for "fft"), JAX arrays through "xla". A batch goes through by `jax.vmap`.

    >>> x, w = np.arange(5)[None], np.array([[[1, 0, -1]]])
    >>> layer_correlation(x, w).tolist(), layer_correlation(x, w, stride=2, padding=1).tolist()
    ([[-2, -2, -2]], [[-1, -2, 3]])
    """
    algorithm = algorithm or ("im2col" if namespace(x, kernel) is np else "xla")
    if algorithm not in ALGORITHMS:
        raise ValueError(f'layer_correlation got algorithm "{algorithm}"; give one of {", ".join(ALGORITHMS)}.')
    shapes = (np.shape(x), np.shape(kernel))
    geometry = layer_geometry("layer_correlation", *shapes, stride, padding, dilation, wrap)
    if padding:
        frame = [(0, 0), *[(padding, padding)] * len(geometry.outputs)]
        x = namespace(x).pad(x, frame, mode="wrap" if wrap else "constant")
    return ALGORITHMS[algorithm](x, kernel, geometry, stride, dilation)


def windows(x: Input, taps: tuple[int, ...], *, stride: int = 1, dilation: int = 1) -> Num[Array | np.ndarray, "..."]:
    """im2col: all windows of an input as an array (channels, *taps, *positions), of which each input fills many cells.

    >>> windows(np.arange(4)[None], (2,)).tolist()
    [[[0, 1, 2], [1, 2, 3]]]
    """
    require_axes("windows", len(taps) + 1, x=x)
    geometry = layer_geometry("windows", np.shape(x), (1, len(x), *taps), stride, 0, dilation)
    parts = [x[(slice(None), *place)] for place in _places(x, taps, stride, dilation)]
    return namespace(x).stack(parts, 1).reshape(len(x), *taps, *geometry.outputs)


def _places(x: Any, taps: tuple[int, ...], stride: int, dilation: int) -> list[tuple[slice, ...]]:
    axes = len(taps)
    return window_places(x.shape[1:], taps, (stride,) * axes, (dilation,) * axes)


def _by_taps(x: Any, kernel: Any, geometry: Geometry, stride: int, dilation: int) -> Any:
    taps, xp = kernel.shape[2:], namespace(x, kernel)
    pairs = zip(np.ndindex(*taps), _places(x, taps, stride, dilation), strict=True)
    total: Any = 0
    for tap, place in pairs:
        total = total + xp.tensordot(kernel[(slice(None), slice(None), *tap)], x[(slice(None), *place)], 1)
    return total


def _by_columns(x: Any, kernel: Any, geometry: Geometry, stride: int, dilation: int) -> Any:
    columns = windows(x, kernel.shape[2:], stride=stride, dilation=dilation).reshape(prod(kernel.shape[1:]), -1)
    return (kernel.reshape(len(kernel), -1) @ columns).reshape(len(kernel), *geometry.outputs)


def _by_fft(x: Any, kernel: Any, geometry: Geometry, stride: int, dilation: int) -> Any:
    """Valid positions wrap nothing, so that transforms as long as the input are long enough."""
    xp = namespace(x, kernel)
    axes = tuple(range(-len(geometry.outputs), 0))
    sides = x.shape[1:] if xp is jnp else fast_sides(x.shape[1:])
    tapped = spread_taps(kernel, dilation, axes=len(axes))
    spectra = xp.fft.rfftn(tapped, sides, axes=axes).conj(), xp.fft.rfftn(x, sides, axes=axes)
    product = xp.einsum("or...,r...->o...", *spectra)
    kept = tuple(slice(0, stride * (n - 1) + 1, stride) for n in geometry.outputs)
    return xp.fft.irfftn(product, sides, axes=axes)[(slice(None), *kept)]


def _by_xla(x: Any, kernel: Any, geometry: Geometry, stride: int, dilation: int) -> Any:
    axes, dtype = len(geometry.outputs), jnp.result_type(x, kernel)
    x, kernel = jnp.asarray(x, dtype), jnp.asarray(kernel, dtype)
    return lax.conv_general_dilated(x[None], kernel, (stride,) * axes, "VALID", rhs_dilation=(dilation,) * axes)[0]


ALGORITHMS: dict[str, Callable[..., Any]] = dict(
    zip(get_args(Algorithm), (_by_taps, _by_columns, _by_fft, _by_xla), strict=True)
)


def spread_taps(
    kernel: Num[Array | np.ndarray, "..."], dilation: int, *, axes: int | None = None
) -> Num[Array | np.ndarray, "..."]:
    """dilation - 1 zeros between the taps on the last `axes` (all if not given): dilation (k - 1) + 1 taps for k.

    >>> spread_taps(np.array([1, 2, 3]), 2)
    array([1, 0, 2, 0, 3])
    """
    require_counts("spread_taps", dilation=dilation)
    xp, axes = namespace(kernel), kernel.ndim if axes is None else axes
    for axis in range(kernel.ndim - axes, kernel.ndim):
        size = kernel.shape[axis]
        apart = xp.stack([kernel, *[xp.zeros_like(kernel)] * (dilation - 1)], axis + 1)
        apart = apart.reshape(*kernel.shape[:axis], size * dilation, *kernel.shape[axis + 1 :])
        kernel = apart[(slice(None),) * axis + (slice(0, dilation * (size - 1) + 1),)]
    return kernel


def merged_kernel(first: Kernel, second: Kernel) -> Kernel:
    """The one kernel of two linear layers in a row, w[c, r] = Σ_m second[c, m] * first[m, r]: k₁ + k₂ - 1 taps.

    Strides, and activations or zero padding between the layers, leave no such kernel.

    >>> merged_kernel(np.array([[[1, 1]]]), np.array([[[1, -1]]])).tolist()
    [[[1, 0, -1]]]
    """
    if np.ndim(first) != np.ndim(second) or np.shape(first)[0] != np.shape(second)[1]:
        raise ValueError(
            f"merged_kernel got kernels of shapes {np.shape(first)} and {np.shape(second)}; give (middle, in, *taps) "
            "and (out, middle, *taps)."
        )
    xp, middle = namespace(first, second), range(len(first))
    rows = [[sum(convolve(w[m], first[m, r]) for m in middle) for r in range(first.shape[1])] for w in second]
    return xp.stack([xp.stack(row) for row in rows])
