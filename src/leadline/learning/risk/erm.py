"""Empirical risk minimisation over a linear class, with the proof: does a minimiser exist, is it the only one."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import optax
from jaxtyping import Array, Float, Num, PyTree

from leadline.optimisation import newton_minimum
from leadline.optimisation.runs.newton_minimum import NewtonMinimum
from leadline.training import minimise

LINEAR_LOSSES = ("squared", "absolute", "logistic", "hinge")


class RiskMinimum(NamedTuple):
    """The least empirical risk over a class and how sure that is.

    `gap` bounds risk - inf: exactly for squared loss, by a dual solution for absolute and hinge loss, by half the
    squared Newton decrement (to leading order) for logistic loss. Without a minimiser `parameters` is a direction in
    which the risk falls for ever, and `risk` the infimum. `unique` is None where it was not decided.
    """

    parameters: Float[np.ndarray, " p"]
    risk: float
    exists: bool
    unique: bool | None
    gradient_norm: float
    gap: float
    null_space: Float[np.ndarray, "p k"]  # directions of the parameters that change no prediction on the sample


def minimise_risk(
    features: Num[Array | np.ndarray, "n p"], y: Num[Array | np.ndarray, " n"], *, loss: str = "squared"
) -> RiskMinimum:
    """argmin over θ of (1/n) Σ L(θ·φᵢ, yᵢ), exactly or with a bound on what is missing.

    Squared loss by SVD, absolute and hinge loss by linear programming, logistic loss by Newton's method. Labels
    are -1 or +1 for logistic and hinge loss. Logistic loss has a minimiser iff no direction u has
    yᵢ u·φᵢ ≥ 0 for all i and > 0 for some i (Albert and Anderson 1984), which a linear programme decides.

    >>> separable = minimise_risk(np.array([[1.0], [2.0]]), np.array([1.0, 1.0]), loss="logistic")
    >>> separable.exists, separable.risk
    (False, 0.0)
    >>> twins = minimise_risk(np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([1.0, 2.0]))
    >>> twins.exists, twins.unique, twins.parameters.round(9).tolist()
    (True, False, [0.5, 0.5])
    """
    X, y = np.asarray(features, float), np.asarray(y, float)
    if X.ndim != 2 or y.shape != X.shape[:1] or not y.size:
        raise ValueError(f"minimise_risk got features {X.shape} and targets {y.shape}; give (n, p) and (n,), n >= 1.")
    if loss not in LINEAR_LOSSES:
        raise ValueError(f"There is no solver for the loss '{loss}'; choose one of {', '.join(LINEAR_LOSSES)}.")
    if loss in ("logistic", "hinge") and not np.isin(y, (-1, 1)).all():
        raise ValueError(f"The {loss} loss needs labels -1 and +1; recode the targets as 2y - 1 if they are 0 and 1.")
    return {"squared": _squared, "absolute": _absolute, "hinge": _hinge, "logistic": _logistic}[loss](X, y)


class DescentEnd(NamedTuple):
    """Where a descent ended: nothing is known about the global minimum, so there is no gap."""

    model: Any
    losses: Float[Array, " steps"]
    risk: float
    gradient_norm: float


def descend_risk(
    objective: Callable[..., Any], start: PyTree, optimiser: optax.GradientTransformation, num_steps: int, *arrays: Any
) -> DescentEnd:
    """Empirical risk minimisation by a gradient method, for networks: reports the risk and gradient norm at the end.

    `objective(model, *arrays)` is the empirical risk.

    >>> import jax.numpy as jnp
    >>> end = descend_risk(lambda w, y: jnp.mean((w - y) ** 2), jnp.zeros(()), optax.sgd(0.25), 60, jnp.ones(3))
    >>> round(float(end.model), 6), end.gradient_norm < 1e-6
    (1.0, True)
    """
    import equinox as eqx

    model, losses = minimise(objective, start, optimiser, num_steps, *arrays)
    value, gradient = eqx.filter_jit(eqx.filter_value_and_grad(objective))(model, *arrays)
    squares = sum(float((leaf**2).sum()) for leaf in jax.tree.leaves(eqx.filter(gradient, eqx.is_inexact_array)))
    return DescentEnd(model, losses, float(value), float(np.sqrt(squares)))


def separated_count(
    features: Num[Array | np.ndarray, "n p"], y: Num[Array | np.ndarray, " n"]
) -> tuple[int, Float[np.ndarray, " p"]]:
    """The most examples that a direction u with yᵢ u·φᵢ ≥ 0 for all i puts strictly on their side, and such a u.

    By the linear programme max Σ sᵢ with 0 ≤ sᵢ ≤ 1, yᵢ u·φᵢ ≥ sᵢ. It is n for separable data, 0 for data that overlap.

    >>> count, _ = separated_count(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0, 1.0]))
    >>> count
    1
    """
    from scipy.optimize import linprog

    X, y = np.asarray(features, float), np.asarray(y, float)
    scale = np.abs(X).max(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    n, p = X.shape
    signed = y[:, None] * X / scale
    programme = linprog(
        c=np.concatenate([np.zeros(p), -np.ones(n)]),
        A_ub=np.hstack([-signed, np.eye(n)]),
        b_ub=np.zeros(n),
        bounds=[(None, None)] * p + [(0, 1)] * n,
        method="highs",
    )
    if programme.status != 0:
        raise RuntimeError(f"HiGHS did not solve the separation programme: {programme.message}")
    return int(np.sum(programme.x[p:] > 0.5)), programme.x[:p] / scale


def _squared(X: np.ndarray, y: np.ndarray) -> RiskMinimum:
    n = len(y)
    u, s, vt, kernel = _singular(X)
    parameters = vt.T @ ((u.T @ y) / s)
    residual = X @ parameters - y
    gradient = 2 / n * X.T @ residual
    gap = float(np.sum((u.T @ residual) ** 2) / n)  # R(θ) - min R = ‖P r‖²/n, P the projection on the columns of X
    return RiskMinimum(
        parameters, float(residual @ residual / n), True, kernel.shape[1] == 0, _norm(gradient), gap, kernel
    )


def _absolute(X: np.ndarray, y: np.ndarray) -> RiskMinimum:
    """max y·λ over |λ| ≤ 1, Xᵀλ = 0; the multipliers of the equations are the parameters."""
    parameters, dual = _box_programme(X, y, -1.0, 1.0)
    risk = float(np.mean(np.abs(y - X @ parameters)))
    return RiskMinimum(parameters, risk, True, None, np.nan, risk - dual, _singular(X)[3])


def _hinge(X: np.ndarray, y: np.ndarray) -> RiskMinimum:
    """max Σλ over 0 ≤ λ ≤ 1, Σ λᵢ yᵢ φᵢ = 0."""
    parameters, dual = _box_programme(y[:, None] * X, np.ones(len(y)), 0.0, 1.0)
    risk = float(np.mean(np.maximum(0.0, 1 - y * (X @ parameters))))
    return RiskMinimum(parameters, risk, True, None, np.nan, risk - dual, _singular(X)[3])


def _box_programme(X: np.ndarray, gain: np.ndarray, low: float, high: float) -> tuple[np.ndarray, float]:
    """max gain·λ/n over low ≤ λ ≤ high, Xᵀλ = 0: its multipliers, and its value made safe for rounding."""
    from scipy.optimize import linprog

    scale, unit = np.abs(X).max(axis=0), np.abs(gain).max()
    scale, unit = np.where(scale > 0, scale, 1.0), unit if unit > 0 else 1.0
    programme = linprog(
        c=-gain / unit,
        A_eq=(X / scale).T,
        b_eq=np.zeros(X.shape[1]),
        bounds=(low, high),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if programme.status != 0:
        raise RuntimeError(f"HiGHS did not solve the dual programme: {programme.message}")
    parameters = -programme.eqlin.marginals / scale * unit
    # The value of λ is a bound only as far as Xᵀλ = 0 holds; what is missing is charged at these parameters.
    missing = float(np.abs(X.T @ programme.x) @ np.abs(parameters))
    return parameters, (float(gain @ programme.x) - missing) / len(gain)


def _logistic(X: np.ndarray, y: np.ndarray) -> RiskMinimum:
    kernel = _singular(X)[3]
    count, direction = separated_count(X, y)
    if count:
        strict = y * (X @ direction) > 1e-7 * np.abs(X @ direction).max()
        rest = ~strict
        # What the direction leaves on the plane overlaps, and keeps its own minimum.
        infimum = _newton(X[rest], y[rest]).value * float(np.mean(rest)) if rest.any() else 0.0
        unit = direction / np.linalg.norm(direction)
        return RiskMinimum(unit, infimum, False, False, np.nan, np.nan, kernel)
    end = _newton(X, y)
    unique = kernel.shape[1] == 0
    return RiskMinimum(end.point, end.value, True, unique, _norm(end.gradient), end.decrement / 2, kernel)


def _newton(X: np.ndarray, y: np.ndarray) -> NewtonMinimum:
    """The least mean logistic loss, from 0 and hence in the row space of X."""
    from scipy.special import expit

    def derivatives(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wrong = expit(-y * (X @ theta))
        return -X.T @ (y * wrong) / len(y), (X * (wrong * (1 - wrong))[:, None]).T @ X / len(y)

    return newton_minimum(lambda theta: np.mean(np.logaddexp(0.0, -y * (X @ theta))), np.zeros(X.shape[1]), derivatives)


def _singular(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """U, s and Vᵀ of the range of X, and an orthonormal basis of its null space in columns."""
    n, p = X.shape
    u, s, vt = np.linalg.svd(X, full_matrices=n < p)
    rank = int(np.sum(s > max(n, p) * np.finfo(float).eps * s[0]))
    return u[:, :rank], s[:rank], vt[:rank], vt[rank:].T


def _norm(vector: np.ndarray) -> float:
    return float(np.linalg.norm(vector))
