"""When gradient descent from given small factors learns each mode of a linear network."""

import numpy as np
from jaxtyping import Float

from .linear_problem import LinearProblem


def passage_times(
    problem: LinearProblem, a: Float[np.ndarray, "d_y p"], b: Float[np.ndarray, "p d_x"], *, step_size: float = 0.0
) -> Float[np.ndarray, " modes"]:
    """Times at which modes 1 … p pass half strength, from small factors A, B: t_k = ln(1/r_k - 1)/(2 s_k).

    Where Σxx and Σyx/n = Σ s_k u_k v_kᵀ have the directions v_k in common (white inputs, autoencoders) mode k grows
    alone, at the rate 2 s_k towards s_k/c_k, c_k the variance along v_k. It begins at r_k = (c_k/s_k)|h_k|², where
    h_k = (Aᵀu_k + Bv_k)/2 without its part along h_1 … h_{k-1}: those hidden directions are taken when its turn comes.
    With a `step_size` η of descent the growth s_k becomes ln(1 + η s_k)/η; time is then η times the number of steps.

    >>> problem = LinearProblem(np.eye(2), np.diag([4.0, 2.0]))
    >>> times = passage_times(problem, 1e-6 * np.eye(2), 1e-6 * np.eye(2))
    >>> times.round(2).tolist()  # ln(4e12)/4 and ln(2e12)/2
    [7.25, 14.16]
    """
    n, width = problem.samples, a.shape[1]
    modes = min(width, problem.outputs, problem.inputs)
    left = problem.eigenvectors
    reached = problem.sigma_yx.T @ left / n  # s_k v_k, in columns
    rates = np.linalg.norm(reached, axis=0)
    order = np.argsort(-rates)[:modes]
    rates, left, right = rates[order], left[:, order], reached[:, order] / rates[order]
    variances = np.einsum("ik,ij,jk->k", right, problem.sigma_xx / n, right)
    if not np.allclose(problem.sigma_xx @ right / n, right * variances, atol=1e-8 * variances.max()):
        raise ValueError(
            "passage_times needs inputs whose covariance has the modes as eigenvectors; whiten the inputs, or use an "
            "autoencoder problem."
        )
    hidden = (a.T @ left + b @ right) / 2
    size = np.abs(hidden).max()
    overlaps = size * np.abs(np.diag(np.linalg.qr(hidden / size, mode="r")))  # Gram-Schmidt: what is left of each
    first = variances / rates * overlaps**2
    if np.any(first >= 0.5):
        raise ValueError("These factors begin beyond half the strength of a mode; passage_times is for small ones.")
    growth = np.log1p(step_size * rates) / step_size if step_size > 0 else rates
    return np.log(1 / first - 1) / (2 * growth)
