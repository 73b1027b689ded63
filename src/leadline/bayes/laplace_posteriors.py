"""A Gaussian posterior over the last layer of a classifier: the softmax Hessian at the trained weights, inverted."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

LARGEST_FULL = 2000  # parameters up to which the whole covariance is used
_CHUNK = 256


class LastLayerPosterior(NamedTuple):
    """N(W, (H + αI)⁻¹) over the weights (k, d) of the last layer, H the Hessian of the summed loss at W.

    `structure` is "full" (H exact), or "Kronecker": H ≈ n A ⊗ G with A = mean φφᵀ and G = mean of the softmax Hessians,
    exact where features and probabilities are independent. `log_evidence` is Laplace's, `effective_parameters` is
    γ = Σ λ/(λ + α); where α maximises the evidence inside its range, α‖W‖² = γ.
    """

    weights: Float[np.ndarray, "k d"]
    alpha: float
    log_evidence: float
    effective_parameters: float
    structure: str
    one_score: bool
    moments: Callable[[np.ndarray], np.ndarray]

    def scores(self, features: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m k"]:
        """The mean of the scores, those of the network."""
        return _padded(features @ self.weights.T, self.one_score)

    def covariances(self, features: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m k k"]:
        """The covariance of the scores of every row."""
        parts = [self.moments(features[i : i + _CHUNK]) for i in range(0, len(features), _CHUNK)]
        found = np.concatenate(parts)
        return np.pad(found, ((0, 0), (1, 0), (1, 0))) if self.one_score else found


def last_layer_laplace(
    features: Float[np.ndarray, "n d"],
    labels: Int[np.ndarray, " n"],
    weights: Float[np.ndarray, "k d"],
    *,
    alpha: float | None = None,
    stands_for: int | None = None,
    largest_full: int = LARGEST_FULL,
) -> LastLayerPosterior:
    """The posterior of the last layer W of a softmax classifier with fixed features, by Laplace's method at W.

    H = Σᵢ (diag pᵢ − pᵢpᵢᵀ) ⊗ φᵢφᵢᵀ, exactly the Hessian in W; above `largest_full` weights its Kronecker factors. With
    one row of weights the scores are (0, w·φ). Without α the prior precision maximises Laplace's evidence
    Σ ln p(yᵢ) − α‖W‖²/2 + (D/2) ln α − ½ ln det(H + αI). The rows stand for `stands_for` of their kind (all there are).
    MacKay 1992; Kristiadi et al. 2020 for last layers.

    >>> phi = np.array([[1.0], [1.0]])
    >>> post = last_layer_laplace(phi, np.array([0, 1]), np.zeros((1, 1)), alpha=0.5)  # H = 2·¼
    >>> post.covariances(phi)[0].tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    features, weights, labels = np.asarray(features, float), np.asarray(weights, float), np.asarray(labels)
    if features.ndim != 2 or weights.ndim != 2 or features.shape[1] != weights.shape[1] or len(labels) != len(features):
        raise ValueError(
            f"last_layer_laplace got features {features.shape}, {len(labels)} labels and weights {weights.shape}; give "
            "(n, d), n labels and (k, d)."
        )
    one = len(weights) == 1
    if labels.min() < 0 or labels.max() >= (2 if one else len(weights)):
        raise ValueError(f"A label is {labels.max()}; {len(weights)} rows of weights do not have that class.")
    scores = _padded(features @ weights.T, one)
    log_p = scores - scores.max(1, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(1, keepdims=True))
    p = np.exp(log_p)[:, 1:] if one else np.exp(log_p)
    times = (stands_for or len(features)) / len(features)
    likelihood = times * float(log_p[np.arange(len(labels)), labels].sum())
    full = weights.size <= largest_full
    values, moments = (_full if full else _kronecker)(features, p, times)
    square, size = float(np.sum(weights**2)), weights.size

    def evidence(a: float) -> float:
        return likelihood - a * square / 2 + size / 2 * math.log(a) - 0.5 * float(np.sum(np.log(values + a)))

    alpha = _best_precision(evidence) if alpha is None else alpha
    if not alpha > 0:
        raise ValueError(f"The prior precision is {alpha}; give a positive number.")
    return LastLayerPosterior(
        weights,
        alpha,
        evidence(alpha),
        float(np.sum(values / (values + alpha))),
        "full" if full else "Kronecker",
        one,
        lambda rows: moments(np.asarray(rows, float), alpha),
    )


def _padded(scores: np.ndarray, one: bool) -> np.ndarray:
    return np.pad(scores, ((0, 0), (1, 0))) if one else scores


def _full(features: np.ndarray, p: np.ndarray, times: float):
    """Eigenvalues of H, and the covariance of the scores of rows for any α."""
    k, d = p.shape[1], features.shape[1]
    h = np.empty((k, d, k, d))
    for a in range(k):
        for b in range(a + 1):
            weight = p[:, a] * ((a == b) - p[:, b])
            h[a, :, b] = times * (features * weight[:, None]).T @ features
            h[b, :, a] = h[a, :, b].T
    values, vectors = np.linalg.eigh(h.reshape(k * d, k * d))
    values = np.maximum(values, 0.0)
    vectors = vectors.reshape(k, d, -1)

    def moments(rows: np.ndarray, alpha: float) -> np.ndarray:
        along = np.tensordot(rows, vectors, axes=(1, 1)) / np.sqrt(values + alpha)  # (m, k, D)
        return along @ np.swapaxes(along, 1, 2)

    return values, moments


def _kronecker(features: np.ndarray, p: np.ndarray, times: float):
    n = len(features)
    g = np.diag(p.mean(0)) - p.T @ p / n
    (gs, u), (values, v) = np.linalg.eigh(g), np.linalg.eigh(features.T @ features / n)
    products = n * times * np.outer(np.maximum(gs, 0), np.maximum(values, 0))  # (k, d)

    def moments(rows: np.ndarray, alpha: float) -> np.ndarray:
        spread = (rows @ v) ** 2 @ (1 / (products + alpha)).T  # (m, k)
        return np.einsum("aj,mj,bj->mab", u, spread, u)

    return products.ravel(), moments


def _best_precision(evidence: Callable[[float], float]) -> float:
    from scipy.optimize import minimize_scalar

    nodes = np.linspace(math.log(1e-6), math.log(1e6), 60)
    first = int(np.argmax([evidence(math.exp(t)) for t in nodes]))
    ends = nodes[max(first - 1, 0)], nodes[min(first + 1, len(nodes) - 1)]
    best = minimize_scalar(lambda t: -evidence(math.exp(t)), bounds=ends, method="bounded", options={"xatol": 1e-9})
    return math.exp(best.x)
