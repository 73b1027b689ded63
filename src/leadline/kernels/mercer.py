"""Mercer expansions: eigenvalues and eigenfunctions of a kernel's integral operator; features of a Gram matrix."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Real

from leadline._checks import require_numbers, require_rows

from .algebra import Similarity
from .pairs import Others, Points


class MercerExpansion(NamedTuple):
    """k(x, z) = Σ λᵢ φᵢ(x) φᵢ(z), with ∫ φᵢ φⱼ dμ = δᵢⱼ, computed by quadrature."""

    kernel: Similarity
    nodes: Float[Array | np.ndarray, "n ..."]
    weights: Float[np.ndarray, " n"]
    eigenvalues: Float[np.ndarray, " r"]  # descending
    at_nodes: Float[np.ndarray, "n r"]  # φᵢ at the nodes, a column each

    def eigenfunctions(self, x: Points) -> Float[np.ndarray, "m r"]:
        """φᵢ(x) = (1/λᵢ) ∫ k(x, z) φᵢ(z) dμ(z), Nyström's extension to points that are not nodes (λᵢ > 0)."""
        return np.asarray(self.kernel(x, self.nodes)) @ (self.weights[:, None] * self.at_nodes) / self.eigenvalues

    def truncated(self, x: Points, z: Others, terms: int) -> Float[np.ndarray, "m n"]:
        """Σ over the first `terms` of λᵢ φᵢ(x) φᵢ(z)."""
        short = self._replace(eigenvalues=self.eigenvalues[:terms], at_nodes=self.at_nodes[:, :terms])
        return (short.eigenfunctions(x) * short.eigenvalues) @ short.eigenfunctions(z).T


def mercer_expansion(
    kernel: Similarity,
    nodes: Float[Array | np.ndarray, "n ..."],
    weights: Real[np.ndarray, " n"] | None = None,
    *,
    terms: int | None = None,
) -> MercerExpansion:
    """Eigenpairs of f ↦ ∫ k(·, z) f(z) dμ(z), μ by nodes and weights (1/n each unless given): those of W½KW½.

    Nodes drawn from μ, or a quadrature rule for it. The eigenvalues are those of K/n for equal weights.

    >>> from leadline.kernels import Minimum
    >>> nodes = (np.arange(500)[:, None] + 0.5) / 500
    >>> mercer_expansion(Minimum(), nodes, terms=2).eigenvalues.round(4).tolist()  # 4/π², 4/(9π²)
    [0.4053, 0.045]
    """
    require_rows("mercer_expansion", nodes=nodes)
    require_numbers("mercer_expansion", nodes=nodes)
    n = len(nodes)
    weights = np.full(n, 1 / n) if weights is None else np.asarray(weights, float)
    if len(weights) != n or not np.all(weights > 0):
        raise ValueError(f"mercer_expansion got {n} nodes and {len(weights)} weights; give one above 0 for each node.")
    if terms is not None and not 1 <= terms <= n:
        raise ValueError(f"mercer_expansion was asked for {terms} terms of {n} nodes; ask for 1 to {n}.")
    from scipy.linalg import eigh

    root = np.sqrt(weights)
    K = np.asarray(kernel(nodes, nodes), float) * root[:, None] * root[None, :]
    span = None if terms is None else (n - terms, n - 1)
    values, vectors = eigh((K + K.T) / 2, subset_by_index=span)
    return MercerExpansion(kernel, nodes, weights, values[::-1], vectors[:, ::-1] / root[:, None])


def brownian_eigenvalues(count: int) -> Float[np.ndarray, " count"]:
    """λᵢ = 1/((i − ½)²π²) of min(x, x') on [0, 1]; they sum to the trace 1/2.

    >>> brownian_eigenvalues(2).round(6).tolist()
    [0.405285, 0.045032]
    """
    return 1 / ((np.arange(1, count + 1) - 0.5) ** 2 * np.pi**2)


def brownian_eigenfunctions(x: Real[np.ndarray, " m"], count: int) -> Float[np.ndarray, "m count"]:
    """φᵢ(x) = √2 sin((i − ½)πx) of min(x, x') on [0, 1]."""
    return np.sqrt(2) * np.sin((np.arange(1, count + 1) - 0.5) * np.pi * np.asarray(x)[:, None])


def gram_features(K: Real[Array | np.ndarray, "n n"]) -> Float[np.ndarray, "n r"]:
    """Rows φᵢ = √l Uᵢ with φᵢ·φⱼ = Kᵢⱼ, from K = U diag(l) Uᵀ; only eigenvalues above rounding are kept.

    A K with a negative eigenvalue has no real features: ValueError says which.

    >>> features = gram_features(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> (features @ features.T).round(9).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    K = np.asarray(K, float)
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    rounding = 10 * len(K) * np.finfo(float).eps * float(np.abs(values).max())
    if values[0] < -rounding:
        raise ValueError(
            f"Eigenvalue 1 of {len(K)} of the Gram matrix is {values[0]:.6g}, so no real features have these inner "
            "products; use a positive semidefinite kernel or clip the negative eigenvalues."
        )
    kept = values > rounding
    return vectors[:, kept][:, ::-1] * np.sqrt(values[kept][::-1])
