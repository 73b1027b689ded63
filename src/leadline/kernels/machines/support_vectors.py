"""Kernel support vector machines: hinge loss plus penalty, and the hard margin in feature space."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float, Num

from leadline.linear_classifiers.margins import max_margin
from leadline.linear_classifiers.margins.labelled import signed_sample

from .expansion import Expansion, Gram, Points
from .ridge_regression import sample_gram

PROMISED = 1e-6  # the residual of the optimality conditions that is promised; usually it is below 1e-12

Labels = Num[Array | np.ndarray, " labels"]


class SupportVectors(NamedTuple):
    """f = Σ aᵢ yᵢ k(xᵢ, ·) + b with 0 ≤ aᵢ ≤ 1/(2nγ); aᵢ = 0 where yᵢ f(xᵢ) > 1."""

    expansion: Expansion  # without the bias
    multipliers: Float[np.ndarray, " n"]  # a
    bias: float
    scores: Float[np.ndarray, " n"]  # f at the training points
    support: Bool[np.ndarray, " n"]  # a > 0
    objective: float  # (1/n) Σ max(0, 1 − y f) + γ‖f‖²
    residual: float  # largest violation of the optimality (KKT) conditions, in units of the margin 1


class KernelMargin(NamedTuple):
    """The widest homogeneous separation in feature space: ρ = max over ‖w‖ = 1 of min yᵢ w·φ(xᵢ)."""

    expansion: Expansion  # w, scaled so that the closest points score 1
    multipliers: Float[np.ndarray, " n"]
    margin: float  # ρ = 1/‖w‖
    radius: float  # R = max √k(x, x), so that R²/ρ² bounds the kernel perceptron's updates
    support: Bool[np.ndarray, " n"]
    residual: float


def kernel_svm(
    kernel: Gram,
    x: Points,
    y: Labels,
    gamma: float,
    *,
    bias: bool = False,
    gram: Float[Array | np.ndarray, "n n"] | None = None,
) -> SupportVectors:
    """argmin (1/n) Σ max(0, 1 − yᵢ f(xᵢ)) + γ‖f‖² over the kernel's space; labels −1 and +1, a bias is not penalised.

    scikit-learn's SVC on the Gram matrix finds which points lie on the margin; the equations of these points are then
    solved in double precision (libsvm keeps K in single precision), and the optimality residual is reported.

    >>> fit = kernel_svm(lambda a, b: a @ b.T, np.array([[2.0], [-1.0]]), np.array([1.0, -1.0]), 0.01)
    >>> fit.multipliers.round(6).tolist(), fit.scores.round(6).tolist()
    ([0.0, 1.0], [2.0, -1.0])
    """
    if not (np.isfinite(gamma) and gamma > 0):
        raise ValueError(f"kernel_svm got gamma = {gamma}; give a penalty above 0 (kernel_margin is its limit 0).")
    x, y, K = _labelled(kernel, x, y, gram)
    if len(np.unique(y)) == 1 and bias:
        raise ValueError("All labels are equal, expected both -1 and +1 (a constant classifier fits this sample).")
    bound = 1 / (2 * len(y) * gamma)
    a, b = _polished(K, y, bound, bias, _libsvm(K, y, bound, bias))
    scores = K @ (a * y) + b
    square = float((a * y) @ (scores - b))
    return SupportVectors(
        Expansion(kernel, x, a * y),
        a,
        b,
        scores,
        a > 0,
        float(np.maximum(0, 1 - y * scores).mean() + gamma * square),
        _residual(y * scores, a, bound, abs(a @ y) / a.sum() if bias else 0.0),
    )


def kernel_margin(
    kernel: Gram, x: Points, y: Labels, *, gram: Float[Array | np.ndarray, "n n"] | None = None
) -> KernelMargin:
    """Hard margin through the origin of feature space: minimise ‖w‖² subject to yᵢ w·φ(xᵢ) ≥ 1; ρ = 1/‖w‖.

    As `kernel_svm` with a large bound on the multipliers. Where that leaves a residual, `margins.max_margin` decides
    exactly, on the eigenvector features of K. Raises ValueError if the sample is not separable.

    >>> found = kernel_margin(lambda a, b: a @ b.T, np.eye(4), np.ones(4))
    >>> round(found.margin, 9), found.radius
    (0.5, 1.0)
    """
    x, y, K = _labelled(kernel, x, y, gram)
    scale = float(np.mean(np.diag(K))) or 1.0
    a, _ = _polished(K, y, np.inf, False, _libsvm(K, y, 1e6 / scale, False))
    residual = _residual(y * (K @ (a * y)), a, np.inf, 0.0)
    if not residual < PROMISED:
        values, vectors = np.linalg.eigh((K + K.T) / 2)
        exact = max_margin(vectors * np.sqrt(np.maximum(values, 0.0)), y, bias=False)
        a, residual = exact.multipliers, exact.residual
    return KernelMargin(
        Expansion(kernel, x, a * y),
        a,
        float(((a * y) @ K @ (a * y)) ** -0.5),
        float(np.diag(K).max() ** 0.5),
        a > 0,
        residual,
    )


def _labelled(kernel, x, y, gram) -> tuple[Any, np.ndarray, np.ndarray]:
    x, y, K = sample_gram(kernel, x, y, gram)
    K = K.astype(float)
    return x, signed_sample(K, y)[1].astype(float), K


def _libsvm(K: np.ndarray, y: np.ndarray, bound: float, bias: bool) -> np.ndarray:
    """Multipliers by libsvm, good to five digits or so.

    It always has a bias; the sample together with its mirror image (−φ, −y) makes that 0.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    if len(np.unique(y)) == 1 and bias:
        return np.zeros(len(y))
    G, labels, C = (K, y, bound) if bias else (np.block([[K, -K], [-K, K]]), np.concatenate([y, -y]), bound / 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = SVC(C=C, kernel="precomputed", tol=1e-6, cache_size=500, max_iter=1_000_000).fit(G, labels)
    a = np.zeros(len(labels))
    a[fit.support_] = np.abs(fit.dual_coef_[0])
    return a if bias else a[: len(y)] + a[len(y) :]


def _polished(K, y, bound: float, bias: bool, a: np.ndarray) -> tuple[np.ndarray, float]:
    """The best of libsvm's answer and two ways to sharpen it."""
    Q = K * y[:, None] * y[None, :]
    snapped = np.where(a < 1e-5 * a.max(), 0.0, np.where(a > (1 - 1e-5) * bound, bound, a))
    best, least = (a, 0.0), np.inf
    for refine in (_unchanged, _newton, _active_set):
        found = refine(Q, y, bound, bias, snapped if refine is not _unchanged else np.clip(a, 0, bound))
        b = _offset(Q @ found * y, y, found, bound) if bias else 0.0
        residual = _residual(Q @ found + b * y, found, bound, abs(found @ y) / (found.sum() or 1) if bias else 0.0)
        if residual < least:
            best, least = (found, b), residual
        if least < 1e-10:
            break
    return best


def _unchanged(Q, y, bound, bias, a) -> np.ndarray:
    return a


def _newton(Q, y, bound: float, bias: bool, a: np.ndarray) -> np.ndarray:
    """Newton's method on the optimality conditions (a primal-dual active set), from a guess of who is on the margin."""
    unit = 1 / (float(np.mean(np.diag(Q))) or 1.0)
    free, upper = (a > 0) & (a < bound), a >= bound
    seen = set()
    while (state := (free.tobytes(), upper.tobytes())) not in seen and len(seen) < 20:
        seen.add(state)
        a = np.where(upper, bound if np.isfinite(bound) else 0.0, 0.0)
        change, b = _equations(Q, y, bias, a, free)
        a[free] += change
        step = a + unit * (1 - Q @ a - b * y)
        upper = step >= bound
        free = ~upper & (step > 0)
    return np.clip(a, 0, bound)


def _active_set(Q, y, bound: float, bias: bool, a: np.ndarray) -> np.ndarray:
    """Minimise aᵀQa/2 − Σa over the box (and Σ a y = 0): steps on a face of the box, up to the first bound in the way.

    Slower than Newton's method but it never goes up, so that repeated and dependent points do no harm.
    """
    a, face = a.copy(), (a > 0) & (a < bound)
    scale = float(np.abs(Q).max()) * max(float(a.max()), 1e-300)
    for _ in range(200):
        change, b = _equations(Q, y, bias, a, face)
        slope = Q @ a - 1 + b * y
        rest = Q[np.ix_(face, face)] @ change + slope[face]
        if face.any() and np.abs(rest).max() > 1e-9 * (1 + scale):
            change = -rest * (float(a.max()) or 1.0) / np.abs(rest).max() * 1e3  # no curvature that way: go to a bound
        if np.abs(change).max(initial=0.0) > 1e-13 * float(a.max()):
            room = np.where(change > 0, (bound - a[face]) / np.maximum(change, 1e-300), np.inf)
            room = np.where(change < 0, a[face] / np.maximum(-change, 1e-300), room)
            step = min(1.0, float(room.min()))
            a[face] += step * change
            if step < 1.0:
                stopped = np.flatnonzero(face)[room <= step * (1 + 1e-12)]
                a[stopped] = np.where(a[stopped] > bound / 2, bound, 0.0) if np.isfinite(bound) else 0.0
                face[stopped] = False
                continue
        slope = Q @ a - 1
        slope += (b if face.any() else _offset((slope + 1) * y, y, a, bound) if bias else 0.0) * y
        wrong = np.where((a <= 0) & ~face, -slope, np.where((a >= bound) & ~face, slope, 0.0))
        if wrong.max() <= 1e-12:
            break
        face[np.argmax(wrong)] = True
    return a


def _equations(Q, y, bias: bool, a: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, float]:
    """The change of the free multipliers after which their points lie on the margin, and the bias then."""
    if not free.any():
        return np.zeros(0), 0.0
    A, right = Q[np.ix_(free, free)], (1 - Q @ a)[free]
    if not bias:
        return np.linalg.lstsq(A, right)[0], 0.0
    unit = float(np.mean(np.diag(A))) or 1.0
    A = np.block([[A, unit * y[free, None]], [unit * y[None, free], np.zeros((1, 1))]])
    solution = np.linalg.lstsq(A, np.append(right, -unit * (y @ a)))[0]
    return solution[:-1], unit * float(solution[-1])


def _offset(f: np.ndarray, y: np.ndarray, a: np.ndarray, bound: float) -> float:
    """The bias that violates the conditions least: y (f + b) ≥ 1 where a < bound, ≤ 1 where a > 0."""
    gap, rises, falls = y - f, a < bound, a > 0
    low = gap[np.where(y > 0, rises, falls)].max(initial=-np.inf)
    high = gap[np.where(y > 0, falls, rises)].min(initial=np.inf)
    if np.isinf(low) or np.isinf(high):
        return float(high if np.isinf(low) else low)
    return float(low + high) / 2


def _residual(z: np.ndarray, a: np.ndarray, bound: float, imbalance: float) -> float:
    """Largest of: 1 − z where a < bound, z − 1 where a > 0; a bias needs Σ a y = 0 as well."""
    below = np.where(a < bound, 1 - z, 0.0)
    above = np.where(a > 0, z - 1, 0.0)
    return float(max(below.max(), above.max(), imbalance, 0.0))
