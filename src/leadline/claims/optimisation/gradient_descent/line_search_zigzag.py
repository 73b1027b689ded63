"""Exact line search on a quadratic: the zigzag that is no faster than the best fixed step."""

import numpy as np

from leadline import data, optimisation
from leadline.claims.scenarios.optimisation.small_regressions import drawn_quadratic
from leadline.evidence import Int, Real, at_least, at_most, claim, close, reference
from leadline.optimisation.runs.quadratic_descent import kantorovich_factor
from leadline.presentation import figure


def _gap_factors(matrix: np.ndarray, start: np.ndarray, num_steps: int = 1) -> np.ndarray:
    """gap_{t+1}/gap_t along paths of exact line search from (…, p), NaN once the gap is lost in rounding."""
    path = optimisation.steepest_path(matrix, start, num_steps)
    gap = np.einsum("...i,ij,...j->...", path, matrix, path) / 2
    seen = gap[:-1] > 1e-250
    return np.where(seen, gap[1:] / np.where(seen, gap[:-1], 1.0), np.nan)


def ellipse(matrix: np.ndarray, level: float, centre: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The contour ½(w − c)ᵀA(w − c) = level in the plane."""
    angle = np.linspace(0, 2 * np.pi, 121)
    root = np.linalg.inv(np.linalg.cholesky(matrix)).T
    points = np.sqrt(2 * level) * root @ np.stack([np.cos(angle), np.sin(angle)])
    return (points[0], points[1]) if centre is None else (points[0] + centre[0], points[1] + centre[1])


@claim(sources=("penn",))
def exact_line_search_zigzag(
    key,
    condition: Real(1.1, 1e4, log=True) = 10.0,
    angle: Real(0.0, 90.0) = 30.0,
    dimension: Int(2, 50) = 6,
    num_steps: Int(2, 60) = 20,
):
    r"""Zigzag of exact line search.

    On quadratics exact line search multiplies the gap by at most ((κ − 1)/(κ + 1))² at each step, and by exactly that
    for ever from (κ, 1) on (w₁² + κw₂²)/2: in the worst case it is no faster than the best fixed step.

    $$l(w^{t+1}) - l^* \le \left(\frac{\kappa - 1}{\kappa + 1}\right)^2 (l(w^t) - l^*)$$

    Assumes: a quadratic with positive definite Hessian; exact line search.

    Check: Runs start from (κ, 1), from a start at `angle` degrees in the plane, and from 200 random starts in
    `dimension` dimensions.
    """
    rng, matrix = data.generator(key), np.diag([1.0, condition])
    worst = kantorovich_factor(condition)
    factors = _gap_factors(matrix, np.array([condition, 1.0]), num_steps)
    # an error of 1e-16 in the start grows, relative to the iterate, by at most κ a step
    yield close(factors, worst, "factor of the gap at each step from (κ, 1)", atol=1e-12 * max(1.0, condition / 10))
    three = [_gap_factors(np.diag([1.0, k]), np.array([k, 1.0]))[0] for k in (2.0, 10.0, 100.0)]
    yield reference(three, [0.111111, 0.669421, 0.960788], "factor of the gap from (κ, 1), κ = 2, 10, 100", digits=6)
    bowl = drawn_quadratic(rng, dimension, condition)
    hessian, eta = np.asarray(bowl.matrix), 2 / (1 + condition)
    drawn = _gap_factors(hessian, rng.normal(size=(200, dimension)), num_steps)
    yield at_most(drawn[np.isfinite(drawn)], worst, "factor at each step from 200 random starts", rtol=1e-9)
    yield at_most(np.mean(drawn[0]), worst, "mean factor of the first step from 200 random starts", strict=True)
    begin = rng.normal(size=(200, dimension))
    ratio = bowl(begin - eta * bowl.gradient(begin)) / bowl(begin)
    label = "factor of the gap in one step of size 2/(m + L), against ((κ − 1)/(κ + 1))²"
    yield at_most(ratio, worst, label, rtol=1e-9)
    ends = np.linalg.eigh(hessian)[1][:, [0, -1]].T
    attained = bowl(ends - eta * bowl.gradient(ends)) / bowl(ends)
    yield close(attained, worst, "factor of the gap of the step 2/(m + L) from the end eigenvectors", atol=1e-10)
    peak = np.arctan2(1.0, condition)
    turn = np.append(np.radians(np.append(np.linspace(0.5, 89.5, 90), angle)), peak)
    *around, here = _gap_factors(matrix, np.stack([np.cos(turn), np.sin(turn)], 1))[0]
    yield at_most(around, worst, "factor of a step over 91 angles of the start", rtol=1e-9)
    yield at_least(here, np.max(around), "factor at the angle arctan(1/κ), against the largest of 91 angles", rtol=1e-9)
    path = optimisation.steepest_path(matrix, np.array([condition, 1.0]), min(num_steps, 12)) * np.sqrt([1, condition])
    levels = {f"l = {v:.3g}": ellipse(np.eye(2), v) for v in np.sum(path[:3] ** 2, axis=1) / 2}
    lines, name = {"path": (path[:, 0], path[:, 1])} | levels, "Zigzag on the contours, w₂ stretched by √κ"
    zigzag = figure.plane(name, "w₁", "√κ w₂", points={"wᵗ": path}, lines=lines)
    lines, points = {"bound": ([0.0, 90.0], [worst, worst])}, {"measured": (np.degrees(turn[:-1]), around)}
    name = f"Factor of one step against the angle of the start: highest at {np.degrees(peak):.3g}°"
    by_angle = figure.curves(name, "angle of the start, degrees", "factor of the gap", lines=lines, points=points)
    title = f"κ = {condition:.3g}: from (κ, 1) each step keeps {worst:.4g} of the gap, for ever"
    yield figure.beside(title, zigzag, by_angle)
