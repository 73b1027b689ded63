"""Exact minimisers of regression losses: the best constant, and the best affine function of the inputs."""

from typing import Literal

import numpy as np
from jaxtyping import Array, Float, Real

RegressionLoss = Literal["squared", "absolute", "huber", "pinball", "epsilon_insensitive"]
Targets = Real[Array | np.ndarray, " _"]


def best_constant(y: Targets, loss: RegressionLoss, shape: float | None = None) -> float:
    """The c that minimises Σ_i loss(c, yᵢ): mean, median, Huber's constant, τ-quantile, or the middle of a band.

    `shape` is δ of "huber", τ of "pinball", ε of "epsilon_insensitive". Huber's constant solves
    Σ clip(yᵢ - c, -δ, δ) = 0 and moves from the median (δ → 0) to the mean (δ → ∞). Where the minimisers fill an
    interval its middle is returned. Every one is found exactly among the points where the slope of the sum jumps or
    bends, or on the line between two of them.

    >>> y = np.array([0.0, 1.0, 2.0, 100.0])
    >>> [best_constant(y, "squared"), best_constant(y, "absolute"), round(best_constant(y, "huber", 1.0), 9)]
    [25.75, 1.5, 1.5]
    """
    y = _finite(y)
    if loss == "squared":
        return float(y.mean())
    if loss == "huber":
        return _huber_constant(y, _shape(loss, shape))
    above, below, band = _slopes(loss, shape)
    jumps = np.sort(np.concatenate([y - band, y + band]) if band else y)
    objective = np.array([_sum(jump, y, above, below, band) for jump in jumps])
    flat = np.flatnonzero(objective <= objective.min() * (1 + 1e-12))
    return float((jumps[flat[0]] + jumps[flat[-1]]) / 2)


def fit_affine(
    x: Real[Array | np.ndarray, "n d"], y: Targets, loss: RegressionLoss, shape: float | None = None
) -> Float[np.ndarray, " p"]:
    """(w, b) that minimises Σ_i loss(w·xᵢ + b, yᵢ) exactly, the bias last.

    Piecewise linear losses are linear programmes (HiGHS); Huber's is solved by Newton's method with step halving,
    which is exact once the set of residuals within δ no longer changes (Madsen and Nielsen 1990).

    >>> x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 3.0, 5.0, 100.0])
    >>> fit_affine(x, y, "absolute").round(9).tolist(), fit_affine(x, y, "squared").round(9).tolist()
    ([2.0, 1.0], [29.9, -17.6])
    """
    x, y = np.asarray(x, float), _finite(y)
    if x.ndim != 2 or len(x) != len(y):
        raise ValueError(f"fit_affine got x of shape {x.shape} for {len(y)} targets; give one row of x a target.")
    matrix = np.column_stack([x, np.ones(len(x))])
    if loss == "squared":
        return np.linalg.lstsq(matrix, y)[0]
    if loss == "huber":
        return _huber_fit(matrix, y, _shape(loss, shape))
    return _programme(matrix, y, *_slopes(loss, shape))


def _programme(matrix: np.ndarray, y: np.ndarray, above: float, below: float, band: float) -> np.ndarray:
    """min Σ above·u_i + below·vᵢ subject to u_i - vᵢ = r_i - sᵢ, |sᵢ| ≤ band, u, v ≥ 0."""
    import scipy.sparse
    from scipy.optimize import linprog

    n, p = matrix.shape
    eye = scipy.sparse.eye_array(n)
    found = linprog(
        c=np.concatenate([np.zeros(p), np.full(n, above), np.full(n, below), np.zeros(n)]),
        A_eq=scipy.sparse.hstack([scipy.sparse.csr_array(matrix), eye, -eye, eye]),
        b_eq=y,
        bounds=[(None, None)] * p + [(0, None)] * (2 * n) + [(-band, band)] * n,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        raise RuntimeError(f"HiGHS did not solve the regression programme: {found.message}")
    return found.x[:p]


def _huber_fit(matrix: np.ndarray, y: np.ndarray, delta: float) -> np.ndarray:
    """Newton's method from the least-squares fit, first with a delta that spares all residuals, then with less."""
    w = np.linalg.lstsq(matrix, y)[0]
    widest = max(float(np.abs(y - matrix @ w).max()), delta)
    stages = 1 + int(np.ceil(np.log(widest / delta) / np.log(3)))
    for smaller in np.geomspace(widest, delta, stages) if stages > 1 else [delta]:
        w = _huber_newton(matrix, y, float(smaller), w)
    return w


def _huber_newton(matrix: np.ndarray, y: np.ndarray, delta: float, w: np.ndarray) -> np.ndarray:
    small = 1e-13 * delta * np.abs(matrix).sum(axis=0)
    for _ in range(200):
        r = y - matrix @ w
        gradient = matrix.T @ np.clip(r, -delta, delta)
        if (np.abs(gradient) <= small).all():
            break
        inside = matrix[np.abs(r) <= delta]
        curvature = inside.T @ inside
        step = np.linalg.lstsq(curvature, gradient, rcond=1e-10)[0]
        rest = gradient - curvature @ step
        if np.linalg.norm(rest) > 1e-8 * np.linalg.norm(gradient):
            step = step + rest  # no residual within delta sees this direction: go down along it
        along = matrix @ step
        size = _root_along(r, along, delta)
        if size == 0:
            break
        w = w + size * step
    return w


def _root_along(r: np.ndarray, along: np.ndarray, delta: float) -> float:
    """The t > 0 at which Σ huber(r - t·along) is least: a root of its slope, which rises and is piecewise linear."""
    moving = along != 0
    ends = np.concatenate([(r[moving] - delta) / along[moving], (r[moving] + delta) / along[moving]])
    bends = np.unique(np.append(ends[ends > 0], 0.0))

    def slope(t: float) -> float:
        return float(-np.clip(r - t * along, -delta, delta) @ along)

    low, high = 0, len(bends) - 1
    if slope(bends[low]) >= 0:
        return 0.0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if slope(bends[middle]) < 0 else (low, middle)
    between = r - (bends[low] + bends[high]) / 2 * along
    inside = np.abs(between) <= delta
    curvature = float(along[inside] @ along[inside])
    outside = delta * np.sign(between[~inside]) @ along[~inside]
    return float((r[inside] @ along[inside] + outside) / curvature) if curvature > 0 else float(bends[high])


def _sum(c: float, y: np.ndarray, above: float, below: float, band: float) -> float:
    r = y - c
    return float((above * np.maximum(r - band, 0) + below * np.maximum(-r - band, 0)).sum())


def _huber_constant(y: np.ndarray, delta: float) -> float:
    """The middle of the set where Σ clip(y - c, -δ, δ), which falls with c and is piecewise linear, is 0."""
    bends = np.unique(np.concatenate([y - delta, y + delta]))
    pull = np.clip(y - bends[:, None], -delta, delta).sum(axis=1)
    tiny = 1e-14 * np.abs(pull).max()
    before, after = np.flatnonzero(pull > tiny).max(), np.flatnonzero(pull < -tiny).min()
    if after - before > 1:
        return float((bends[before + 1] + bends[after - 1]) / 2)
    r = y - (bends[before] + bends[after]) / 2
    inside = np.abs(r) <= delta
    return float((y[inside].sum() + delta * np.sign(r[~inside]).sum()) / inside.sum())


def _slopes(loss: str, shape: float | None) -> tuple[float, float, float]:
    """(slope above, slope below, half-width of the free band) of a piecewise linear loss."""
    if loss == "absolute":
        return 1.0, 1.0, 0.0
    if loss == "epsilon_insensitive":
        return 1.0, 1.0, _shape(loss, shape)
    if loss == "pinball":
        tau = _shape(loss, shape)
        if tau >= 1:
            raise ValueError(f"The pinball level is {tau}; it must lie strictly between 0 and 1.")
        return tau, 1 - tau, 0.0
    names = ", ".join(RegressionLoss.__args__)
    raise ValueError(f"There is no regression loss called {loss!r} here; choose one of {names}.")


def _shape(loss: str, shape: float | None) -> float:
    if shape is None or not shape > 0:
        raise ValueError(f"The loss {loss!r} needs its shape parameter, a number above 0; it got {shape}.")
    return float(shape)


def _finite(y) -> np.ndarray:
    y = np.asarray(y, float)
    if y.ndim != 1 or y.size == 0 or not np.isfinite(y).all():
        raise ValueError(f"The targets have shape {y.shape}; expected one row of finite numbers, at least one.")
    return y
