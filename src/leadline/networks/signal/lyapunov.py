"""Lyapunov exponents of products of random matrices: how fast each singular value grows or shrinks with depth."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from jaxtyping import Float

Action = Callable[[np.ndarray], np.ndarray]  # the product of a matrix with the columns that are given

_RESTED = 1e-12  # change of a logarithm from sweep to sweep
_APART = np.log(1e4)  # singular values so far apart are separated by the sweeps
_LOST = 1e-11  # of the largest singular value of a block: below it lies rounding


def gaussian_product_exponents(size: int) -> Float[np.ndarray, " n"]:
    """Exponents of products of n x n matrices with entries N(0, 1/n): ½[log(2/n) + ψ((n-i+1)/2)], i = 1..n.

    The i-th singular value of L factors is exp(L λ_i + o(L)). Newman 1986.

    >>> gaussian_product_exponents(16)[[0, -1]].round(4).tolist()
    [-0.0319, -2.0215]
    """
    from scipy.special import digamma

    if size < 1:
        raise ValueError(f"gaussian_product_exponents got the size {size}; it must be at least 1.")
    return 0.5 * (np.log(2 / size) + digamma((size - np.arange(size)) / 2))


def log_growth(
    factors: Iterable[Float[np.ndarray, "rows columns"] | Action],
    *,
    start: Float[np.ndarray, "rows count"] | None = None,
) -> Float[np.ndarray, "depth count"]:
    """log|R_ii| of every factor in the accumulated decomposition W_l Q_{l-1} = Q_l R_l, Q_0 = I.

    Their means over l converge to the Lyapunov exponents (Benettin et al. 1980); their sums over l are the logarithms
    of the diagonal of R in the product's own QR decomposition, without overflow or loss of the small ones. With a
    `start` Q_0 of few orthonormal columns only so many exponents are followed, the largest. A factor may also be the
    function that multiplies a basis by it: then no matrix is formed.

    >>> log_growth([np.diag([4.0, 0.5])] * 3).sum(axis=0).round(3).tolist()
    [4.159, -2.079]
    >>> log_growth([lambda basis: 4 * basis] * 3, start=np.eye(5, 1)).sum(axis=0).round(3).tolist()
    [4.159]
    """
    basis, rows = start, []
    for factor in factors:
        basis, r = np.linalg.qr(_moved(factor, basis))
        with np.errstate(divide="ignore"):
            rows.append(np.log(np.abs(np.diagonal(r))))
    if not rows:
        raise ValueError("log_growth got no factors; give at least one square matrix.")
    return np.array(rows)


def log_singular_values(
    factors: Sequence[Float[np.ndarray, "n n"]] | Float[np.ndarray, "depth n n"], *, sweeps: int = 12
) -> Float[np.ndarray, " n"]:
    """Logarithms of the singular values of the product W_L ... W_1, largest first, however far apart they are.

    The product of the triangular factors of one accumulated decomposition has the singular values of the whole; its
    transpose is decomposed in the same way, and again, until the logarithms on the diagonal rest: the QR iteration of a
    product that is never formed (Bojanczyk, Ewerbring, Luk and Van Dooren 1991). Values within a factor of 10⁴ of their
    neighbours take many sweeps: for such a group the diagonal block of the product, which is its own, is decomposed.

    >>> log_singular_values([np.array([[0.5, 10.0], [0.0, 0.5]])] * 60).round(2).tolist()
    [-34.5, -48.68]
    """
    triangles = [np.asarray(factor, np.float64) for factor in factors]
    if not triangles:
        raise ValueError("log_singular_values got no factors; give at least one square matrix.")
    before, total = None, np.zeros(len(triangles[0]))
    for _ in range(sweeps):
        basis, found, total = None, [], np.zeros(len(triangles[0]))
        for factor in triangles:
            basis, r = np.linalg.qr(_moved(factor, basis))
            found.append(r.T)
            with np.errstate(divide="ignore"):
                total = total + np.log(np.abs(np.diagonal(r)))
        triangles = found[::-1]
        with np.errstate(invalid="ignore"):
            if before is not None and not np.any(np.abs(total - before) > _RESTED):
                break
        before = total
    cuts = np.flatnonzero(np.diff(total) < -_APART) + 1
    groups = np.split(np.arange(len(total)), cuts)
    return np.sort(np.concatenate([_of_block(triangles, total, int(g[0]), int(g[-1]) + 1) for g in groups]))[::-1]


def _of_block(triangles: list[np.ndarray], total: np.ndarray, begin: int, end: int) -> np.ndarray:
    """The logarithms of a group from its diagonal block; from two blocks where that is singular to rounding.

    The diagonal blocks of a product of triangular matrices are the products of theirs.
    """
    if end == begin + 1 or not np.all(np.isfinite(total[begin:end])):
        return total[begin:end]
    block, scale = np.eye(end - begin), 0.0
    for factor in triangles:
        block = factor[begin:end, begin:end] @ block
        size = np.abs(block).max()
        block, scale = block / size, scale + np.log(size)
    values = np.linalg.svd(block, compute_uv=False)
    if values[-1] > _LOST * values[0]:
        return np.log(values) + scale
    cut = begin + 1 + int(np.argmin(np.diff(total[begin:end])))  # the widest gap, which the sweeps have opened most
    return np.concatenate([_of_block(triangles, total, begin, cut), _of_block(triangles, total, cut, end)])


def _moved(factor: np.ndarray | Action, basis: np.ndarray | None) -> np.ndarray:
    """The factor's product with the basis so far."""
    if callable(factor):
        if basis is None:
            raise ValueError("log_growth got a function for a factor and no start; give start=np.eye(size).")
        return np.asarray(factor(basis), np.float64)
    factor = np.asarray(factor)
    if factor.ndim != 2 or factor.shape[0] != factor.shape[1]:
        raise ValueError(f"log_growth got a factor of shape {factor.shape}; all factors must be square.")
    return factor if basis is None else factor @ basis
