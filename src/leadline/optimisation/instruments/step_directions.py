"""Is a step one of descent? The cosine with −∇l, the slope it promises, and whether a tiny step really goes down."""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..objectives.any_loss import evaluate_points
from ..objectives.objective import Objective

Rows = Float[np.ndarray | Array, "_ _"]


class StepDirections(NamedTuple):
    """For each direction d at w: cos(d, −g), slope ⟨g, d⟩, and the loss at w + ε d/‖d‖ minus the loss at w.

    slope < 0 guarantees that l falls for small steps; `descends` says whether it does.
    """

    cosine: Float[np.ndarray, " k"]
    slope: Float[np.ndarray, " k"]
    change: Float[np.ndarray, " k"]

    @property
    def descends(self) -> np.ndarray:
        return self.slope < 0


def directions_of_steps(
    objective: Callable | Objective, points: Rows, directions: Rows, *, epsilon: float = 1e-6
) -> StepDirections:
    """What is to be said of any optimiser's steps `directions` at `points`; both in rows.

    >>> found = directions_of_steps(lambda w: w @ w / 2, jnp.array([[1.0, 0.0]]), jnp.array([[-2.0, 0.0]]))
    >>> round(float(found.cosine[0]), 6), round(float(found.slope[0]), 6)
    (1.0, -2.0)
    """
    points, directions = np.asarray(points), np.asarray(directions)
    lengths = np.linalg.norm(directions, axis=1)
    if points.shape != directions.shape or not np.all(np.isfinite(lengths)):
        raise ValueError(
            f"points have shape {points.shape}, directions {directions.shape}; give finite rows of one shape to both."
        )
    lengths = np.where(lengths > 0, lengths, 1.0)
    shifted = points + epsilon * directions / lengths[:, None]
    values, gradients = evaluate_points(objective, jnp.concatenate([jnp.asarray(points), jnp.asarray(shifted)]))
    k = len(points)
    slope = np.sum(gradients[:k] * directions, axis=1)
    norms = np.linalg.norm(gradients[:k], axis=1)
    cosine = -slope / (np.where(norms > 0, norms, 1.0) * lengths)
    return StepDirections(cosine, slope, values[k:] - values[:k])
