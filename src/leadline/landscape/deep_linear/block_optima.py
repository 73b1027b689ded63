"""Least squares in one factor of AB with the other held, and without factors."""

import numpy as np
from jaxtyping import Float

from .linear_problem import LinearProblem


def least_squares_map(x: Float[np.ndarray, "d_x n"], y: Float[np.ndarray, "d_y n"]) -> Float[np.ndarray, "d_y d_x"]:
    """argmin_L ‖Y - LX‖² = YX⁺: Σyx Σxx⁻¹ where Σxx is invertible, the minimiser of least norm otherwise; by SVD.

    >>> least_squares_map(np.array([[1.0], [1.0]]), np.array([[2.0]])).round(6).tolist()
    [[1.0, 1.0]]
    """
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"least_squares_map got {x.shape[1]} inputs and {y.shape[1]} outputs; give a column for each.")
    return np.linalg.lstsq(x.T, y.T, rcond=None)[0].T


def best_encoder(problem: LinearProblem, a: Float[np.ndarray, "d_y p"]) -> Float[np.ndarray, "p d_x"]:
    """argmin_B (1/2n)‖Y - ABX‖² = A⁺L*, which is (AᵀA)⁻¹AᵀΣyxΣxx⁻¹ for A of rank p; else the one of least norm.

    >>> problem = LinearProblem(np.eye(2), np.diag([3.0, 2.0]))
    >>> best_encoder(problem, np.array([[1.0], [0.0]])).round(6).tolist()
    [[3.0, 0.0]]
    """
    if a.shape[0] != problem.outputs:
        raise ValueError(f"best_encoder got A with {a.shape[0]} rows; the problem has {problem.outputs} outputs.")
    return np.linalg.lstsq(a, problem.best_map, rcond=None)[0]


def best_decoder(problem: LinearProblem, b: Float[np.ndarray, "p d_x"]) -> Float[np.ndarray, "d_y p"]:
    """argmin_A (1/2n)‖Y - ABX‖² = ΣyxBᵀ(BΣxxBᵀ)⁻¹ for B of rank p; else the one of least norm.

    >>> problem = LinearProblem(np.eye(2), np.diag([3.0, 2.0]))
    >>> best_decoder(problem, np.array([[0.0, 1.0]]))[1].round(6).tolist()
    [2.0]
    """
    if b.shape[1] != problem.inputs:
        raise ValueError(f"best_decoder got B with {b.shape[1]} columns; the problem has {problem.inputs} inputs.")
    root = np.linalg.cholesky(problem.sigma_xx)  # ‖(AB - L*)C‖² with CCᵀ = Σxx: no squared condition number
    return np.linalg.lstsq((b @ root).T, (problem.best_map @ root).T, rcond=None)[0].T
