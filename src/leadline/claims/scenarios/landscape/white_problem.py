"""Linear problems with white inputs."""

import numpy as np

from leadline.landscape import deep_linear


def white_problem(key, inputs: int, n: int, spectrum: np.ndarray, noise: float = 0.3) -> deep_linear.LinearProblem:
    """XXᵀ = nI, one output for each eigenvalue in `spectrum` of Σ/n, whose roots are the singular values of L*."""
    drawn = deep_linear.random_problem(inputs, len(spectrum), n, key=key, spectrum=spectrum, noise=noise)
    return deep_linear.LinearProblem(np.linalg.solve(np.linalg.cholesky(drawn.sigma_xx / n), drawn.x), drawn.y)
