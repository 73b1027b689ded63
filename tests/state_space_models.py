"""Models whose filters are checked against conditioning on the whole past, and series with and without gaps."""

import numpy as np

from leadline.sequences import LinearGaussian, linear_gaussian

TURN = 0.97 * np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]])
FULL = np.random.default_rng(0).normal(size=(4, 4))


def models() -> dict[str, LinearGaussian]:
    """Scalar and vector models: stationary, growing, with singular Q, with as many and fewer observations as states."""
    return {
        "scalar": linear_gaussian(0.95, 1.0, 0.1, 1.0),
        "unit root": linear_gaussian(1.0, 1.0, 0.2, 0.5, 3.0, 2.0),
        "growing": linear_gaussian(-1.05, 2.0, 0.2, 0.5, 0.0, 1.0),
        "rotation": linear_gaussian(TURN, np.array([[1.0, 0.0]]), np.diag([0.2, 0.1]), 0.5),
        "autoregression of order 2": linear_gaussian(
            np.array([[0.5, 0.3], [1.0, 0.0]]), np.array([[1.0, 0.0]]), np.diag([1.0, 0.0]), 0.3
        ),
        "four states, three observations": linear_gaussian(
            0.9 * FULL / np.abs(np.linalg.eigvals(FULL)).max(), FULL[:3], FULL @ FULL.T / 4, np.eye(3) + 0.3
        ),
    }


def series(model: LinearGaussian, length: int, *, gaps: bool) -> np.ndarray:
    """Numbers of any kind: conditioning does not ask where they come from."""
    rng = np.random.default_rng(1)
    xs = 2 * rng.normal(size=(length, len(model.C)))
    if gaps:
        xs[rng.random(xs.shape) < 0.3] = np.nan
        xs[3] = np.nan
    return xs
