"""How many directions the data determine: eigenvalues above a threshold, and their smooth count Σ λ/(λ + a)."""

import numpy as np
from jaxtyping import Array, Float, Int

Values = Float[np.ndarray | Array, " k"]


def stiff_count(eigenvalues: Values, threshold: float | Float[np.ndarray, " t"]) -> Int[np.ndarray, "*t"]:
    """N(t) = #{λₖ > t}.

    >>> stiff_count(np.array([4.0, 1.0, 0.1]), np.array([0.5, 2.0, 5.0])).tolist()
    [2, 1, 0]
    """
    values = np.asarray(eigenvalues)
    return np.asarray(np.sum(values > np.asarray(threshold)[..., None], axis=-1))


def effective_dimension(eigenvalues: Values, scale: float | Float[np.ndarray, " t"]) -> Float[np.ndarray, "*t"]:
    """Σ λₖ/(λₖ + a): the degrees of freedom of a fit with penalty a (MacKay's well-determined parameters).

    With a Gaussian prior of deviation τ and n samples, a = 1/(n τ²) for eigenvalues per sample (`prior_scale`).

    >>> effective_dimension(np.array([1.0, 1.0, 0.0]), 1.0).item()
    1.0
    """
    values, a = np.asarray(eigenvalues), np.asarray(scale)[..., None]
    if not np.all(a > 0):
        raise ValueError("The scale a must be positive; at 0 the effective dimension is the rank.")
    if np.any(values < 0):
        raise ValueError(f"An eigenvalue is {values.min():.3g}; give those of a positive semidefinite matrix.")
    return np.asarray(np.sum(values / (values + a), axis=-1))


def prior_scale(samples: int, deviation: float) -> float:
    """a = 1/(n τ²): the eigenvalue at which n samples tell as much as a prior of deviation τ.

    >>> prior_scale(8, 0.5)
    0.5
    """
    if samples < 1 or not deviation > 0:
        raise ValueError(
            f"Got {samples} samples and deviation {deviation}; give at least one sample and a deviation > 0."
        )
    return 1.0 / (samples * deviation**2)
