"""Linear separability: the programme that decides it, the Boolean functions it admits, and XOR, which it refuses."""

from itertools import permutations

import numpy as np

from leadline import data, neurons
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, method
from leadline.linear_classifiers import dichotomies, margins, perceptrons
from leadline.linear_classifiers.dichotomies.boolean_functions import hypercube, linear_functions
from leadline.presentation import figure
from leadline.presentation.figure.plane_shapes import boundary, by_sign

CORNERS = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
XOR = np.array([1.0, 1.0, -1.0, -1.0])
ORDERS = tuple(permutations(range(4)))
SIXTEEN = "0|NOR|x₁ ∧ ¬x₂|¬x₂|¬x₁ ∧ x₂|¬x₁|XOR|NAND|AND|XNOR|x₁|x₁ ∨ ¬x₂|x₂|¬x₁ ∨ x₂|OR|1"  # by truth table


@method(sources=("eth", "penn"))
def separability_lp(key, samples: Int(4, 400) = 60, dim: Int(1, 30) = 2, gap: Real(0.001, 3.0, log=True) = 0.3):
    r"""Linear separability by linear programming.

    One linear programme decides whether data are linearly separable: it returns a separating hyperplane, or
    multipliers that prove there is none.

    $$t^* = \max_{|w_j|,|b| \le 1} \min_i y_i (w \cdot x_i + b) = \min_{\lambda \ge 0, \sum \lambda = 1} \Big\| \sum_i
    \lambda_i y_i (x_i, 1) \Big\|_1$$

    Assumes: labels are −1 or +1; separable means t* > 0, so that no point lies on the hyperplane.

    Check: Clouds separated by a gap, and a negative point amid positive ones.
    """
    rng = data.generator(key)
    x, y = _clouds(rng, samples, dim, gap)
    found = margins.separate(x, y)
    yield at_least(found.margin, found.tolerance, "t* of two clouds a gap apart, against its tolerance", strict=True)
    yield at_least(found.margin, gap / 2, "t* against that of the plane halfway between the clouds", rtol=1e-9)
    yield close(found.residual, found.margin, "dual value against t*, clouds", atol=1e-9)
    mixed = margins.separate(*_with_intruder(x, y))
    yield at_most(mixed.margin, mixed.tolerance, "t* with a negative point amid the positive ones")
    yield at_most(mixed.residual, 1e-9, "‖Σ λᵢ yᵢ (xᵢ, 1)‖₁ with a negative point amid the positive ones")
    xor = margins.separate(CORNERS, XOR)
    yield at_most(xor.margin, xor.tolerance, "t* of XOR")
    yield at_most(xor.residual, 1e-9, "‖Σ λᵢ yᵢ (xᵢ, 1)‖₁ of XOR")
    yield at_most([found.tolerance, mixed.tolerance, xor.tolerance], 1e-9, "tolerance on t*")
    flat, labels = _clouds(rng, samples, 2, gap)
    shown = margins.separate(flat, labels)
    inside, signs = _with_intruder(flat, labels)
    proof = margins.separate(inside, signs)
    verdict = {True: "separable", False: "not separable"}
    proving = proof.multipliers > 1e-9
    title = f"Two clouds: {verdict[shown.separable]}; with one point added: {verdict[proof.separable]}"
    domain = ((-1.3 - gap / 2, 3.3 + gap / 2), (-1.6, 1.6))
    points, line = by_sign(flat, labels), {"w·x + b = 0": boundary(shown.weights, shown.bias, 2.6)}
    left = figure.plane("the plane that the programme returns", "x₁", "x₂", points=points, lines=line, domain=domain)
    points, rings = by_sign(inside, signs), {"λᵢ > 0": inside[proving]}
    right = figure.plane(
        f"{proving.sum()} points with λᵢ > 0 prove it", "x₁", "x₂", points=points, circles=rings, domain=domain
    )
    yield figure.beside(title, left, right)


@claim(sources=("penn", "eth"))
def linear_unit_boolean_count(key, inputs: Int(1, 4) = 4, every_function: bool = False):
    r"""Linearly separable Boolean functions.

    One real-weight unit with bias computes 4, 14, 104 and 1882 of the 4, 16, 256 and 65536 Boolean functions of 1, 2,
    3 and 4 inputs, and never parity from two inputs on.

    $$\#\{f: \{0,1\}^d \to \{0,1\},\ f(x) = 1\{w \cdot x + b > 0\}\} = 4, 14, 104, 1882 \quad (d = 1, 2, 3, 4)$$

    Check: Testing every function at four inputs, which is an option, takes about 5 s more.
    """
    sizes = np.arange(1, inputs + 1)
    predicted = np.array([4, 14, 104, 1882])[:inputs]
    linear = [linear_functions(int(d)) for d in sizes]
    yield exactly([f.sum() for f in linear], predicted, "linear functions, one programme per symmetry class")
    cells = [linear_functions(int(d), method="cells").sum() for d in sizes]
    yield exactly(cells, predicted, "linear functions, cells of the space of (w, b)")
    tried = sizes if every_function else sizes[:3]
    each = [linear_functions(int(d), method="labelings").sum() for d in tried]
    yield exactly(each, predicted[: len(tried)], "linear functions, one programme per function")
    integers = [len(neurons.realised_tables(int(d), tuple(range(-3, 4)))) for d in sizes]
    yield exactly(integers, predicted, "functions of units with integer weights up to 3")
    parity = [_number(hypercube(int(d)).sum(axis=1) % 2) for d in sizes]
    found = [functions[number] for functions, number in zip(linear, parity, strict=True)]
    yield exactly(found, sizes == 1, "whether parity is linear")
    yield _sixteen_functions()


@claim(sources=("eth", "penn"))
def xor_not_separable(key, shear: Real(-3.0, 3.0) = 0.0, order: Int(0, 23) = 0, epochs: Int(2, 200) = 20):
    r"""XOR is not linearly separable.

    XOR has no separating line: adding its four inequalities gives 0 > 0. On XOR the perceptron cycles for ever, and
    two hidden units solve it.

    $$\sum_{i=1}^{4} y_i (w \cdot x_i + b) = 0 \quad \text{for all } w, b$$

    Check: The corners may form any parallelogram (`shear`); the perceptron sees one of their 24 orders.
    """
    x = CORNERS @ np.array([[1.0, 0.0], [shear, 1.0]])
    found = margins.separate(x, XOR)
    yield at_most(found.margin, found.tolerance, "t* of XOR")
    yield close(4 * found.multipliers, np.ones(4), "multipliers of the proof, scaled to sum 4", atol=1e-12)
    total = found.multipliers @ (XOR[:, None] * np.column_stack([x, np.ones(4)]))
    yield at_most(np.abs(total), 1e-12, "|Σ λᵢ yᵢ (xᵢ, 1)|")
    w, b = np.split(data.generator(key).normal(size=(1000, 3)), [2], axis=1)
    yield at_most(np.abs((w @ x.T + b) @ XOR), 1e-12, "|Σ yᵢ (w·xᵢ + b)| over 1000 random (w, b)")
    alone = margins.separate(CORNERS[:1], XOR[:1], bias=False)
    yield at_most(alone.margin, alone.tolerance, "t* of (0, 0) alone without bias")
    labelings = dichotomies.all_labelings(4)
    possible = [margins.separate(x, y).separable for y in labelings]
    yield exactly(sum(possible), dichotomies.cover_count(4, 3), "separable labelings of the four corners")
    shuffled, labels = CORNERS[list(ORDERS[order])], XOR[list(ORDERS[order])]
    run = perceptrons.learn(shuffled, labels, bias=True, epochs=epochs)
    path = perceptrons.path(run, shuffled, labels)
    states = np.column_stack([path.weights, path.biases])
    sweep_ends = states[np.searchsorted(run.times, 4 * np.arange(1, epochs + 1))]
    yield at_least(np.bincount(run.times // 4, minlength=epochs), 1, "perceptron's updates in every epoch")
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


def _with_intruder(x, y) -> tuple[np.ndarray, np.ndarray]:
    """The mean of the positive points as a negative one: it lies in their convex hull, so no plane can cut it off."""
    return np.concatenate([x, x[y > 0].mean(axis=0, keepdims=True)]), np.append(y, -1.0)


def _number(table: np.ndarray) -> int:
    return int(table.astype(int) @ (1 << np.arange(len(table))))


def _sixteen_functions():
    """All two-input functions as tiles: corners coloured by value, and the half-planes of a unit that computes them."""
    corners, fine = hypercube(2), (np.arange(12) + 0.5) / 6 - 0.5  # a tile shows [-1/2, 3/2] squared
    grid = np.stack(np.meshgrid(fine, fine[::-1]), axis=-1)
    tiles, realised = [], 0
    for f, name in enumerate(SIXTEEN.split("|")):
        labels = np.where(f >> np.arange(4) & 1, 1.0, -1.0)
        found = margins.separate(corners, labels)
        realised += found.separable
        tile = np.where(grid @ found.weights + found.bias > 0, 0.35, -0.35) * found.separable
        for corner, label in zip(corners, labels, strict=True):
            tile[np.abs(grid - corner).max(axis=-1) < 0.1] = label
        tiles.append((name if found.separable else f"{name}: no line", tile))
    title = f"One unit computes {realised} of the 16 functions of two inputs (corners: blue 1, orange 0)"
    return figure.images(title, images=tiles, columns=4, diverging=True)


def _xor_figure(states: np.ndarray, hidden: np.ndarray):
    lines = {}
    for w1, w2, b in np.unique(states, axis=0):
        if (w1, w2) != (0, 0):
            lines[f"w = ({w1:g}, {w2:g}), b = {b:g}"] = boundary([w1, w2], b, 3.0)
    units = {"AND fires beyond": boundary([1, 1], -1.5, 3), "NOR fires below": boundary([1, 1], -0.5, 3)}
    shared = {"points": by_sign(CORNERS, XOR), "domain": ((-1.2, 1.7), (-1.2, 1.7))}
    firing = int(hidden.any(axis=-1).sum())
    return figure.beside(
        f"The perceptron goes through {len(lines)} lines for ever; two units pick out the {firing} positive corners",
        figure.plane("the lines of one epoch, the same in every later one", "x₁", "x₂", lines=lines, **shared),
        figure.plane("two hidden threshold units, joined by an OR", "x₁", "x₂", lines=units, **shared),
    )
