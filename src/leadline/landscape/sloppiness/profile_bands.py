"""Prediction bands: every value f(x; w) that weights of nearly the least cost give."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from .models.regression_models import RegressionModel

Vector = Float[np.ndarray, " _"]


@dataclass(frozen=True)
class PredictionBand:
    """Least and greatest f(x; w) over {C(w) ≤ C_min + tol} at each x, and the weights that reach them."""

    inputs: Float[np.ndarray, " k"]
    best: Float[np.ndarray, " k"]
    low: Float[np.ndarray, " k"]
    high: Float[np.ndarray, " k"]
    low_weights: Float[np.ndarray, "k p"]
    high_weights: Float[np.ndarray, "k p"]

    @property
    def widths(self) -> Float[np.ndarray, " k"]:
        """high − low: the width of the manifold's slice in the new direction x (variance)."""
        return self.high - self.low

    def distance(self, truth: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
        """How far outside the band a curve lies (bias); 0 inside."""
        return np.maximum(np.maximum(self.low - truth, truth - self.high), 0.0)


def linear_half_width(
    model: RegressionModel,
    w: Float[np.ndarray, " p"],
    inputs: Float[np.ndarray, " k"],
    tol: float,
    deviation: float = 1.0,
) -> Float[np.ndarray, " k"]:
    """√(2 tol ∇f(x)ᵀ g⁺ ∇f(x)): half the band of the linearised model, g = JᵀJ/(nσ²) at the data; by SVD.

    Exact for linear models; unreliable along sloppy directions, where the cost is far from quadratic over the band.

    >>> from leadline.landscape.sloppiness import polynomial_model
    >>> model = polynomial_model(np.array([-1.0, 1.0]), 1)
    >>> linear_half_width(model, np.zeros(2), np.array([0.0, 3.0]), 0.5).round(6).tolist()
    [1.0, 3.162278]
    """
    _, s, vt = np.linalg.svd(model.jacobian(w) / (np.sqrt(len(model.inputs)) * deviation), full_matrices=False)
    kept = s > 1e-13 * s[0]
    directions = (model.at(inputs).jacobian(w) @ vt[kept].T) / s[kept]
    return np.sqrt(2 * tol) * np.linalg.norm(directions, axis=1)


def profile_band(
    model: RegressionModel,
    y: Float[np.ndarray, " n"],
    best: Float[np.ndarray, " p"],
    inputs: Float[np.ndarray, " k"],
    tol: float,
    deviation: float = 1.0,
) -> PredictionBand:
    """The exact band: f(x; w) made least and greatest under C(w) ≤ C(best) + tol, C = (1/2n) Σ r² (profile likelihood).

    By sequential quadratic programming (SLSQP) in coordinates that make the linearised set the unit ball, from the
    linearised solution and from that of the neighbouring x; both ends are local optima, hence inside the true band.

    >>> from leadline.landscape.sloppiness import polynomial_model
    >>> model = polynomial_model(np.array([-1.0, 1.0]), 1)
    >>> profile_band(model, np.zeros(2), np.zeros(2), np.array([3.0]), 0.5).high.round(6).tolist()
    [3.162278]
    """
    if tol <= 0:
        raise ValueError(f"tol = {tol} leaves the best fit alone; give a positive tolerance of the cost.")
    _, s, vt = np.linalg.svd(model.jacobian(best) / (np.sqrt(len(y)) * deviation), full_matrices=False)
    ball = np.sqrt(2 * tol) * vt.T / np.maximum(s, 1e-10 * s[0])  # w = best + ball @ u
    middle = model.predict(best)

    def room(u):
        f = model.predict(best + ball @ u)
        excess = np.mean((f - middle) * (f + middle - 2 * y)) / (2 * deviation**2)  # C − C(best), without cancellation
        return 1 - min(float(np.nan_to_num(excess, nan=np.inf)), 1e100) / tol

    def room_slope(u):
        w = best + ball @ u
        return ball.T @ (model.jacobian(w).T @ (y - model.predict(w))) / (len(y) * deviation**2 * tol)

    ends: dict[float, list[Vector]] = {-1.0: [], 1.0: []}
    with np.errstate(over="ignore", invalid="ignore"):  # a trial step may go too far and is taken back
        for sign, found in ends.items():
            for x in np.asarray(inputs, float):
                one = model.at(np.array([x]))
                starts = [sign * _unit(ball.T @ one.jacobian(best)[0]), *found[-1:]]
                found.append(_extreme(one, sign, best, ball, starts, room, room_slope))
    low, high = (best + np.stack(found) @ ball.T for found in ends.values())
    wanted = model.at(inputs)
    rows = np.arange(len(inputs))
    reached = (wanted.predict(low)[rows, rows], wanted.predict(high)[rows, rows])
    return PredictionBand(np.asarray(inputs, float), wanted.predict(best), *reached, low, high)


def _extreme(one: RegressionModel, sign: float, best, ball, starts, room, room_slope) -> Vector:
    """u with the greatest sign · f(x; best + ball u) where room(u) ≥ 0."""
    from scipy.optimize import minimize

    reach = float(np.linalg.norm(ball.T @ one.jacobian(best)[0])) or 1.0

    def value(u):
        return -sign * one.predict(best + ball @ u)[0] / reach

    def slope(u):
        return -sign * (ball.T @ one.jacobian(best + ball @ u)[0]) / reach

    constraint = {"type": "ineq", "fun": room, "jac": room_slope}
    leader = np.zeros(ball.shape[1])
    for u in starts:
        while room(u) < -1:
            u = u / 2
        found = minimize(
            value, u, jac=slope, constraints=constraint, method="SLSQP", options={"ftol": 1e-13, "maxiter": 200}
        )
        if np.isfinite(found.x).all() and room(found.x) >= -1e-6 and value(found.x) < value(leader):
            leader = found.x
    return leader


def _unit(v: Vector) -> Vector:
    return v / max(float(np.linalg.norm(v)), np.finfo(float).tiny)
