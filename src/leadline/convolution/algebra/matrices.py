"""Convolutions as sparse matrices: Toeplitz, block Toeplitz, circulant, and a layer with all its channels."""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Shaped

from leadline._checks import require_axes

from .discrete import Mode, kept_positions

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def convolution_matrix(
    kernel: Shaped[np.ndarray, "..."], shape: int | Sequence[int], mode: Mode = "full"
) -> "csr_array":
    """The sparse matrix H with H f.ravel() = (f * h).ravel() for signals of `shape`, in any mode of `convolve`.

    On one axis H_ij = h[i - j]: banded Toeplitz, with as many parameters as taps, circulant for "circular"; on two axes
    block Toeplitz with Toeplitz blocks, or block circulant with circulant blocks. Hᵀ is the backward pass.

    >>> convolution_matrix(np.array([1, 1, 2]), 3).toarray().tolist()
    [[1, 0, 0], [1, 1, 0], [2, 1, 1], [0, 2, 1], [0, 0, 2]]
    """
    from scipy.sparse import coo_array

    shape = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    kernel = np.asarray(kernel)
    positions = kept_positions("convolution_matrix", shape, kernel.shape, mode)
    kept = tuple(part.stop - part.start for part in positions)
    taps = np.indices(kernel.shape).reshape(kernel.ndim, 1, -1)  # (axes, 1, taps)
    columns = np.indices(shape).reshape(kernel.ndim, -1, 1)  # (axes, positions, 1)
    rows = columns + taps
    if mode == "circular":
        rows = rows % np.reshape(shape, (-1, 1, 1))
    else:
        rows = rows - np.reshape([part.start for part in positions], (-1, 1, 1))
    inside = ((rows >= 0) & (rows < np.reshape(kept, (-1, 1, 1)))).all(0)
    values = np.broadcast_to(kernel.ravel(), inside.shape)
    row, column = (np.broadcast_to(_flat(i, s), inside.shape)[inside] for i, s in ((rows, kept), (columns, shape)))
    return coo_array((values[inside], (row, column)), shape=(prod(kept), prod(shape))).tocsr()


def layer_matrix(
    kernel: Shaped[np.ndarray, "out in *taps"],
    shape: Sequence[int],
    *,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    wrap: bool = False,
) -> "csr_array":
    """The sparse matrix of a convolutional layer (`layer_correlation`) on inputs of `shape` = (channels, *sides).

    Entry [(c, i), (r, i · stride + k · dilation - padding)] is kernel[c, r, k]; positions outside are zeros, or come
    from the other side (`wrap`). Its transpose is the matrix of `transposed_convolution`.

    >>> layer_matrix(np.array([[[1, 2]]]), (1, 4), stride=2).toarray().tolist()
    [[1, 2, 0, 0], [0, 0, 1, 2]]
    """
    from scipy.sparse import coo_array

    from .layer_algorithms import layer_geometry

    kernel = np.asarray(kernel)
    sides = layer_geometry("layer_matrix", tuple(shape), kernel.shape, stride, padding, dilation, wrap).outputs
    axes = len(sides)
    taps = np.indices(kernel.shape[2:]).reshape(axes, 1, -1)
    rows = np.indices(sides).reshape(axes, -1, 1)
    columns = rows * stride + taps * dilation - padding
    size = np.reshape(shape[1:], (-1, 1, 1))
    inside = np.ones(columns.shape[1:], bool) if wrap else ((columns >= 0) & (columns < size)).all(0)
    row, column = (
        np.broadcast_to(_flat(i, s), inside.shape)[inside] for i, s in ((rows, sides), (columns % size, shape[1:]))
    )
    tap = np.broadcast_to(np.arange(taps.shape[-1]), inside.shape)[inside]
    out, into = (i.reshape(-1, 1) for i in np.indices(kernel.shape[:2]))
    values = kernel.reshape(*kernel.shape[:2], -1)[out, into, tap]
    places = (out * prod(sides) + row, into * prod(shape[1:]) + column)
    size = (kernel.shape[0] * prod(sides), prod(shape))
    return coo_array((values.ravel(), tuple(p.ravel() for p in places)), shape=size).tocsr()


def circulant_part(matrix: Float[np.ndarray, "_ _"]) -> Float[np.ndarray, " _"]:
    """First column of the circulant matrix nearest to `matrix` (Frobenius): its mean along each wrapped diagonal.

    It is the average of S⁻ᵈ M Sᵈ over all shifts S, the orthogonal projection onto what commutes with them;
    `scipy.linalg.circulant` makes the matrix of the column.

    >>> circulant_part(np.diag([1.0, 2.0, 3.0])).tolist()
    [2.0, 0.0, 0.0]
    """
    require_axes("circulant_part", 2, matrix=matrix)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"circulant_part got a matrix of shape {matrix.shape}; give a square one.")
    i = np.arange(len(matrix))
    return matrix[(i[:, None] + i) % len(matrix), i].mean(1)


def _flat(indices: np.ndarray, shape: Sequence[int]) -> Any:
    return np.ravel_multi_index(tuple(indices), tuple(shape), mode="wrap")
