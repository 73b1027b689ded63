"""Repeated fits of a regression model against the Cramér-Rao bound, with combinations that data cannot determine."""

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float


@runtime_checkable
class FittedModel(Protocol):
    """What is fitted: `predict` takes a batch of weights (r, p) to (r, m), `jacobian` one w (p,) to (m, p)."""

    def predict(self, w: np.ndarray) -> np.ndarray: ...

    def jacobian(self, w: np.ndarray) -> np.ndarray: ...


class RepeatedFits(NamedTuple):
    """Least-squares weights of each data set, whether the fit met its tolerance, and the sum of squared residuals."""

    weights: Float[np.ndarray, "r p"]
    converged: Bool[np.ndarray, " r"]
    squares: Float[np.ndarray, " r"]


def repeated_fits(
    model: FittedModel,
    observed: Float[np.ndarray, "r m"],
    start: Float[np.ndarray, " p"] | Float[np.ndarray, "r p"],
    *,
    fixed: Bool[np.ndarray, " p"] | None = None,
    most: int = 200,
    tolerance: float = 1e-9,
) -> RepeatedFits:
    """Least squares for each row of `observed` at once, by Levenberg-Marquardt steps with a damping for each row.

    Weights marked in `fixed` stay at their start, which makes profiles. A fit is finished when no column of the
    Jacobian has a cosine above `tolerance` with its residuals (MINPACK's gtol), or rounding hides what is left. For a
    single data set use `fit` of the model.

    >>> from leadline.landscape.sloppiness import michaelis_menten
    >>> model = michaelis_menten(np.array([0.5, 1.0, 3.0, 9.0]))
    >>> found = repeated_fits(model, model.predict(np.array([[4.0, 1.0], [2.0, 3.0]])), np.array([1.0, 0.5]))
    >>> found.weights.round(6).tolist()
    [[4.0, 1.0], [2.0, 3.0]]
    """
    observed = np.asarray(observed, float)
    w = np.array(np.broadcast_to(np.asarray(start, float), (len(observed), np.shape(start)[-1])))
    free = np.ones(w.shape[1], bool) if fixed is None else ~np.asarray(fixed)
    residuals = observed - model.predict(w)
    squares = np.sum(residuals**2, axis=1)
    if not np.isfinite(squares).all():
        raise ValueError("The model is not finite at the start of the fits; start from other weights.")
    damping = np.full(len(w), 1e-3)
    done = np.zeros(len(w), bool)
    count = int(free.sum())
    rounding = 8 * np.finfo(float).eps * np.linalg.norm(observed, axis=1)
    for _ in range(most):
        rows = np.flatnonzero(~done)
        if rows.size == 0:
            break
        J = np.stack([model.jacobian(v)[:, free] for v in w[rows]])  # (rows, m, free)
        lengths = np.maximum(np.linalg.norm(J, axis=1, keepdims=True), 1e-300)
        J = J / lengths
        r = residuals[rows]
        cosines = np.abs(np.einsum("rmp,rm->rp", J, r)).max(axis=1)
        stacked = np.concatenate([J, np.sqrt(damping[rows])[:, None, None] * np.eye(count)], axis=1)
        Q, R = np.linalg.qr(stacked)
        explained = np.einsum("rmp,rm->rp", Q[:, : r.shape[1]], r)
        move = np.linalg.solve(R, explained[..., None])[..., 0] / lengths[:, 0]
        size = np.sqrt(squares[rows])
        lost = np.sum(explained**2, axis=1) <= size * rounding[rows]  # a gain that rounding hides
        met = (cosines <= tolerance * size + 1e-300) | (lost & (damping[rows] < 1))
        trial = w[rows].copy()
        trial[:, free] += move
        with np.errstate(all="ignore"):
            missed = observed[rows] - model.predict(trial)
            after = np.sum(missed**2, axis=1)
        better = np.isfinite(after) & (after <= squares[rows])
        taken = rows[better]
        w[taken], residuals[taken], squares[taken] = trial[better], missed[better], after[better]
        damping[rows] = np.where(better, damping[rows] / 10, np.maximum(damping[rows], 1e-12) * 8)
        done[rows] = met | (damping[rows] > 1e12)
    return RepeatedFits(w, done & (damping <= 1e12), squares)


class CramerRaoBound(NamedTuple):
    """The least covariance of unbiased estimators: `matrix` on the combinations that data determine.

    `identifiable` (k, p) and `undetermined` (p − k, p) are orthonormal rows: bases of the range of the information and
    of its null space.
    """

    matrix: Float[np.ndarray, "p p"]
    identifiable: Float[np.ndarray, "k p"]
    undetermined: Float[np.ndarray, "q p"]

    def variance(self, combination: Float[np.ndarray, " p"]) -> float:
        """The least variance of an unbiased estimate of c·w: infinite if c has a part that data do not determine."""
        c = np.asarray(combination, float)
        if np.abs(self.undetermined @ c).max(initial=0.0) > 1e-8 * np.linalg.norm(c):
            return float("inf")
        return float(c @ self.matrix @ c)


def cramer_rao_bound(
    root_jacobian: Float[np.ndarray, "m p"], samples: int, *, threshold: float = 1e-10
) -> CramerRaoBound:
    """g⁻¹/n for the information g = RᵀR of one sample and n samples (Rao 1945, Cramér 1946).

    R is the square-root Jacobian, such as `gaussian_root_jacobian` gives it. Singular values below `threshold` times
    the largest, with the columns of R scaled to length 1, count as 0: only combinations c in the range of g have
    unbiased estimators, and their least variance is cᵀg⁺c/n.

    >>> bound = cramer_rao_bound(np.array([[1.0, 1.0], [2.0, 2.0]]), 10)  # only w₁ + w₂ enters
    >>> round(bound.variance(np.array([1.0, 1.0])), 12), bound.variance(np.array([1.0, -1.0]))
    (0.02, inf)
    """
    R = np.asarray(root_jacobian, float)
    if samples < 1 or R.ndim != 2 or not np.isfinite(R).all():
        raise ValueError(
            f"cramer_rao_bound got {samples} samples and an array of shape {R.shape}; give at least one sample and a "
            "finite matrix with one column for each parameter."
        )
    lengths = np.linalg.norm(R, axis=0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    _, singular, rows = np.linalg.svd(R / lengths, full_matrices=True)
    singular = np.concatenate([singular, np.zeros(len(rows) - len(singular))])
    kept = singular > threshold * max(singular[0], np.finfo(float).tiny)
    inverse_root = rows[kept] / singular[kept, None] / lengths
    null = rows[~kept] / lengths  # g v = 0 for v = D⁻¹ u
    null = np.linalg.qr(null.T)[0].T if len(null) else null
    if not len(null):
        return CramerRaoBound(inverse_root.T @ inverse_root / samples, np.eye(R.shape[1]), null)
    range_ = np.linalg.svd(null, full_matrices=True)[2][len(null) :]
    return CramerRaoBound(_restricted(R, range_, samples), range_, null)


def loewner_margin(covariance: Float[np.ndarray, "p p"], bound: Float[np.ndarray, "p p"]) -> float:
    """The smallest eigenvalue of B^{−1/2} C B^{−1/2} − 1: C ≥ B in the Loewner order exactly if it is at least 0.

    >>> loewner_margin(np.diag([2.0, 3.0]), np.eye(2)), loewner_margin(np.diag([0.5, 9.0]), np.eye(2))
    (1.0, -0.5)
    """
    from scipy.linalg import eigh

    try:
        values = eigh(np.asarray(covariance, float), np.asarray(bound, float), eigvals_only=True)
    except np.linalg.LinAlgError:
        raise ValueError("The bound is not positive definite; compare only the combinations it determines.") from None
    return float(values[0] - 1)


def whitened_errors(
    estimates: Float[np.ndarray, "r p"], truth: Float[np.ndarray, " p"], bound: Float[np.ndarray, "p p"]
) -> Float[np.ndarray, "r p"]:
    """L⁻¹(ŵ − w) with B = LLᵀ: of covariance at least 1 for unbiased estimates, N(0, 1) if the bound is attained.

    >>> whitened_errors(np.array([[3.0]]), np.array([1.0]), np.array([[4.0]])).tolist()
    [[1.0]]
    """
    root = np.linalg.cholesky(np.asarray(bound, float))
    return np.linalg.solve(root, (np.asarray(estimates, float) - truth).T).T


def wishart_edges(samples: int, dim: int, confidence: float = 0.999) -> tuple[float, float]:
    """Between which numbers all eigenvalues of the covariance of `samples` draws from N(0, 1)^dim lie.

    (1 ∓ √(p/r) ∓ √(2 ln(2/δ)/r))², with probability at least 1 − δ at every r (Davidson and Szarek 2001); r counts
    the degrees of freedom, one less than the draws if their mean was subtracted.

    >>> [round(edge, 3) for edge in wishart_edges(1000, 2)]
    [0.692, 1.364]
    """
    spread = float(np.sqrt(dim / samples) + np.sqrt(2 * np.log(2 / (1 - confidence)) / samples))
    return max(1 - spread, 0.0) ** 2, (1 + spread) ** 2


def _restricted(R: np.ndarray, range_: np.ndarray, samples: int) -> np.ndarray:
    """g⁺/n by the pseudo-inverse of R on the range of g."""
    pseudo = range_.T @ np.linalg.pinv(R @ range_.T)
    return pseudo @ pseudo.T / samples
