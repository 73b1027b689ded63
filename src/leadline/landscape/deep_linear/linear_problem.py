"""Data for a linear network in the form its theory uses: second moments, the best map, the spectrum, two factors."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from leadline import data

A = Float[np.ndarray, "d_y p"]
B = Float[np.ndarray, "p d_x"]
Product = Float[np.ndarray, "d_y d_x"]


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """Least squares by a matrix W, or by a product W = AB: l(W) = (1/2n)‖Y − WX‖² with samples as columns.

    Σxx = XXᵀ, Σyx = YXᵀ (sums, not means), L* = Σyx Σxx⁻¹, Σ = Σyx Σxx⁻¹ Σxy = U diag(λ) Uᵀ with λ descending. The
    spectrum of Σ decides all critical points of the two-layer network (Baldi and Hornik 1989). Indices count from 0.

    >>> problem = LinearProblem(np.eye(2), np.diag([3.0, 2.0]))
    >>> problem.eigenvalues.tolist(), problem.level([0])
    ([9.0, 4.0], 1.0)
    """

    x: Float[np.ndarray, "d_x n"]
    y: Float[np.ndarray, "d_y n"]

    def __post_init__(self):
        if self.x.ndim != 2 or self.y.ndim != 2 or self.x.shape[1] != self.y.shape[1]:
            raise ValueError(
                f"LinearProblem got x of shape {self.x.shape} and y of shape {self.y.shape}; give two matrices with "
                "one column a sample."
            )
        if np.linalg.matrix_rank(self.sigma_xx, hermitian=True) < self.inputs:
            raise ValueError(
                f"The inputs of a LinearProblem span fewer than their {self.inputs} dimensions; give their coordinates "
                "in their range (for images: leave out constant pixels)."
            )

    @property
    def inputs(self) -> int:
        return self.x.shape[0]

    @property
    def outputs(self) -> int:
        return self.y.shape[0]

    @property
    def samples(self) -> int:
        return self.x.shape[1]

    @cached_property
    def sigma_xx(self) -> Float[np.ndarray, "d_x d_x"]:
        return self.x @ self.x.T

    @cached_property
    def sigma_yx(self) -> Product:
        return self.y @ self.x.T

    @cached_property
    def energy(self) -> float:
        """tr Σyy = ‖Y‖²."""
        return float(np.sum(self.y**2))

    @cached_property
    def best_map(self) -> Product:
        """L* = Σyx Σxx⁻¹, the least-squares map without a bottleneck."""
        return np.linalg.solve(self.sigma_xx, self.sigma_yx.T).T

    @cached_property
    def sigma(self) -> Float[np.ndarray, "d_y d_y"]:
        """Σ = L* Σxy, the part of Σyy that a linear map explains."""
        sigma = self.best_map @ self.sigma_yx.T
        return (sigma + sigma.T) / 2

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = np.linalg.eigh(self.sigma)
        return values[::-1].copy(), vectors[:, ::-1].copy()

    @property
    def eigenvalues(self) -> Float[np.ndarray, " d_y"]:
        """λ of Σ, the largest first."""
        return self._spectrum[0]

    @property
    def eigenvectors(self) -> Float[np.ndarray, "d_y d_y"]:
        """U, its columns in the order of the eigenvalues."""
        return self._spectrum[1]

    def loss(self, product: Product) -> float:
        """(1/2n)‖Y − WX‖²."""
        return float(np.sum((self.y - product @ self.x) ** 2) / (2 * self.samples))

    def level(self, indices: Iterable[int]) -> float:
        """Loss at the critical product U_I U_Iᵀ L*: (1/2n)[tr Σyy − Σ_{i∈I} λ_i]."""
        return (self.energy - float(self.eigenvalues[_checked(indices, self.outputs)].sum())) / (2 * self.samples)

    def critical_map(self, indices: Iterable[int]) -> Product:
        """W_I = U_I U_Iᵀ L*; `range(p)` gives the best map of rank p."""
        chosen = self.eigenvectors[:, _checked(indices, self.outputs)]
        return chosen @ (chosen.T @ self.best_map)

    def factor_loss(self, a: A, b: B) -> float:
        """(1/2n)‖Y − ABX‖² from the second moments: its cost does not depend on n."""
        product = a @ b
        square = np.sum((product @ self.sigma_xx) * product) - 2 * np.sum(product * self.sigma_yx)
        return float((self.energy + square) / (2 * self.samples))

    def factor_gradient(self, a: A, b: B) -> tuple[A, B]:
        """With R = ABΣxx − Σyx: (1/n) R Bᵀ with respect to A, (1/n) Aᵀ R with respect to B."""
        excess = (a @ b @ self.sigma_xx - self.sigma_yx) / self.samples
        return excess @ b.T, a.T @ excess

    def factor_hessian(self, a: A, b: B) -> Float[np.ndarray, "weights weights"]:
        """The Hessian in (A, B), each row by row: I ⊗ BΣxxBᵀ, AᵀA ⊗ Σxx and across A ⊗ BΣxx + R by unit, all /n."""
        d_y, p = a.shape
        d_x = b.shape[1]
        excess = a @ b @ self.sigma_xx - self.sigma_yx
        cross = np.kron(a, b @ self.sigma_xx).reshape(d_y, p, p, d_x)
        units = np.arange(p)
        cross[:, units, units, :] += excess[:, None, :]
        cross = cross.reshape(d_y * p, p * d_x)
        top = np.kron(np.eye(d_y), b @ self.sigma_xx @ b.T)
        low = np.kron(a.T @ a, self.sigma_xx)
        return np.block([[top, cross], [cross.T, low]]) / self.samples


def random_problem(
    d_x: int, d_y: int, n: int, *, key: Any, noise: float = 0.3, spectrum: Iterable[float] | None = None
) -> LinearProblem:
    """Gaussian inputs with a random covariance, outputs a random linear map of them and noise.

    With a `spectrum` the noise is made orthogonal to the inputs and Σ/n has exactly these d_y ≤ d_x eigenvalues.

    >>> import jax
    >>> problem = random_problem(4, 3, 50, key=jax.random.key(0), spectrum=(3.0, 2.0, 1.0))
    >>> (problem.eigenvalues / 50).round(6).tolist()
    [3.0, 2.0, 1.0]
    """
    if n < d_x:
        raise ValueError(f"random_problem got {n} samples of {d_x} inputs; give at least as many samples as inputs.")
    rng = data.generator(key)
    x = (np.eye(d_x) + 0.5 * rng.normal(size=(d_x, d_x)) / d_x**0.5) @ rng.normal(size=(d_x, n))
    mixing, extra = rng.normal(size=(d_y, d_x)), noise * rng.normal(size=(d_y, n))
    if spectrum is None:
        return LinearProblem(x, mixing / d_x**0.5 @ x + extra)
    values = np.asarray(tuple(spectrum), float)
    if d_y > d_x or values.shape != (d_y,) or (values < 0).any():
        raise ValueError(
            f"random_problem got the spectrum {values.tolist()} for {d_x} inputs and {d_y} outputs; give one number "
            "≥ 0 an output, and no more outputs than inputs."
        )
    white = np.linalg.qr(x.T)[0].T  # the row space of X, orthonormal
    u, _, v = np.linalg.svd(mixing, full_matrices=False)
    return LinearProblem(x, (u * (n * values) ** 0.5) @ v @ white + extra - extra @ white.T @ white)


def digits_autoencoder() -> LinearProblem:
    """Y = X: the 1797 digits over 16, centred, without the 3 constant pixels: 61 dimensions of full rank.

    >>> problem = digits_autoencoder()
    >>> problem.inputs, round(problem.level([]), 5), round(problem.level(range(4)), 5)
    (61, 2.34664, 1.2035)
    """
    return autoencoder_problem(data.digits().images)


def autoencoder_problem(rows: Float[np.ndarray, "n d"]) -> LinearProblem:
    """Y = X: the rows as columns, centred, without the coordinates that are constant."""
    centred = rows - rows.mean(0)
    x = centred[:, np.ptp(rows, axis=0) > 0].T.copy()
    return LinearProblem(x, x)


def _checked(indices: Iterable[int], outputs: int) -> list[int]:
    chosen = sorted(int(i) for i in indices)
    if len(set(chosen)) < len(chosen) or any(not 0 <= i < outputs for i in chosen):
        raise ValueError(f"The index set {chosen} is not one; give distinct indices from 0 to {outputs - 1}.")
    return chosen
