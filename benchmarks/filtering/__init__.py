"""The Kalman filter over a long series, as a scan and as a loop, against statsmodels."""

import numpy as np

from ..harness.case import LEADLINE, Case, Inputs, Side, Work

LENGTH = 100_000


def local_level() -> Inputs:
    """A random walk seen through noise, with the Nile's variances."""
    return _series(np.eye(1), np.eye(1), np.array([[1469.1]]), np.array([[15099.0]]))


def local_trend() -> Inputs:
    """A level with a slope that wanders."""
    return _series(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]]), np.diag([1.0, 0.01]), np.array([[25.0]]))


def _series(A: np.ndarray, C: np.ndarray, Q: np.ndarray, R: np.ndarray) -> Inputs:
    rng = np.random.default_rng(0)
    moves = rng.normal(size=(LENGTH, len(A))) @ np.sqrt(Q)
    h, xs = np.zeros(len(A)), np.empty((LENGTH, 1))
    for t in range(LENGTH):
        h = A @ h + moves[t]
        xs[t] = C @ h
    xs += rng.normal(size=xs.shape) * np.sqrt(R[0, 0])
    return {"A": A, "C": C, "Q": Q, "R": R, "xs": xs}


def _sides(method: str) -> tuple[Side, ...]:
    return (
        Side(LEADLINE, "benchmarks.filtering.leadline_filter", "filtered", settings={"method": method}),
        Side("statsmodels", "benchmarks.filtering.statsmodels_filter", "filtered", "statsmodels"),
    )


REASONS = {
    "loop": "with one state the loop is one kernel; with two XLA makes thirty of a step (1 µs), because it joins a "
    "loop in one kernel only where a step touches less than 1 kB, and written out by components a step took as long. "
    "statsmodels stops computing variances once they have settled.",
    "scan": "the scan does more than twice the work of the loop, vectorised over blocks; statsmodels stops computing "
    "variances once they have settled.",
}

CASES = [
    Case(
        f"Kalman filter as a {method}, {name}, 100,000 observations",
        _sides(method),
        inputs,
        tolerance=1e-9,
        asked=5.0,
        # Means, covariances, their predictions, innovations, gains and likelihoods are written once.
        work=Work(0.0, 8.0 * LENGTH * (3 * d + 2 * d * d + 3), precision="float64"),
        reason=REASONS[method],
    )
    for name, inputs, d in (("local level", local_level, 1), ("local linear trend", local_trend, 2))
    for method in ("loop", "scan")
]
