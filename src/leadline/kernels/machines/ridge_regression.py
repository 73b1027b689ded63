"""Kernel ridge regression: one penalty by Cholesky, a whole path of penalties by one eigendecomposition."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num, Real

from .expansion import Expansion, Gram, Points, as_points
from .factorisation import Factor, factorise

Targets = Real[Array | np.ndarray, "targets ..."]


class KernelRidge(NamedTuple):
    """f = Σ αᵢ k(xᵢ, ·) with α = (K + nγI)⁻¹ y."""

    expansion: Expansion
    alpha: Float[np.ndarray, "n ..."]
    gamma: float
    fitted: Float[np.ndarray, "n ..."]  # f at the training points
    factor: Factor  # of K + nγI

    def predict(self, x: Num[Array | np.ndarray, "m ..."]) -> Float[Array | np.ndarray, "m ..."]:
        """f at every row of x."""
        return self.expansion(x)

    @property
    def norm(self) -> Float[np.ndarray, "*outputs"]:
        """‖f‖ = √(αᵀKα), per output; αᵀKα = α·f at the training points."""
        return np.asarray(np.sqrt(np.maximum(np.sum(self.alpha * self.fitted, axis=0), 0.0)))

    def leave_one_out(self) -> Float[np.ndarray, "n ..."]:
        """yᵢ − f₋ᵢ(xᵢ), f₋ᵢ fitted to the others with the same nγ: (y − f)ᵢ/(1 − Sᵢᵢ) = αᵢ/[(K + nγI)⁻¹]ᵢᵢ."""
        diagonal = self.factor.inverse_diagonal()
        return self.alpha / diagonal.reshape(-1, *[1] * (self.alpha.ndim - 1))

    def degrees_of_freedom(self) -> float:
        """tr S = tr K(K + nγI)⁻¹ = n − nγ tr (K + nγI)⁻¹."""
        return float(len(self.alpha) - self.factor.shift * self.factor.inverse_diagonal().sum())


class KernelRidgePath(NamedTuple):
    """The ridge solutions for several penalties, the first axis."""

    gammas: Float[np.ndarray, " k"]
    alpha: Float[np.ndarray, "k n *outputs"]
    fitted: Float[np.ndarray, "k n *outputs"]
    leave_one_out: Float[np.ndarray, "k n *outputs"]  # residuals with nγ fixed
    degrees_of_freedom: Float[np.ndarray, " k"]
    squared_norms: Float[np.ndarray, "k ..."]
    eigenvalues: Float[np.ndarray, " n"]  # of K, ascending, negative rounding cut off

    def best(self) -> int:
        """The index of the penalty with the least mean square of the leave-one-out residuals."""
        squares = np.mean(self.leave_one_out**2, axis=tuple(range(1, self.leave_one_out.ndim)))
        return int(np.argmin(squares))


def kernel_ridge(
    kernel: Gram, x: Points, y: Targets, gamma: float, *, gram: Float[Array | np.ndarray, "n n"] | None = None
) -> KernelRidge:
    """argmin over the kernel's space of (1/n) Σ (f(xᵢ) − yᵢ)² + γ‖f‖²: f = Σ αᵢ k(xᵢ, ·), α = (K + nγI)⁻¹ y ∈ Rⁿ.

    y may have several columns, which share one Cholesky factor. γ = 0 interpolates and needs a positive definite K.
    `gram` passes K where it is known already. The linear algebra is LAPACK's, in the precision of K.

    >>> fit = kernel_ridge(lambda a, b: a @ b.T, np.array([[1.0], [2.0]]), np.array([1.0, 2.0]), 2.5)
    >>> fit.predict(np.array([[4.0]])).round(6).tolist()  # w = x·y/(x·x + nγ) = 5/10
    [2.0]
    """
    x, y, K = sample_gram(kernel, x, y, gram)
    if not (np.isfinite(gamma) and gamma >= 0):
        raise ValueError(f"kernel_ridge got gamma = {gamma}; give a finite penalty of at least 0.")
    factor = factorise(K, len(K) * float(gamma))
    alpha = factor.solve(y)
    # K alpha = y - n gamma alpha, but the product keeps the digits of a small fit.
    return KernelRidge(Expansion(kernel, x, alpha), alpha, float(gamma), K @ alpha, factor)


def kernel_ridge_path(
    kernel: Gram,
    x: Points,
    y: Targets,
    gammas: Real[Array | np.ndarray, " k"],
    *,
    gram: Float[Array | np.ndarray, "n n"] | None = None,
) -> KernelRidgePath:
    """`kernel_ridge` for every γ > 0 at the cost of one eigendecomposition K = U diag(l) Uᵀ.

    α = U (l + nγ)⁻¹ Uᵀy, degrees of freedom Σ l/(l + nγ), leave-one-out residuals as in `KernelRidge`.

    >>> path = kernel_ridge_path(lambda a, b: a @ b.T, np.array([[1.0], [2.0]]), np.array([1.0, 2.0]), np.array([2.5]))
    >>> path.fitted.round(6).tolist(), path.degrees_of_freedom.round(6).tolist()
    ([[0.5, 1.0]], [0.5])
    """
    x, y, K = sample_gram(kernel, x, y, gram)
    gammas = np.asarray(gammas, float)
    if not (np.isfinite(gammas).all() and np.all(gammas > 0)):
        raise ValueError(f"kernel_ridge_path got the penalties {gammas.tolist()}; give finite ones above 0.")
    values, U = np.linalg.eigh((K + K.T) / 2)
    shifts = len(K) * gammas
    if values[0] <= -shifts.min():
        factorise(K, float(shifts.min()))  # says which eigenvalue is in the way
    values = np.maximum(values, 0.0)
    outputs = y.shape[1:]
    flat = y.reshape(len(K), -1)
    inverse = 1 / (values + shifts[:, None])  # (k, n)
    alpha = np.einsum("ij,kj,jc->kic", U, inverse, U.T @ flat, optimize=True)
    fitted = flat - shifts[:, None, None] * alpha
    diagonal = (U**2 @ inverse.T).T  # of (K + n gamma I)⁻¹
    return KernelRidgePath(
        gammas,
        alpha.reshape(len(gammas), len(K), *outputs),
        fitted.reshape(len(gammas), len(K), *outputs),
        (alpha / diagonal[:, :, None]).reshape(len(gammas), len(K), *outputs),
        (values * inverse).sum(axis=1),
        np.sum(alpha * fitted, axis=1).reshape(len(gammas), *outputs),
        values,
    )


def penalty_for_residual(
    K: Float[Array | np.ndarray, "n n"], y: Real[Array | np.ndarray, " n"], mean_square: float
) -> float:
    """The γ at which kernel ridge leaves the given mean squared residual (Morozov's discrepancy principle).

    The residual rises with γ, from that of the part of y outside the range of K to the mean of y².

    >>> round(penalty_for_residual(np.eye(2), np.array([1.0, -1.0]), 0.25), 6)  # nγ/(1 + nγ) = 1/2
    0.5
    """
    from scipy.optimize import brentq

    K, y = np.asarray(K, float), np.asarray(y, float)
    n = len(y)
    values, U = np.linalg.eigh((K + K.T) / 2)
    values, power = np.maximum(values, 0.0), (U.T @ y) ** 2 / n

    def excess(log_shift: float) -> float:
        shift = np.exp(log_shift)
        return float(power @ (shift / (values + shift)) ** 2) - mean_square

    low, high = np.log(values[-1]) - 80, np.log(values[-1]) + 40
    if not excess(low) < 0 < excess(high):
        raise ValueError(
            f"No penalty leaves a mean squared residual of {mean_square:g}; give one between "
            f"{excess(low) + mean_square:.3g} and {excess(high) + mean_square:.3g}."
        )
    return float(np.exp(brentq(excess, low, high, xtol=1e-12)) / n)


def sample_gram(kernel: Gram, x: Points, y: Targets, gram: np.ndarray | Array | None = None):
    """x in floating point, y and K as NumPy arrays of one precision; ValueError where they do not fit together."""
    x = as_points(x)
    if len(x) != len(y) or not len(x):
        raise ValueError(
            f"A kernel machine got x of shape {x.shape} and y of shape {np.shape(y)}; it needs one target per row of x "
            "and at least one row."
        )
    K = np.asarray(kernel(x, x) if gram is None else gram)
    if K.shape != (len(x), len(x)):
        raise ValueError(f"The kernel gave a matrix of shape {K.shape} for {len(x)} points; it must be square in them.")
    if K.dtype not in (np.float32, np.float64):
        K = K.astype(float)
    y = np.asarray(y, K.dtype)
    if not np.isfinite(y).all():
        raise ValueError("A kernel machine got targets that are NaN or infinite; remove those rows first.")
    return x, y, K
