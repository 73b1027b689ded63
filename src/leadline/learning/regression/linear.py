"""Fitting w·x + b to targets: least squares in three ways, its null space, total least squares, least maximum."""

from types import ModuleType
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float, Real

from leadline._arrays import namespace
from leadline._checks import require_numbers

Inputs = Real[Array | np.ndarray, "*batch n d"]
Targets = Real[Array | np.ndarray, "*batch n"]
Weights = Float[Array | np.ndarray, "*batch d"]
Scalars = Float[Array | np.ndarray, "*batch"] | float


class LinearFit(NamedTuple):
    """The affine function x ↦ w·x + b."""

    weights: Weights
    bias: Scalars

    def predict(self, x: Inputs) -> Float[Array | np.ndarray, "*batch n"]:
        """w·xᵢ + b for every row of x."""
        bias = self.bias if isinstance(self.bias, int | float) else self.bias[..., None]
        return (x @ self.weights[..., None])[..., 0] + bias


def design(x: Inputs, *, intercept: bool = True) -> Float[Array | np.ndarray, "*batch n p"]:
    """The matrix X with rows (xᵢ, 1), or xᵢ alone without an intercept.

    >>> design(np.array([[2.0], [3.0]])).tolist()
    [[2.0, 1.0], [3.0, 1.0]]
    """
    xp = namespace(x)
    x = _floating(xp, x)
    return xp.concatenate([x, xp.ones((*x.shape[:-1], 1), x.dtype)], axis=-1) if intercept else x


def least_squares(
    x: Inputs, y: Targets, *, intercept: bool = True, method: Literal["svd", "qr", "normal"] = "svd"
) -> LinearFit:
    """argmin ‖X w − y‖² with rows (xᵢ, 1) in X.

    "svd" gives X⁺y, the minimiser of least norm ‖(w, b)‖, for every rank; singular values below max(n, d) ε s₁ count
    as zero. "qr" and "normal" (XᵀX w = Xᵀy by Cholesky, which squares the condition number) need full column rank.
    NumPy arrays give NumPy arrays; JAX arrays give JAX arrays, differentiable. Leading axes are separate problems.

    >>> fit = least_squares(np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 2.0, 1.0]))
    >>> fit.weights.round(12).tolist(), round(float(fit.bias), 12)
    ([0.5], 0.5)
    """
    require_numbers("least_squares", x=x, y=y)
    xp, x, y = sample(x, y)
    matrix = design(x, intercept=intercept)
    if method == "svd":
        solution = _by_svd(xp, matrix, y)
    elif method == "qr":
        q, r = xp.linalg.qr(matrix)
        solution = xp.linalg.solve(r, q.mT @ y[..., None])[..., 0]
    elif method == "normal":
        factor = xp.linalg.cholesky(matrix.mT @ matrix)
        half = xp.linalg.solve(factor, matrix.mT @ y[..., None])
        solution = xp.linalg.solve(factor.mT, half)[..., 0]
    else:
        raise ValueError(f"least_squares got method '{method}'; choose 'svd', 'qr' or 'normal'.")
    return _split(solution, intercept)


def null_space(x: Inputs, *, intercept: bool = True) -> Float[np.ndarray, "p k"]:
    """An orthonormal basis, in columns, of the directions in (w, b) that change no prediction on the rows of x.

    >>> np.abs(null_space(np.array([[1.0, 1.0], [2.0, 2.0]]), intercept=False)).round(4).T.tolist()
    [[0.7071, 0.7071]]
    """
    matrix = np.asarray(design(x, intercept=intercept))
    _, s, vt = np.linalg.svd(matrix)
    return vt[int(np.sum(s > _cutoff(np, matrix, s))) :].T


def total_least_squares(x: Real[Array | np.ndarray, "n d"], y: Real[Array | np.ndarray, " n"]) -> LinearFit:
    """The hyperplane of least squared perpendicular distance to the points (xᵢ, yᵢ) (Golub and Van Loan 1980).

    Its normal is the last right singular vector of the centred [X, y].

    >>> fit = total_least_squares(np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 2.0, 1.0]))
    >>> fit.weights.round(12).tolist(), abs(float(fit.bias)) < 1e-12
    ([1.0], True)
    """
    xp, x, y = sample(x, y)
    points = xp.concatenate([x, y[:, None]], axis=1)
    centre = points.mean(axis=0)
    if len(points) <= x.shape[1]:
        raise ValueError(f"total_least_squares got {len(points)} points in {x.shape[1]} inputs; give more than inputs.")
    normal = xp.linalg.svd(points - centre, full_matrices=False)[2][-1]
    if xp is np and abs(normal[-1]) < np.finfo(normal.dtype).eps:
        raise ValueError("The nearest hyperplane is vertical, y is no function of x in it; swap y with an input.")
    weights = -normal[:-1] / normal[-1]
    return LinearFit(weights, centre[-1] - centre[:-1] @ weights)


class ChebyshevFit(NamedTuple):
    """The affine fit of least maximal residual, with the points that determine it."""

    weights: Float[np.ndarray, " d"]
    bias: float
    height: float  # the least possible max |r|
    active: Bool[np.ndarray, " n"]  # |r| = height


def chebyshev_fit(x: Real[Array | np.ndarray, "n d"], y: Real[Array | np.ndarray, " n"]) -> ChebyshevFit:
    """argmin over (w, b) of maxᵢ |yᵢ − w·xᵢ − b|: the linear programme min t with −t ≤ yᵢ − w·xᵢ − b ≤ t.

    In general position d + 2 points have residual ±t and decide alone (Chebyshev's alternation for d = 1).

    >>> fit = chebyshev_fit(np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 2.0, 1.0]))
    >>> fit.weights.round(9).tolist(), round(fit.height, 9), fit.active.tolist()
    ([0.5], 0.75, [True, True, True])
    """
    from scipy.optimize import linprog

    _, x, y = sample(np.asarray(x, float), np.asarray(y, float))
    matrix = design(x)
    # Unit scales make the solver's absolute tolerances relative ones.
    columns, unit = np.abs(matrix).max(axis=0), float(np.ptp(y)) or 1.0
    columns = np.where(columns > 0, columns, 1.0)
    scaled, target, ones = matrix / columns, (y - y.mean()) / unit, np.ones((len(y), 1))
    programme = linprog(
        c=np.append(np.zeros(scaled.shape[1]), 1.0),
        A_ub=np.block([[scaled, -ones], [-scaled, -ones]]),
        b_ub=np.concatenate([target, -target]),
        bounds=[(None, None)] * scaled.shape[1] + [(0, None)],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if programme.status != 0:
        raise RuntimeError(f"HiGHS did not solve the Chebyshev programme: {programme.message}")
    solution = programme.x[:-1] * unit / columns
    residual = np.abs(y - y.mean() - matrix @ solution)
    height = float(residual.max())
    active = residual >= height - 1e-8 * unit
    return ChebyshevFit(solution[:-1], float(solution[-1] + y.mean()), height, active)


def sample(x: Array | np.ndarray, y: Array | np.ndarray) -> tuple[ModuleType, Inputs, Targets]:
    """The namespace of x, and x and y as floating-point arrays of one dtype with as many rows as targets."""
    if x.ndim < 2 or x.shape[:-1] != y.shape:
        raise ValueError(
            f"Inputs of shape {x.shape} and targets of shape {y.shape} do not match; give inputs (n, d), one row an "
            "example, and targets (n,)."
        )
    xp = namespace(x, y)
    x, y = _floating(xp, x), _floating(xp, y)
    dtype = xp.result_type(x, y)
    return xp, x.astype(dtype), y.astype(dtype)


def _floating(xp: ModuleType, array: Array | np.ndarray) -> Array | np.ndarray:
    array = xp.asarray(array)
    return array if xp.issubdtype(array.dtype, xp.floating) else array.astype(float)


def _cutoff(xp: ModuleType, matrix: Array | np.ndarray, s: Array | np.ndarray) -> Array | np.ndarray:
    return max(matrix.shape[-2:]) * xp.finfo(s.dtype).eps * s[..., :1]


def _by_svd(xp: ModuleType, matrix: Array | np.ndarray, y: Array | np.ndarray) -> Array | np.ndarray:
    u, s, vt = xp.linalg.svd(matrix, full_matrices=False)
    kept = s > _cutoff(xp, matrix, s)
    inverse = xp.where(kept, 1 / xp.where(kept, s, 1.0), 0.0)
    return (vt.mT @ (inverse * (u.mT @ y[..., None])[..., 0])[..., None])[..., 0]


def _split(solution: Array | np.ndarray, intercept: bool) -> LinearFit:
    if intercept:
        return LinearFit(solution[..., :-1], solution[..., -1])
    return LinearFit(solution, 0.0 * solution[..., :1].sum(axis=-1))
