"""Lyapunov exponents of products of random matrices: how fast each singular value grows or shrinks with depth."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float


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


def log_growth(factors: Iterable[Float[np.ndarray, "rows columns"]]) -> Float[np.ndarray, "depth columns"]:
    """log|R_ii| of every factor in the accumulated decomposition W_l Q_{l-1} = Q_l R_l, Q_0 = I.

    Their means over l converge to the Lyapunov exponents (Benettin et al. 1980); their sums over l are the logarithms
    of the diagonal of R in the product's own QR decomposition, without overflow or loss of the small ones.

    >>> log_growth([np.diag([4.0, 0.5])] * 3).sum(axis=0).round(3).tolist()
    [4.159, -2.079]
    """
    basis, rows = None, []
    for factor in factors:
        factor = np.asarray(factor)
        if factor.ndim != 2 or factor.shape[0] != factor.shape[1]:
            raise ValueError(f"log_growth got a factor of shape {factor.shape}; all factors must be square.")
        basis, r = np.linalg.qr(factor if basis is None else factor @ basis)
        with np.errstate(divide="ignore"):
            rows.append(np.log(np.abs(np.diagonal(r))))
    if not rows:
        raise ValueError("log_growth got no factors; give at least one square matrix.")
    return np.array(rows)
