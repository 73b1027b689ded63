"""Inputs in other units: standardised or logarithmic, and what the scaling does to gradient descent."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Real

from leadline._arrays import namespace
from leadline._checks import require

from .regression.linear import design, sample


class Standardised(NamedTuple):
    """Columns with mean 0 and mean square 1, and the mean and scale that undo it: x = values · scale + mean."""

    values: Float[Array | np.ndarray, "n d"]
    mean: Float[Array | np.ndarray, " d"]
    scale: Float[Array | np.ndarray, " d"]


def standardise(x: Real[Array | np.ndarray, "n d"]) -> Standardised:
    """(x − mean)/sd in every column; a constant column becomes 0.

    >>> standardise(np.array([[1.0, 5.0], [3.0, 5.0]])).values.tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    require("standardise", axes=2, x=x)
    xp = namespace(x)
    mean, spread = x.mean(axis=0), x.std(axis=0)
    scale = xp.where(spread > 0, spread, 1.0)
    return Standardised((x - mean) / scale, mean, scale)


def log_inputs(x: Real[np.ndarray, "n d"], *, plus_one: bool = False) -> Float[np.ndarray, "n d"]:
    """log x of positive inputs, or log(1 + x) of inputs that may be 0.

    >>> log_inputs(np.array([[1.0, np.e]])).tolist()
    [[0.0, 1.0]]
    """
    x = np.asarray(x, float)
    if not np.all(x >= 0 if plus_one else x > 0):
        allowed = "at least 0" if plus_one else "above 0; plus_one=True takes log(1 + x), which allows 0"
        raise ValueError(f"log_inputs got a value of {np.nanmin(x):g}; give inputs {allowed}.")
    return np.log1p(x) if plus_one else np.log(x)


class DescentCurve(NamedTuple):
    """Gradient descent on (1/n)‖Xw − y‖² from w = 0 with step 1/L, solved exactly.

    The excess loss after t steps is Σᵢ excessᵢ (1 − λᵢ/L)^(2t) over the Hessian's eigenvalues λᵢ > 0, L the largest.
    """

    eigenvalues: Float[np.ndarray, " p"]
    excess: Float[np.ndarray, " p"]

    @property
    def condition(self) -> float:
        """L/μ, the condition number of the Hessian (of XᵀX)."""
        return float(self.eigenvalues.max() / self.eigenvalues.min())

    def excess_after(self, steps: Real[np.ndarray, "*t"]) -> Float[np.ndarray, "*t"]:
        """Loss minus its minimum after each number of steps."""
        with np.errstate(divide="ignore"):
            rate = 2 * np.log1p(-self.eigenvalues / self.eigenvalues.max())
        t = np.asarray(steps, float)[..., None]
        decay = np.exp(np.where(t > 0, t * np.where(t > 0, rate, 0.0), 0.0))  # no 0 · ∞ before the first step
        return np.asarray(np.sum(self.excess * decay, axis=-1))

    def steps_to(self, accuracy: float) -> int:
        """The least number of steps after which the excess is at most `accuracy` times the first one."""
        goal, high = accuracy * self.excess.sum(), 1
        while self.excess_after(np.array(high)) > goal:
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.excess_after(np.array(middle)) > goal else (low, middle)
        return high


def descent_curve(x: Real[np.ndarray, "n d"], y: Real[np.ndarray, " n"], *, intercept: bool = True) -> DescentCurve:
    """How gradient descent on least squares converges, from the singular values of X.

    >>> law = descent_curve(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([0.0, 1.0]), intercept=False)
    >>> law.condition, law.excess_after(np.array([0, 1])).tolist()
    (4.0, [0.5, 0.28125])
    """
    x, y = (np.asarray(part) for part in sample(np.asarray(x), np.asarray(y))[1:])
    matrix = design(x, intercept=intercept)
    n = len(y)
    u, s, _ = np.linalg.svd(matrix, full_matrices=False)
    kept = s > max(matrix.shape) * np.finfo(s.dtype).eps * s[0]
    return DescentCurve(2 * s[kept] ** 2 / n, (u.T @ y)[kept] ** 2 / n)
