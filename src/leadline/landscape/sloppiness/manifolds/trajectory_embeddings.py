"""Training runs as curves in data space, drawn in a plane: PCA of predictions, InPCA of probabilities."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Embedding:
    """Coordinates (m, k) of m models, and the eigenvalue of each coordinate (negative ones: time-like in InPCA).

    `explained` is |λₖ|/Σ|λ|; squared distances are Σₖ sign(λₖ)(xₖ − x′ₖ)².
    """

    coordinates: Float[np.ndarray, "m k"]
    eigenvalues: Float[np.ndarray, " k"]
    explained: Float[np.ndarray, " k"]

    def squared_distances(self, dimensions: int | None = None) -> Float[np.ndarray, "m m"]:
        """The squared distances of all pairs in the first `dimensions` coordinates (all of them: exact)."""
        x = self.coordinates[:, :dimensions]
        signs = np.sign(self.eigenvalues[:dimensions])
        squares = (x**2) @ signs
        return squares[:, None] + squares[None] - 2 * (x * signs) @ x.T


def pca_embedding(points: Float[np.ndarray, "m n"]) -> Embedding:
    """Principal components of m prediction vectors: centred, x = U S; all coordinates, the widest first.

    >>> flat = pca_embedding(np.array([[0.0, 0.0], [3.0, 4.0]]))
    >>> np.abs(flat.coordinates[:, 0]).round(9).tolist(), flat.explained.round(9).tolist()
    ([2.5, 2.5], [1.0, 0.0])
    """
    points = _checked(points, 2)
    u, s, _ = np.linalg.svd(points - points.mean(0), full_matrices=False)
    return Embedding(u * s, s**2, s**2 / max(float((s**2).sum()), np.finfo(float).tiny))


def intensive_distances(probabilities: Float[np.ndarray, "m n c"]) -> Float[np.ndarray, "m m"]:
    """−(1/n) Σᵢ ln Σ_c √(p_{ui}(c) p_{vi}(c)): the Bhattacharyya distance of models u, v per probe input.

    The limit of no data of the squared Hellinger distance of the distributions of n labels (Quinn et al. 2019), so that
    it does not saturate for many probes; for near models it is ⅛ of the squared Fisher distance.

    >>> intensive_distances(np.array([[[0.5, 0.5]], [[1.0, 0.0]]]))[0, 1].round(6).tolist()  # ln √2
    0.346574
    """
    probabilities = _checked(probabilities, 3)
    roots = np.sqrt(probabilities)
    total = np.zeros((len(roots), len(roots)))
    for probe in np.swapaxes(roots, 0, 1):  # (m, c): n affinity matrices are not held together
        with np.errstate(divide="ignore"):
            total -= np.log(np.minimum(probe @ probe.T, 1.0))
    np.fill_diagonal(total, 0.0)
    return total / roots.shape[1]


def intensive_embedding(probabilities: Float[np.ndarray, "m n c"]) -> Embedding:
    """InPCA: coordinates √|λₖ| uₖ of −½ L D L, D the intensive distances, L = I − 11ᵀ/m; the largest |λ| first.

    D is no Euclidean squared distance, so that some λ are negative; with all coordinates and their signs D is exact.

    >>> made = intensive_embedding(np.array([[[0.5, 0.5]], [[0.9, 0.1]], [[0.2, 0.8]]]))
    >>> made.coordinates.shape
    (3, 3)
    """
    return distance_embedding(intensive_distances(probabilities))


def distance_embedding(squared: Float[np.ndarray, "m m"]) -> Embedding:
    """Classical scaling: coordinates √|λₖ| uₖ of −½ L D L for squared distances D of any kind."""
    squared = _checked(squared, 2)
    if squared.shape[0] != squared.shape[1] or not np.allclose(squared, squared.T):
        raise ValueError(f"Distances of all pairs make a symmetric matrix; this one of shape {squared.shape} is not.")
    centred = squared - squared.mean(0) - squared.mean(1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    order = np.argsort(-np.abs(values))
    values, vectors = values[order], vectors[:, order]
    share = np.abs(values) / max(float(np.abs(values).sum()), np.finfo(float).tiny)
    return Embedding(vectors * np.sqrt(np.abs(values)), values, share)


def _checked(array: Float[np.ndarray, "..."], axes: int) -> Float[np.ndarray, "..."]:
    array = np.asarray(array, float)
    if array.ndim != axes or len(array) < 2 or not np.isfinite(array).all():
        raise ValueError(f"An embedding needs {axes} axes, at least 2 models and finite numbers; it got {array.shape}.")
    return array
