"""Gradient descent on the two factors of a linear network: losses, and how much of each mode is learnt."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from leadline import data

from .linear_problem import LinearProblem


class FactorDescent(NamedTuple):
    """Loss and mode strengths before every step and after the last one, and the last factors.

    The strength of mode k is u_kᵀ AB Σxy u_k / λ_k: 1 where the mode is learnt, 0 where it is not, at every critical
    point; for an autoencoder it is u_kᵀ AB u_k.
    """

    losses: Float[np.ndarray, " times"]
    strengths: Float[np.ndarray, "times d_y"]
    a: Float[np.ndarray, "d_y p"]
    b: Float[np.ndarray, "p d_x"]

    def passages(self, share: float = 0.5) -> Int[np.ndarray, " d_y"]:
        """The first step at which each mode has this share of its strength; -1 for a mode that never has it."""
        above = self.strengths >= share
        return np.where(above.any(0), above.argmax(0), -1)


def gaussian_factors(
    problem: LinearProblem, width: int, scale: float, *, key: Any
) -> tuple[Float[np.ndarray, "d_y p"], Float[np.ndarray, "p d_x"]]:
    """A and B with independent entries N(0, `scale`²): the small start from which the modes are learnt one by one.

    >>> import jax
    >>> a, b = gaussian_factors(LinearProblem(np.eye(3), np.eye(3)), 2, 1e-30, key=jax.random.key(0))
    >>> a.shape, b.shape
    ((3, 2), (2, 3))
    """
    if width < 1:
        raise ValueError(f"gaussian_factors got width {width}; give at least one hidden unit.")
    rng = data.generator(key)
    return scale * rng.normal(size=(problem.outputs, width)), scale * rng.normal(size=(width, problem.inputs))


def descend_factors(
    problem: LinearProblem,
    a: Float[np.ndarray, "d_y p"],
    b: Float[np.ndarray, "p d_x"],
    step_size: float,
    num_steps: int,
) -> FactorDescent:
    """(A, B) ← (A, B) - η ∇l(A, B) on l = (1/2n)‖Y - ABX‖², in double precision on the second moments.

    >>> problem = LinearProblem(np.eye(2), np.diag([3.0, 2.0]))
    >>> run = descend_factors(problem, np.array([[0.1], [0.1]]), np.array([[0.1, 0.1]]), 0.1, 400)
    >>> round(run.losses[-1], 6), run.strengths[-1].round(6).tolist()
    (np.float64(1.0), [1.0, 0.0])
    """
    if a.shape[0] != problem.outputs or b.shape[1] != problem.inputs or a.shape[1] != b.shape[0]:
        raise ValueError(
            f"descend_factors got A of shape {a.shape} and B of shape {b.shape}; this problem needs "
            f"({problem.outputs}, p) and (p, {problem.inputs})."
        )
    if not step_size > 0 or num_steps < 0:
        raise ValueError(
            f"descend_factors got step {step_size} and {num_steps} steps; give a positive step and 0 or more."
        )
    n, best = problem.samples, problem.best_map
    moment, cross = problem.sigma_xx / n, problem.sigma_yx / n
    values, vectors = problem.eigenvalues / n, problem.eigenvectors
    seen = values > 1e-12 * values[0]
    towards = cross.T @ vectors / np.where(seen, values, np.inf)  # Σxy u_k / λ_k, in columns
    least = problem.loss(best)
    a, b = a.astype(float), b.astype(float)
    losses, strengths = np.empty(num_steps + 1), np.empty((num_steps + 1, problem.outputs))
    for time in range(num_steps + 1):
        error = a @ b - best
        residual = error @ moment
        losses[time] = least + 0.5 * np.vdot(residual, error)
        strengths[time] = np.einsum("kp,pk->k", vectors.T @ a, b @ towards)
        if time < num_steps:
            a, b = a - step_size * residual @ b.T, b - step_size * a.T @ residual
    return FactorDescent(losses, strengths, a, b)
