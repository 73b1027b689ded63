"""Linear scores for m classes, x ↦ Wᵀx + b, fitted with a softmax or with m sigmoids: both losses are convex."""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, Num, Real

from leadline._checks import require


class LinearScores(NamedTuple):
    """The scores Wᵀx + b of m classes, and where the fit of them stopped."""

    weights: Float[np.ndarray, "d m"]
    bias: Float[np.ndarray, " m"]
    loss: float  # mean loss, without the ridge term
    gradient: float  # largest entry of the gradient of the objective
    iterations: int

    def logits(self, x: Real[Array | np.ndarray, "n d"]) -> Float[np.ndarray, "n m"]:
        """Wᵀx + b, row by row."""
        return np.asarray(x) @ self.weights + self.bias


def fit_linear_scores(
    x: Real[Array | np.ndarray, "n d"],
    targets: Num[Array | np.ndarray, "_ m"] | Int[Array | np.ndarray, " _"],
    *,
    link: Literal["softmax", "sigmoid"] = "softmax",
    ridge: float = 0.0,
    iterations: int = 2000,
    tolerance: float = 1e-9,
) -> LinearScores:
    """Minimise the mean cross-entropy of softmax(Wᵀx + b), or the summed binary ones of σ(Wᵀx + b), + (ridge/2)‖W‖².

    `targets` are labels 0..m-1, or rows of distributions (softmax) or of label sets (sigmoid). SciPy's L-BFGS-B from
    zero, in double precision, until no entry of the gradient exceeds `tolerance`. Without a ridge, one-hot targets of
    separable classes have no minimiser: the weights grow until the gradient is that small or the iterations end.

    >>> x = np.array([[0.0], [0.0], [0.0], [1.0], [1.0]])
    >>> fit = fit_linear_scores(x, np.array([0, 0, 1, 0, 1]))
    >>> z = fit.logits(x[2:4])
    >>> (1 / (1 + np.exp(z[:, 0] - z[:, 1]))).round(5).tolist()  # the share of class 1 at x = 0 and at x = 1
    [0.33333, 0.5]
    """
    require("fit_linear_scores", axes=2, x=x)
    require("fit_linear_scores", targets=targets)
    from scipy.optimize import minimize

    x, t = np.asarray(x, float), np.asarray(targets)
    if t.ndim == 1:
        if t.dtype.kind not in "iu" or t.min() < 0:
            raise ValueError("fit_linear_scores needs labels 0, 1, ... as whole numbers, or one row of targets a row.")
        t = np.eye(int(t.max()) + 1)[t]
    t = t.astype(float)
    if len(t) != len(x):
        raise ValueError(f"fit_linear_scores got {len(t)} targets for {len(x)} rows of x; give one for each.")
    if link not in _LINKS:
        raise ValueError(f"fit_linear_scores got link {link!r}; choose 'softmax' or 'sigmoid'.")
    (n, d), m = x.shape, t.shape[1]

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = flat[: d * m].reshape(d, m), flat[d * m :]
        value, residual = _LINKS[link](x @ w + b, t)
        gradient = np.concatenate([(x.T @ residual / n + ridge * w).ravel(), residual.mean(axis=0)])
        return value + ridge / 2 * float((w**2).sum()), gradient

    options = {"maxiter": iterations, "maxfun": 2 * iterations, "gtol": tolerance, "ftol": 0.0, "maxcor": 20}
    found = minimize(objective, np.zeros((d + 1) * m), jac=True, method="L-BFGS-B", options=options)
    w, b = found.x[: d * m].reshape(d, m), found.x[d * m :]
    loss = _LINKS[link](x @ w + b, t)[0]
    return LinearScores(w, b, loss, float(np.abs(found.jac).max()), int(found.nit))


def _softmax(z: np.ndarray, t: np.ndarray) -> tuple[float, np.ndarray]:
    """Mean cross-entropy and its gradient in the logits, times n."""
    from scipy.special import log_softmax

    log_p = log_softmax(z, axis=1)
    return float(-(t * log_p).sum() / len(z)), t.sum(axis=1, keepdims=True) * np.exp(log_p) - t


def _sigmoid(z: np.ndarray, t: np.ndarray) -> tuple[float, np.ndarray]:
    from scipy.special import expit

    return float((t * np.logaddexp(0, -z) + (1 - t) * np.logaddexp(0, z)).sum() / len(z)), expit(z) - t


_LINKS = {"softmax": _softmax, "sigmoid": _sigmoid}
