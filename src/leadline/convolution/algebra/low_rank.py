"""Kernels as sums of separable ones: column times row, their number (the rank), and the work that this saves."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Num, Real

from leadline._arrays import namespace
from leadline._checks import require, require_axes

from .discrete import Mode, convolve

Matrix = Num[Array | np.ndarray, "rows columns"]


class SeparableSum(NamedTuple):
    """Σ_i u_i v_iᵀ: `columns` u_i and `rows` v_i, and all singular values of the kernel that it approximates."""

    columns: Num[Array | np.ndarray, "terms rows"]
    rows: Num[Array | np.ndarray, "terms columns"]
    singular_values: Real[Array | np.ndarray, " values"]

    @property
    def kernel(self) -> Num[Array | np.ndarray, "rows columns"]:
        return self.columns.T @ self.rows

    @property
    def dropped(self) -> float:
        """‖A - A_r‖ (Frobenius) = √(Σ_{i>r} σ_i²)."""
        return float(np.linalg.norm(self.singular_values[len(self.columns) :]))


def kernel_rank(kernel: Matrix, *, tolerance: float = 1e-10) -> int:
    """Rank of a kernel: singular values above tolerance · σ₁. Separable kernels are those of rank 1.

    >>> kernel_rank(np.array([[1.0, 0, -1], [2, 0, -2], [1, 0, -1]]))
    1
    """
    require("kernel_rank", axes=2, kernel=kernel)
    values = np.linalg.svd(np.asarray(kernel, float), compute_uv=False)
    return int(np.count_nonzero(values > tolerance * values[0]))


def separable_sum(kernel: Matrix, terms: int | None = None) -> SeparableSum:
    """The best approximation of a kernel by `terms` separable ones (all if not given): its SVD, cut off.

    A = Σ_i σ_i u_i v_iᵀ, with √σ_i in both factors; nothing of rank r is nearer than √(Σ_{i>r} σ_i²) (Eckart & Young
    1936). Convolving with it takes 2rk multiplications a pixel in place of k²: worthwhile for r < k/2.

    >>> sobel = separable_sum(np.array([[1.0, 0, -1], [2, 0, -2], [1, 0, -1]]), 1)
    >>> np.allclose(sobel.kernel, [[1, 0, -1], [2, 0, -2], [1, 0, -1]]), round(sobel.dropped, 9)
    (True, 0.0)
    """
    require("separable_sum", axes=2, kernel=kernel)
    xp, most = namespace(kernel), min(np.shape(kernel))
    terms = most if terms is None else terms
    if not 1 <= terms <= most:
        raise ValueError(f"separable_sum got {terms} terms for a kernel of shape {np.shape(kernel)}; give 1 to {most}.")
    u, values, vt = xp.linalg.svd(kernel * 1.0, full_matrices=False)
    root = xp.sqrt(values[:terms, None])
    return SeparableSum(u.T[:terms] * root, vt[:terms] * root, values)


def separable_factors(
    kernel: Matrix, *, tolerance: float = 1e-10
) -> tuple[Num[np.ndarray, " _"], Num[np.ndarray, " _"]]:
    """(u, v) with kernel = u vᵀ: a column through the largest entry, and the row through it divided by that entry.

    Exact where the division is, as for kernels of integers with an entry 1 or -1 in that row. ValueError if the rank
    is not 1.

    >>> u, v = separable_factors(np.outer([3, 4, 5], [1, 2, 3]))
    >>> u.tolist(), (v * 3).tolist()
    ([9, 12, 15], [1.0, 2.0, 3.0])
    """
    rank = kernel_rank(kernel, tolerance=tolerance)
    if rank != 1:
        raise ValueError(f"The kernel has rank {rank}, so that it is no column times a row; use separable_sum.")
    kernel = np.asarray(kernel)
    i, j = np.unravel_index(np.argmax(np.abs(kernel)), kernel.shape)
    return kernel[:, j], kernel[i] / kernel[i, j]


def convolve_separable(
    image: Num[Array | np.ndarray, "_ _"],
    columns: Num[Array | np.ndarray, "terms rows"],
    rows: Num[Array | np.ndarray, "terms columns"],
    mode: Mode = "full",
) -> Num[Array | np.ndarray, "_ _"]:
    """image * Σ_i u_i v_iᵀ in two passes for each term, first along columns and then along rows.

    >>> image = np.arange(12).reshape(3, 4)
    >>> once = convolve(image, np.outer([1, 2, 1], [1, 0, -1]), "same")
    >>> bool((convolve_separable(image, np.array([[1, 2, 1]]), np.array([[1, 0, -1]]), "same") == once).all())
    True
    """
    require_axes("convolve_separable", 2, image=image, columns=columns, rows=rows)
    if len(columns) != len(rows):
        raise ValueError(f"convolve_separable got {len(columns)} columns and {len(rows)} rows; give as many of each.")
    passes = (convolve(convolve(image, u[:, None], mode), v[None], mode) for u, v in zip(columns, rows, strict=True))
    return sum(passes)  # pyright: ignore[reportReturnType]
