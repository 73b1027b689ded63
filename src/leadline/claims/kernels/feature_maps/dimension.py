"""What dimension costs: nearest neighbours move apart, margins do not care."""

import numpy as np

from leadline import data
from leadline.evidence import Int, Real, at_most, claim, close, mean, slope
from leadline.kernels.features.neighbours import (
    asymptotic_neighbour_distance,
    mean_neighbour_distance,
    torus_neighbour_distances,
)
from leadline.linear_classifiers import margins, perceptrons
from leadline.presentation import figure

_DIMS = (1, 2, 4, 8, 12)


@claim(sources=("penn",))
def curse_of_dimensionality(key, samples: Int(1600, 8000) = 8000, margin: Real(0.15, 0.5) = 0.2):
    r"""Curse of dimensionality.

    Among n uniform points of the d-torus the nearest neighbour is $\Gamma(1 + 1/d)\,(n V_d)^{-1/d}$ away on average,
    so learning a generic Lipschitz function to accuracy ε takes about ε⁻ᵈ samples. Margin bounds contain no d: a
    perceptron with margin γ makes at most 1/γ² updates in every dimension.

    $$E\,D_n = \Gamma(1 + 1/d)\,(n V_d)^{-1/d}\,(1 + o(1))$$

    Check: Four point clouds are drawn for each size from n/16 to n; then perceptrons run on points of the unit sphere
    with the given margin.
    """
    rng = data.generator(key)
    sizes = samples // np.array([16, 8, 4, 2, 1])
    measured = {}
    for d in _DIMS:
        exact = np.array([mean_neighbour_distance(int(n), d) for n in sizes])
        clouds = np.array([[_cloud_distance(rng, int(n), d) for n in sizes] for _ in range(4)])
        measured[d] = clouds.mean(0)
        yield mean(clouds / exact, 1.0, f"d = {d}: mean distance over its exact expectation")
        yield slope(sizes, measured[d], -1 / d, f"d = {d}: slope of the distance in n, against −1/d", within=0.05 / d)
        what = f"d = {d}: formula for large n, against the exact expectation at n = {samples}"
        yield close(asymptotic_neighbour_distance(samples, d), exact[-1], what, rtol=0.05)
    points, anchor = rng.random((1000, 8)), rng.random(8)
    ratio = _nearest_error_ratio(points, rng.random((200, 8)), anchor)
    what = "error of nearest-neighbour regression of a 1-Lipschitz function, over the distance"
    yield at_most(ratio, 1.0, what, rtol=1e-9)
    dims, examples = (2, 8, 32, 128), 400
    bound = margins.mistake_bound(1.0, margin)
    updates, errors = [], []
    for d in dims * 3:
        x, y = _shell(rng, examples + 2000, d, margin, dims[-1])
        run = perceptrons.learn(x[:examples], y[:examples], epochs=10_000)
        updates.append(run.updates)
        errors.append(np.mean(y[examples:] * (x[examples:] @ np.asarray(run.weights)) <= 0))
    yield at_most(updates, bound, f"perceptron updates for d = {dims}, against 1/γ²")
    what = f"perceptrons' test error from {examples} examples, against 1/(γ²(n + 1))"
    yield mean(errors, bound / (examples + 1), what, side="at most")
    grid = np.geomspace(sizes[0], sizes[-1], 40)
    lines = {f"d = {d}": (grid, asymptotic_neighbour_distance(grid, d)) for d in _DIMS}
    points = {f"d = {d}": (sizes, measured[d]) for d in _DIMS}
    limit, runs = {"1/γ²": ([dims[0], dims[-1]], [bound, bound])}, {"three runs each": (dims * 3, updates)}
    title, counts = "mean distance to the nearest neighbour on the torus", f"perceptron updates at margin {margin:g}"
    yield figure.beside(
        f"Nearest neighbours come closer only as n^(−1/d), yet {max(updates)} updates suffice at margin {margin:g} "
        f"in all of {dims[0]} to {dims[-1]} dimensions",
        figure.curves(title, "points n", "distance", lines=lines, points=points, log="xy"),
        figure.curves(counts, "dimension d", "updates", lines=limit, points=runs, log="x"),
    )


def _cloud_distance(rng, n: int, d: int) -> float:
    queries = 1000 if d <= 4 else 200
    return float(torus_neighbour_distances(rng.random((n, d)), queries).mean())


def _nearest_error_ratio(points: np.ndarray, queries: np.ndarray, anchor: np.ndarray) -> np.ndarray:
    """|f(nearest) - f(x)| / distance for f the torus distance to an anchor."""

    def apart(a, b):
        step = np.abs(a - b)
        return np.linalg.norm(np.minimum(step, 1 - step), axis=-1)

    distances = apart(queries[:, None], points[None])
    nearest = distances.argmin(1)
    errors = np.abs(apart(points[nearest], anchor) - apart(queries, anchor))
    return errors / distances.min(1)


def _shell(rng, samples: int, dim: int, margin: float, padded: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of norm 1 and of that margin in the first `dim` of `padded` coordinates: one shape to compile."""
    y = rng.choice([-1.0, 1.0], samples)
    rest = rng.standard_normal((samples, dim - 1))
    x = np.zeros((samples, padded))
    x[:, 0] = margin * y
    x[:, 1:dim] = (1 - margin**2) ** 0.5 * rest / np.linalg.norm(rest, axis=1, keepdims=True)
    return x, y
