"""How far a run has come: gap, distance, gradient norm, step and decrease at each iterate, and when they get small."""

from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from leadline._checks import require_numbers

from ..objectives.objective import Objective
from ..runs.descent import Descent
from .hessian_spectra import hessian_at

Numbers = Float[np.ndarray, " points"]


class ConvergenceMeasures(NamedTuple):
    """At each iterate: gap l − l*, distance ‖w − w*‖, ‖∇l‖ and its running minimum; between them: step and decrease.

    Under m-strong convexity and L-smoothness (m/2) distance² ≤ gap ≤ (L/2) distance².
    """

    gap: Numbers
    distance: Numbers
    gradient_norm: Numbers
    least_gradient_norm: Numbers
    step: Float[np.ndarray, " steps"]
    decrease: Float[np.ndarray, " steps"]

    def hitting_time(self, measure: Literal["gap", "distance", "gradient_norm"], level: float) -> int | None:
        """The first t at which the measure is at most `level` (ε-stationarity, for gradient_norm), or None."""
        found = np.flatnonzero(getattr(self, measure) <= level)
        return int(found[0]) if found.size else None


def measure_convergence(
    run: Descent, *, minimiser: Float[np.ndarray, " p"] | None = None, minimum: float | None = None
) -> ConvergenceMeasures:
    """All measures of a recorded run; gap or distance is not a number where l* or w* is not given.

    >>> run = Descent(jnp.array([[2.0], [1.0]]), jnp.array([2.0, 0.5]), jnp.array([[2.0], [1.0]]))
    >>> found = measure_convergence(run, minimiser=np.zeros(1), minimum=0.0)
    >>> found.gap.tolist(), found.distance.tolist(), found.step.tolist(), found.hitting_time("gradient_norm", 1.0)
    ([2.0, 0.5], [2.0, 1.0], [1.0], 1)
    """
    require_numbers("measure_convergence", minimiser=minimiser)
    points, values = np.asarray(run.points), np.asarray(run.values)
    centre = np.nan if minimiser is None else np.asarray(minimiser)
    norm = np.linalg.norm(np.asarray(run.gradients), axis=1)
    return ConvergenceMeasures(
        values - (np.nan if minimum is None else minimum),
        np.linalg.norm(points - centre, axis=1),
        norm,
        np.minimum.accumulate(norm),
        np.linalg.norm(np.diff(points, axis=0), axis=1),
        -np.diff(values),
    )


class StationaryPoint(NamedTuple):
    """What a point is: "minimum", "saddle", "maximum", "flat" (an eigenvalue near 0), or "moving" (‖∇l‖ > ε)."""

    kind: str
    gradient_norm: float
    least_curvature: float
    greatest_curvature: float


def classify_stationary(
    objective: Objective, w: Float[np.ndarray, " p"], epsilon: float, *, flat: float = 1e-8
) -> StationaryPoint:
    """Is w ε-stationary, and if so by the signs of the extreme curvatures a minimum, a saddle or a maximum?

    >>> from leadline.optimisation import Quadratic
    >>> classify_stationary(Quadratic(jnp.diag(jnp.array([1.0, -1.0])), jnp.zeros(2)), np.zeros(2), 1e-6).kind
    'saddle'
    """
    require_numbers("classify_stationary", w=w)
    point = jnp.asarray(w)
    norm = float(jnp.linalg.norm(objective.gradient(point)))
    least, greatest = (float(end) for end in hessian_at(objective, point).top(1, which="both").values)
    kind = "moving"
    if norm <= epsilon:
        kind = (
            "minimum"
            if least > flat
            else "maximum"
            if greatest < -flat
            else "saddle"
            if least < -flat and greatest > flat
            else "flat"
        )
    return StationaryPoint(kind, norm, least, greatest)
