"""Counting linear dichotomies: general position, the cells that points cut out, and Cover's recurrence."""

from itertools import combinations

import numpy as np

from leadline import data
from leadline.claims.scenarios.neurons.half_sphere import half_sphere, well_spread
from leadline.evidence import Int, Real, assume, at_least, at_most, claim, close, exactly, instrument
from leadline.linear_classifiers import dichotomies
from leadline.linear_classifiers.dichotomies.cover import cover_table
from leadline.presentation import figure


@instrument(sources=("eth",))
def general_position(key, points: Int(4, 24) = 12, dim: Int(2, 5) = 3, angle: Real(0.001, 60.0, log=True) = 5.0):
    r"""Test for general position.

    Points in ℝᵈ are in general position if every d of them are linearly independent. The smallest singular value over
    all such subsets says how close they are to failing this, and which points are responsible.

    $$\min_{|I| = d} \sigma_{\min}\big( (x_i / \|x_i\|)_{i \in I} \big) > 0$$
    """
    rng = data.generator(key)
    x = rng.normal(size=(points, dim))
    found = dichotomies.general_position(x)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    subsets = [unit[list(s)] for s in combinations(range(points), min(points, dim))]
    gram = min(np.linalg.eigvalsh(s @ s.T)[0] for s in subsets)
    yield at_least(found.smallest, 0.0, "smallest singular value of Gaussian points", strict=True)
    yield close(found.smallest**2, gram, "σ² against the smallest eigenvalue of the Gram matrices", atol=1e-12)
    # Three multiples of one direction: every pair of them is dependent, and no other point is to be blamed.
    line = np.array([0, points // 2, points - 1])
    collinear = x.copy()
    collinear[line] = x[0] * np.array([[1.0], [-2.0], [0.5]])
    refuted = dichotomies.general_position(collinear)
    yield at_most(refuted.smallest, 1e-12, "smallest singular value with three points on a line through 0")
    yield exactly(refuted.holds, False, "verdict on a set with three points on a line through 0")
    yield exactly(
        len(set(refuted.subset) - set(line.tolist())),
        0,
        "points named by a refutation that are not on the planted line",
    )
    yield exactly(len(refuted.subset), min(3, dim), "points named (at most d are looked at together)")
    spread = np.geomspace(0.001, 60.0, 12)
    measured = [dichotomies.general_position(_pair_at(a, dim, rng)).smallest for a in [angle, *spread]]
    predicted = np.sqrt(2.0) * np.sin(np.radians([angle, *spread]) / 2)
    yield close(measured, predicted, "σ of two unit vectors at an angle θ and a basis of the rest", rtol=1e-6)
    sample = dichotomies.general_position(collinear, limit=0, samples=1, key=key)
    yield exactly([found.exhaustive, sample.exhaustive], [True, False], "whether every subset was examined")
    yield exactly(bool(sample.notice), sample.holds, "a sample that refutes nothing says that it proves nothing")
    title = f"Two points {angle:.3g}° apart leave a singular value of {measured[0]:.2g}: no sharp failure"
    lines, points = {"√2 sin(θ/2)": (spread, predicted[1:])}, {f"measured, d = {dim}": (spread, measured[1:])}
    rules, x_axis = {f"{angle:.3g}°": ("x", angle)}, "angle between two of the points (degrees)"
    yield figure.curves(title, x_axis, "smallest singular value", log="xy", lines=lines, points=points, rules=rules)


@instrument(sources=("eth",), shows=("linear_classifiers.dichotomies.realise",))
def dichotomy_count(key, points: Int(2, 12) = 8, dim: Int(1, 4) = 3, bias: bool = False):
    r"""Counting linear dichotomies.

    The number of labellings of n points that a hyperplane through the origin realises is the number of cells into
    which n hyperplanes cut the space of weights.

    $$C(S, d) = \#\{ y \in \{-1,+1\}^n : \exists w\ \forall i\ \ y_i\, w \cdot x_i > 0 \}$$
    """
    rng = data.generator(key)
    x = rng.normal(size=(points, dim))
    count = dichotomies.count_dichotomies(x, bias=bias)
    by_labelings = dichotomies.count_dichotomies(x, bias=bias, method="labelings")
    effective = dim + bias
    yield exactly(count, by_labelings, "cells inserted point by point against all 2ⁿ labelings")
    yield exactly(count, dichotomies.cover_count(points, effective), "dichotomies in general position against Cover")
    twin = x.copy()
    twin[-1] = twin[0]
    degenerate = dichotomies.count_dichotomies(twin, bias=bias)
    fewer = at_most(degenerate, count, "dichotomies with two equal points", strict=True)
    yield fewer.given(effective >= 2, "d is at least 2 (on a line through the origin every point spans the line)")
    # Both sets again, since in general position the count could not change.
    matrix, scales = rng.normal(size=(dim, dim)), np.exp(rng.normal(size=(points, 1)))
    mapped = [dichotomies.count_dichotomies(s @ matrix, bias=bias) for s in (x, twin)]
    yield exactly(mapped, [count, degenerate], "dichotomies after an invertible linear map")
    scaled = [dichotomies.count_dichotomies(s * scales) for s in (x, twin)]
    kept = exactly(scaled, [count, degenerate], "dichotomies after rescaling each point")
    yield kept.given(not bias, "there is no bias (the appended 1 would have to be rescaled too)")
    shown = well_spread(rng, min(points, 7))
    cells = dichotomies.enumerate_cells(shown)
    half = len(cells.signs) // 2
    title = f"{len(shown)} hyperplanes in R³ cut the weights into {2 * half} cells: {half} here, {half} opposite"
    yield half_sphere(title, shown, {"one w in each cell": cells.witnesses})


@claim(sources=("eth",))
def cover_recurrence(key, points: Int(2, 14) = 10, dim: Int(2, 5) = 3):
    r"""Recurrence for Cover's function.

    A new point splits exactly those cells that its hyperplane meets, and there are C(n, d−1) of them, so C(n+1, d) =
    C(n, d) + C(n, d−1).

    $$C(n+1, d) = C(n, d) + C(n, d-1), \qquad C(1, d) = C(n, 1) = 2$$

    Assumes: the points, and their projections along each new one, are in general position.
    """
    rng = data.generator(key)
    x = rng.normal(size=(points, dim))
    assume(dichotomies.general_position(x).holds, "the points are in general position")
    cells = dichotomies.enumerate_cells(x)
    before = range(1, points)
    split = [dichotomies.cover_count(n, dim - 1) for n in before]
    yield exactly(cells.splits[1:], split, "cells split on insertion against C(n, d-1)")
    projected = [_count_projected(x[:n], x[n]) for n in before]
    yield exactly(cells.splits[1:], projected, "cells split against dichotomies of the projected points")
    yield exactly(cells.counts[1:], cells.counts[:-1] + split, "C(n+1, d) against C(n, d) + C(n, d-1)")
    yield exactly(cells.counts[0], 2, "C(1, d)")
    yield exactly(dichotomies.count_dichotomies(x[:, :1]), 2, "C(n, 1)")
    table = np.array(cover_table(points, 5))
    closed = [[dichotomies.cover_count(n, d) for d in range(1, 6)] for n in range(1, points + 1)]
    yield exactly(table, closed, "table by the recurrence against the closed form")
    yield _split_figure(well_spread(rng, 6), table)


def _pair_at(angle: float, dim: int, rng) -> np.ndarray:
    """A random orthonormal basis of R^d whose second vector is turned to `angle` degrees from the first."""
    basis = np.linalg.qr(rng.normal(size=(dim, dim)))[0].T.copy()
    theta = np.radians(angle)
    basis[1] = np.cos(theta) * basis[0] + np.sin(theta) * basis[1]
    return basis


def _count_projected(x: np.ndarray, along: np.ndarray) -> int:
    """Dichotomies of the points seen along a direction, in coordinates of its orthogonal complement."""
    complement = np.linalg.svd(along[None])[2][1:]
    return dichotomies.count_dichotomies(x @ complement.T)


def _split_figure(x: np.ndarray, table: np.ndarray):
    """The recurrence as a table, and the cells of a small arrangement that its last circle cuts in two."""
    old, new = dichotomies.enumerate_cells(x[:-1]), dichotomies.enumerate_cells(x)
    parents, pieces = np.unique(new.signs[:, :-1], axis=0, return_counts=True)
    divided = {tuple(p) for p in parents[pieces == 2]}
    cut = np.array([tuple(s[:-1]) in divided for s in new.signs])
    before, splits = len(old.signs), len(divided)
    title = "C(n, d): each number is the one above plus the one above left"
    xs, ys = range(1, table.shape[1] + 1), range(1, len(table) + 1)
    left = figure.heatmap(title, "dimension d", "points n", values=table, xs=xs, ys=ys, colour="C(n, d)", text=True)
    title = f"on the half sphere it cuts {splits // 2} cells and leaves {(before - splits) // 2} whole"
    marks = {"half of a cut cell": new.witnesses[cut], "cell left whole": new.witnesses[~cut]}
    right = half_sphere(title, x, marks, newest="w·x = 0 of the new point")
    title = f"Point {len(x)} cuts {splits} of {before} cells in R³: {before} + {splits} = {len(new.signs)}"
    return figure.beside(title, left, right)
