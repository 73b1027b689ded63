"""Exact line search on a quadratic: the zigzag that is no faster than the best fixed step."""

from typing import Annotated

import numpy as np

from leadline import data, optimisation
from leadline.claims.optimisation import plain_problems
from leadline.evidence import Range, at_least, at_most, claim, close, figure


def _gap_factors(matrix: np.ndarray, path: np.ndarray) -> np.ndarray:
    """gap_{t+1}/gap_t along paths (t, …, p), NaN once the gap is lost in rounding."""
    gap = np.einsum("...i,ij,...j->...", path, matrix, path) / 2
    seen = gap[:-1] > 1e-250
    return np.where(seen, gap[1:] / np.where(seen, gap[:-1], 1.0), np.nan)


def ellipse(matrix: np.ndarray, level: float, centre: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The contour ½(w − c)ᵀA(w − c) = level in the plane."""
    angle = np.linspace(0, 2 * np.pi, 121)
    root = np.linalg.inv(np.linalg.cholesky(matrix)).T
    points = np.sqrt(2 * level) * root @ np.stack([np.cos(angle), np.sin(angle)])
    return (points[0], points[1]) if centre is None else (points[0] + centre[0], points[1] + centre[1])


@claim(
    "exact-line-search-zigzag",
    says=(
        "On quadratics exact line search multiplies the gap by at most ((κ − 1)/(κ + 1))² at each step, and by exactly "
        "that for ever from (κ, 1) on (w₁² + κw₂²)/2: in the worst case it is no faster than the best fixed step."
    ),
    formula=r"l(w^{t+1}) - l^* \le \left(\frac{\kappa - 1}{\kappa + 1}\right)^2 (l(w^t) - l^*)",
    sources=("penn",),
    assumes=("quadratic with positive definite Hessian", "exact line search"),
)
def exact_line_search_zigzag(
    key,
    condition: Annotated[float, Range(1.1, 1e4, log=True)] = 10.0,
    angle: Annotated[float, Range(0.0, 90.0)] = 30.0,
    dimension: Annotated[int, Range(2, 50)] = 6,
    steps: Annotated[int, Range(2, 60)] = 20,
):
    """From (κ, 1); from a start at `angle` degrees in the plane; from 200 random starts in `dimension` dimensions."""
    rng, matrix = data.generator(key), np.diag([1.0, condition])
    worst = optimisation.kantorovich_factor(condition)
    path = optimisation.steepest_path(matrix, np.array([condition, 1.0]), steps)
    factors = _gap_factors(matrix, path)
    # an error of 1e-16 in the start grows, relative to the iterate, by at most κ a step
    yield close(factors, worst, "factor of the gap at each step from (κ, 1)", atol=1e-12 * max(1.0, condition / 10))
    three = [
        _gap_factors(np.diag([1.0, k]), optimisation.steepest_path(np.diag([1.0, k]), np.array([k, 1.0]), 1))[0]
        for k in (2.0, 10.0, 100.0)
    ]
    yield close(three, [1 / 9, 0.669421, 0.960788], "κ = 2, 10, 100", atol=5e-7)

    bowl = plain_problems.drawn_quadratic(rng, dimension, condition)
    hessian = np.stack([bowl.gradient(e) for e in np.eye(dimension)])
    drawn = _gap_factors(hessian, optimisation.steepest_path(hessian, rng.normal(size=(200, dimension)), steps))
    yield at_most(drawn[np.isfinite(drawn)], worst, "factor at each step from 200 random starts", rtol=1e-9)
    first = drawn[0]
    yield at_most(np.mean(first), worst, "mean factor of their first step: random starts are faster", strict=True)
    fixed = bowl.descent(rng.normal(size=(200, dimension)), 2 / (1 + condition), 1)
    ratio = bowl.value(fixed[1]) / bowl.value(fixed[0])
    yield at_most(ratio, worst, "factor of the gap of one step 2/(m + L): the same bound", rtol=1e-9)
    ends = bowl.gradient(np.eye(dimension))  # a fixed step meets the bound on the end eigenvectors
    top = np.linalg.eigh(ends)[1][:, [0, -1]].T
    attained = bowl.value(top - 2 / (1 + condition) * bowl.gradient(top)) / bowl.value(top)
    yield close(attained, worst, "attained by the fixed step from the end eigenvectors", atol=1e-10)

    turn = np.radians(np.append(np.linspace(0.5, 89.5, 90), angle))
    starts = np.stack([np.cos(turn), np.sin(turn)], 1)
    around = _gap_factors(matrix, optimisation.steepest_path(matrix, starts, 1))[0]
    yield at_most(around, worst, "factor of a step over all angles of the start", rtol=1e-9)
    peak = np.degrees(np.arctan2(1.0, condition))
    at_peak = np.array([np.cos(np.radians(peak)), np.sin(np.radians(peak))])
    here = _gap_factors(matrix, optimisation.steepest_path(matrix, at_peak, 1))[0]
    yield at_least(here, np.max(around), "factor at the angle arctan(1/κ), against the largest of 91 angles", rtol=1e-9)

    shown = path[: min(steps, 12) + 1]
    yield figure.beside(
        f"κ = {condition:.3g}: from (κ, 1) each step keeps {worst:.4g} of the gap, for ever",
        figure.plane(
            "Zigzag on the contours, w₂ stretched by √κ",
            x="w₁",
            y="√κ w₂",
            points={"wᵗ": shown * [1.0, np.sqrt(condition)]},
            lines={"path": (shown[:, 0], shown[:, 1] * np.sqrt(condition))}
            | {
                f"l = {v:.3g}": ellipse(np.eye(2), v)
                for v in np.einsum("ti,ij,tj->t", shown[:3], matrix, shown[:3]) / 2
            },
        ),
        figure.curves(
            f"Factor of one step against the angle of the start: highest at {peak:.3g}°",
            x="angle of the start, degrees",
            y="factor of the gap",
            lines={"bound": (np.array([0.0, 90.0]), np.array([worst, worst]))},
            points={"measured": (np.degrees(turn), around)},
        ),
    )
