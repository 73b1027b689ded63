"""Linear separability: the programme that decides it, the Boolean functions it admits, and XOR, which it refuses."""

from itertools import permutations
from typing import Annotated

import numpy as np

from leadline import data, dichotomies, margins, neurons, perceptrons
from leadline.claims.neurons.plane_shapes import boundary
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, method

CORNERS = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
XOR = np.array([1.0, 1.0, -1.0, -1.0])
ORDERS = tuple(permutations(range(4)))


@method(
    "separability-lp",
    says="One linear programme decides whether data are linearly separable: it returns a separating hyperplane, or "
    "multipliers that prove there is none.",
    formula=r"t^* = \max_{|w_j|,|b| \le 1} \min_i y_i (w \cdot x_i + b) = "
    r"\min_{\lambda \ge 0, \sum \lambda = 1} \Big\| \sum_i \lambda_i y_i (x_i, 1) \Big\|_1",
    sources=("eth", "penn"),
    assumes=("labels are -1 or +1", "separable means t* > 0: no point lies on the hyperplane"),
    shows=("margins.separate", "margins.Separation"),
)
def separability_lp(
    key,
    samples: Annotated[int, Range(4, 400)] = 60,
    dim: Annotated[int, Range(1, 30)] = 2,
    gap: Annotated[float, Range(0.001, 3.0, log=True)] = 0.3,
):
    """Two cases whose answer is known by construction: clouds a gap apart, and a negative point amid positive ones."""
    rng = data.generator(key)
    x, y = _clouds(rng, samples, dim, gap)
    found = margins.separate(x, y)
    yield exactly(found.separable, True, "verdict on two clouds a gap apart")
    yield at_least(found.margin, gap / 2, "t* against that of the plane halfway between the clouds", rtol=1e-9)
    yield close(found.residual, found.margin, "dual value against t*, clouds", atol=1e-9)

    # The mean of the positive points becomes negative: it lies in their convex hull, so no plane can cut it off.
    mixed_x, mixed_y = np.concatenate([x, x[y > 0].mean(axis=0, keepdims=True)]), np.append(y, -1.0)
    mixed = margins.separate(mixed_x, mixed_y)
    yield exactly(mixed.separable, False, "verdict with a negative point amid the positive ones")
    yield at_most(mixed.residual, 1e-9, "‖Σ λᵢ yᵢ (xᵢ, 1)‖₁ of the proof")

    xor = margins.separate(CORNERS, XOR)
    yield exactly(xor.separable, False, "verdict on XOR")
    yield at_most(xor.residual, 1e-9, "‖Σ λᵢ yᵢ (xᵢ, 1)‖₁ of the proof for XOR")
    yield at_most([found.tolerance, mixed.tolerance, xor.tolerance], 1e-9, "tolerance on t*")

    flat, labels = _clouds(rng, samples, 2, gap)
    shown = margins.separate(flat, labels)
    inside = np.concatenate([flat, flat[labels > 0].mean(axis=0, keepdims=True)])
    signs = np.append(labels, -1.0)
    proof = margins.separate(inside, signs)
    domain = ((-1.3 - gap / 2, 3.3 + gap / 2), (-1.6, 1.6))
    verdict = {True: "separable", False: "not separable"}
    proving = proof.multipliers > 1e-9
    yield figure.beside(
        f"Two clouds: {verdict[shown.separable]}, t* = {shown.margin:.3g}; with one point added: "
        f"{verdict[proof.separable]}, as {proving.sum()} points prove",
        figure.plane(
            "the plane that the programme returns",
            x="x₁",
            y="x₂",
            points={"y = +1": flat[labels > 0], "y = -1": flat[labels < 0]},
            lines={"w·x + b = 0": boundary(shown.weights, shown.bias, 2.6)},
            domain=domain,
        ),
        figure.plane(
            "ringed: the points with multiplier λᵢ > 0",
            x="x₁",
            y="x₂",
            points={"y = +1": inside[signs > 0], "y = -1": inside[signs < 0]},
            circles={"λᵢ > 0": inside[proving]},
            domain=domain,
        ),
    )


@claim(
    "linear-unit-boolean-count",
    says="One real-weight unit with bias computes 4, 14, 104, 1882 of the 4, 16, 256, 65536 Boolean functions of 1 to "
    "4 inputs, and parity never from two inputs on.",
    formula=r"\#\{f: \{0,1\}^d \to \{0,1\},\ f(x) = 1\{w \cdot x + b > 0\}\} = "
    r"4, 14, 104, 1882 \quad (d = 1, 2, 3, 4)",
    sources=("penn", "eth"),
)
def linear_unit_boolean_count(
    key,
    inputs: Annotated[int, Range(1, 4)] = 4,
    every_function: bool = False,
):
    """Three counts by linear programmes and one without; `every_function` at four inputs takes about 5 s more."""
    sizes = np.arange(1, inputs + 1)
    predicted = np.array([4, 14, 104, 1882])[:inputs]
    linear = [dichotomies.linear_functions(int(d)) for d in sizes]
    yield exactly([f.sum() for f in linear], predicted, "linear functions, one programme per symmetry class")
    cells = [dichotomies.linear_functions(int(d), method="cells").sum() for d in sizes]
    yield exactly(cells, predicted, "linear functions, cells of the space of (w, b)")
    tried = sizes if every_function else sizes[:3]
    each = [dichotomies.linear_functions(int(d), method="labelings").sum() for d in tried]
    yield exactly(each, predicted[: len(tried)], "linear functions, one programme per function")
    integers = [len(neurons.realised_tables(int(d), tuple(range(-3, 4)))) for d in sizes]
    yield exactly(integers, predicted, "functions of units with integer weights up to 3")
    parity = [_number(dichotomies.hypercube(int(d)).sum(axis=1) % 2) for d in sizes]
    found = [bool(functions[number]) for functions, number in zip(linear, parity, strict=True)]
    yield exactly(found, sizes == 1, "whether parity is linear")
    yield _sixteen_functions()


@claim(
    "xor-not-separable",
    says="XOR has no separating line: adding its four inequalities gives 0 > 0. The perceptron repeats itself on it "
    "for ever; two hidden units solve it.",
    formula=r"\sum_{i=1}^{4} y_i (w \cdot x_i + b) = 0 \quad \text{for all } w, b",
    sources=("eth", "penn"),
)
def xor_not_separable(
    key,
    shear: Annotated[float, Range(-3.0, 3.0)] = 0.0,
    order: Annotated[int, Range(0, 23)] = 0,
    epochs: Annotated[int, Range(2, 200)] = 20,
):
    """The corners may be any parallelogram (`shear`); the perceptron sees the plain corners in one of the 24 orders."""
    x = CORNERS @ np.array([[1.0, 0.0], [shear, 1.0]])
    found = margins.separate(x, XOR)
    yield exactly(found.separable, False, "verdict on XOR")
    yield close(4 * found.multipliers, np.ones(4), "multipliers of the proof, scaled to sum 4", atol=1e-12)
    total = found.multipliers @ (XOR[:, None] * np.column_stack([x, np.ones(4)]))
    yield at_most(np.abs(total), 1e-12, "|Σ λᵢ yᵢ (xᵢ, 1)|")
    w, b = np.split(data.generator(key).normal(size=(1000, 3)), [2], axis=1)
    yield at_most(np.abs((w @ x.T + b) @ XOR), 1e-12, "|Σ yᵢ (w·xᵢ + b)| over 1000 random (w, b)")
    alone = margins.separate(CORNERS[:1], XOR[:1], bias=False)
    yield exactly(alone.separable, False, "verdict on (0, 0) alone without bias")

    labelings = dichotomies.all_labelings(4)
    possible = [margins.separate(x, y).separable for y in labelings]
    yield exactly(sum(possible), dichotomies.cover_count(4, 3), "separable labelings of the four corners")

    shuffled, labels = CORNERS[list(ORDERS[order])], XOR[list(ORDERS[order])]
    run = perceptrons.fit(shuffled, labels, bias=True, epochs=epochs)
    path = perceptrons.path(run, shuffled, labels)
    states = np.column_stack([path.weights, path.biases])
    sweep_ends = states[np.searchsorted(run.times, 4 * np.arange(1, epochs + 1))]
    yield exactly(run.converged, False, "whether the perceptron stops")
    yield exactly(sweep_ends[1:], sweep_ends[:1], "(w, b) after each later epoch against that after the first")
    yield at_most((states**2).sum(axis=1), 3, "‖(w, b)‖² along the run")

    both, neither, either = neurons.gate("and"), neurons.gate("nor"), neurons.gate("or")
    hidden = np.stack([both(CORNERS), neither(CORNERS)], axis=-1)
    yield exactly(np.where(either(hidden), 1.0, -1.0), XOR, "output of two hidden units and an OR")
    yield _xor_figure(states[np.searchsorted(run.times, 4) :], hidden)


def _clouds(rng, samples: int, dim: int, gap: float) -> tuple[np.ndarray, np.ndarray]:
    """Two boxes of side 2 with their facing sides `gap` apart, either side of x₁ = 1: w = e₁ with b = -1 separates."""
    x = rng.uniform(-1.0, 1.0, size=(samples, dim))
    y = np.where(np.arange(samples) % 2, -1.0, 1.0)
    x[:, 0] = 1 + y * (np.abs(x[:, 0]) * 2 + gap / 2)
    return x, y


def _number(table: np.ndarray) -> int:
    return int(table.astype(int) @ (1 << np.arange(len(table))))


def _sixteen_functions():
    """All two-input functions as tiles: corners coloured by value, and the half-planes of a unit that computes them."""
    names = ("0", "NOR", "x₁ ∧ ¬x₂", "¬x₂", "¬x₁ ∧ x₂", "¬x₁", "XOR", "NAND",
             "AND", "XNOR", "x₁", "x₁ ∨ ¬x₂", "x₂", "¬x₁ ∨ x₂", "OR", "1")  # fmt: skip
    corners, fine = dichotomies.hypercube(2), (np.arange(12) + 0.5) / 6 - 0.5  # a tile shows [-1/2, 3/2] squared
    grid = np.stack(np.meshgrid(fine, fine[::-1]), axis=-1)
    tiles, realised = [], 0
    for f, name in enumerate(names):
        labels = np.where(f >> np.arange(4) & 1, 1.0, -1.0)
        found = margins.separate(corners, labels)
        realised += found.separable
        tile = np.where(grid @ found.weights + found.bias > 0, 0.35, -0.35) * found.separable
        for corner, label in zip(corners, labels, strict=True):
            tile[np.abs(grid - corner).max(axis=-1) < 0.1] = label
        tiles.append((name if found.separable else f"{name}: no line", tile))
    return figure.images(
        f"One unit computes {realised} of the 16 functions of two inputs (corners: blue 1, orange 0; shades: the unit)",
        images=tiles,
        columns=4,
        diverging=True,
    )


def _xor_figure(states: np.ndarray, hidden: np.ndarray):
    lines = {}
    for w1, w2, b in np.unique(states, axis=0):
        if (w1, w2) != (0, 0):
            lines[f"w = ({w1:g}, {w2:g}), b = {b:g}"] = boundary(np.array([w1, w2]), b, 3.0)
    diagonal, firing = np.ones(2), int(hidden.any(axis=-1).sum())
    shared = {
        "points": {"y = +1": CORNERS[XOR > 0], "y = -1": CORNERS[XOR < 0]},
        "domain": ((-1.2, 1.7), (-1.2, 1.7)),
    }
    return figure.beside(
        f"The perceptron goes through {len(lines)} lines for ever; two units pick out the {firing} positive corners",
        figure.plane("the lines of one epoch, the same in every later one", x="x₁", y="x₂", lines=lines, **shared),
        figure.plane(
            "two hidden threshold units, joined by an OR", x="x₁", y="x₂",
            lines={"AND fires beyond": boundary(diagonal, -1.5, 3), "NOR fires below": boundary(diagonal, -0.5, 3)},
            **shared,
        ),
    )  # fmt: skip
