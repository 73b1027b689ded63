"""What single training rows do to a linear head: influence functions, and removal carried out (Koh and Liang 2017)."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float, Num

from leadline.optimisation import newton_minimum

Kind = Literal["cross-entropy", "squared"]


@dataclass(frozen=True)
class LinearHead:
    """Weights (k, d) that minimise mean ℓ(Φ wᵀ, y) + ridge/2 ‖w‖², and the Hessian of that there, (kd, kd)."""

    features: Float[np.ndarray, "n d"]
    targets: Num[np.ndarray, "n ..."]
    kind: Kind
    ridge: float
    weights: Float[np.ndarray, "k d"]
    hessian: Float[np.ndarray, "p p"]

    def gradients(self, features: Float[np.ndarray, "m d"], targets: Num[np.ndarray, "m ..."]) -> np.ndarray:
        """The gradient of each row's loss by the weights, (m, kd)."""
        residual = _residuals(features @ self.weights.T, targets, self.kind)
        return (residual[:, :, None] * features[:, None]).reshape(len(features), -1)

    def loss(self, features: Float[np.ndarray, "m d"], targets: Num[np.ndarray, "m ..."]) -> float:
        """The mean loss on other rows, without the ridge."""
        return float(_losses(features @ self.weights.T, targets, self.kind).mean())

    def influence(
        self, features: Float[np.ndarray, "m d"], targets: Num[np.ndarray, "m ..."]
    ) -> Float[np.ndarray, " n"]:
        """How the mean loss on other rows changes if a training row is left out: g_testᵀ H⁻¹ g_i / n, to first order.

        Positive: the row helps. The ridge stays as it is per row: the objective is the mean over n - 1 rows plus ridge.
        """
        test = self.gradients(features, targets).mean(0)
        return self._own() @ np.linalg.solve(self.hessian, test) / (len(self.features) - 1)

    def self_influence(self) -> Float[np.ndarray, " n"]:
        """How a row's own loss rises if it is left out, to first order: g_iᵀ H⁻¹ g_i / n. Large: it is memorised."""
        own = self._own()
        plain = self.gradients(self.features, self.targets)
        return np.einsum("np,np->n", plain, np.linalg.solve(self.hessian, own.T).T) / (len(own) - 1)

    def _own(self) -> np.ndarray:
        """Gradients of rows less their mean: leaving one out of a mean also weighs the others anew."""
        own = self.gradients(self.features, self.targets)
        return own - own.mean(0)

    def step_without(self, row: int) -> "LinearHead":
        """The head after one Newton step of the objective without one row: exact for the squared loss."""
        n, own = len(self.features), self._own()[row]
        one = _hessian(self.features[[row]], self.features[[row]] @ self.weights.T, self.kind, self.ridge)
        hessian = (n * self.hessian - one) / (n - 1)
        move = np.linalg.solve(hessian, own / (n - 1)).reshape(self.weights.shape)
        keep = np.arange(n) != row
        return replace(
            self, features=self.features[keep], targets=self.targets[keep], weights=self.weights + move, hessian=hessian
        )

    def without(self, row: int) -> "LinearHead":
        """The head fitted anew without one row."""
        near = self.step_without(row)
        return fit_head(near.features, near.targets, self.kind, ridge=self.ridge, start=near.weights)


def fit_head(
    features: Float[np.ndarray, "n d"],
    targets: Num[np.ndarray, "n ..."],
    kind: Kind,
    *,
    ridge: float,
    classes: int | None = None,
    start: Float[np.ndarray, "k d"] | None = None,
) -> LinearHead:
    """Fit a linear head by Newton's method: softmax of labels, or squared error of (n, k) targets.

    >>> head = fit_head(np.array([[1.0], [1.0]]), np.array([[0.0], [2.0]]), "squared", ridge=0.0)
    >>> head.weights.tolist(), head.step_without(0).weights.tolist()
    ([[1.0]], [[2.0]])
    """
    phi, y = np.asarray(features, float), np.asarray(targets)
    if len(phi) != len(y) or len(phi) < 1 or not ridge >= 0:
        raise ValueError(
            f"fit_head got {len(phi)} rows, {len(y)} targets and ridge {ridge}; give one target per row, ridge ≥ 0."
        )
    if kind == "cross-entropy" and not ridge > 0:
        raise ValueError("A softmax head needs a ridge above 0: without one its minimum may be at infinity.")
    if kind == "squared":
        y = y.reshape(len(y), -1).astype(float)
    k = y.shape[1] if kind == "squared" else classes or (int(y.max()) + 1 if start is None else len(start))
    shape = (k, phi.shape[1])

    def objective(w: np.ndarray) -> float:
        return _losses(phi @ w.reshape(shape).T, y, kind).mean() + ridge / 2 * w @ w

    def derivatives(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scores = phi @ w.reshape(shape).T
        return (_residuals(scores, y, kind).T @ phi / len(phi)).ravel() + ridge * w, _hessian(phi, scores, kind, ridge)

    end = newton_minimum(objective, np.zeros(k * phi.shape[1]) if start is None else np.ravel(start), derivatives)
    return LinearHead(phi, y, kind, ridge, end.point.reshape(shape), end.hessian)


def _losses(scores: np.ndarray, y: np.ndarray, kind: Kind) -> np.ndarray:
    if kind == "squared":
        return ((scores - y.reshape(scores.shape)) ** 2).sum(1)
    from scipy.special import logsumexp

    return logsumexp(scores, axis=1) - scores[np.arange(len(y)), y]


def _residuals(scores: np.ndarray, y: np.ndarray, kind: Kind) -> np.ndarray:
    if kind == "squared":
        return 2 * (scores - y.reshape(scores.shape))
    from scipy.special import softmax

    p = softmax(scores, axis=1)
    p[np.arange(len(y)), y] -= 1
    return p


def _hessian(phi: np.ndarray, scores: np.ndarray, kind: Kind, ridge: float) -> np.ndarray:
    """mean of (∂²ℓ/∂scores²) ⊗ φφᵀ, plus the ridge."""
    n, d = phi.shape
    k = scores.shape[1]
    blocks = np.zeros((k, d, k, d))
    if kind == "squared":
        gram = 2 * phi.T @ phi / n
        for a in range(k):
            blocks[a, :, a] = gram
    else:
        from scipy.special import softmax

        p = softmax(scores, axis=1)
        for a in range(k):
            for b in range(a, k):
                weight = p[:, a] * ((a == b) - p[:, b]) / n
                blocks[a, :, b] = (phi * weight[:, None]).T @ phi
                blocks[b, :, a] = blocks[a, :, b]
    return blocks.reshape(k * d, k * d) + ridge * np.eye(k * d)
