"""The first-order remainder of a function as an integral of its gradient."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float


def remainder_integral(
    gradient: Callable[[np.ndarray], np.ndarray],
    x: Float[np.ndarray, "n p"],
    y: Float[np.ndarray, "n p"],
    *,
    nodes: int = 32,
    breaks: Sequence[float] = (),
) -> Float[np.ndarray, " n"]:
    """D(x, y) = l(x) − l(y) − ⟨g(y), x − y⟩ = ∫₀¹ ⟨g(y + s(x − y)) − g(y), x − y⟩ ds, by Gauss-Legendre for each row.

    `gradient` maps points (k, p) to gradients (k, p). Where it has kinks, give their places s in `breaks`: the rule is
    then composite, and exact for piecewise polynomials.

    >>> remainder_integral(lambda w: 2 * w, np.array([[3.0]]), np.array([[1.0]]), nodes=2).round(12).tolist()
    [4.0]
    """
    from numpy.polynomial.legendre import leggauss

    if nodes < 1 or any(not 0 < b < 1 for b in breaks):
        raise ValueError("remainder_integral needs at least 1 node and breaks strictly between 0 and 1.")
    at, weight = leggauss(nodes)
    edges = np.concatenate([[0.0], np.sort(breaks), [1.0]])
    width = np.diff(edges)
    s = np.ravel(edges[:-1, None] + width[:, None] * (at + 1) / 2)
    weights = np.ravel(width[:, None] * weight / 2)
    step = x - y
    path = y[:, None] + s[:, None] * step[:, None]  # (n, nodes, p)
    slopes = np.asarray(gradient(path.reshape(-1, x.shape[1]))).reshape(path.shape)
    start = np.asarray(gradient(y))
    return np.einsum("k,nkp,np->n", weights, slopes - start[:, None], step)
