"""Threshold units as logic: the McCulloch-Pitts unit, what one computes, and what two layers compute."""

import itertools
from typing import Annotated

import jax
import numpy as np

from leadline import margins, neurons
from leadline.evidence import Choice, Range, at_most, claim, exactly, figure, method, model

# Linearly separable Boolean functions of n = 1, ..., 6 inputs (Muroga 1971; OEIS A000609).
LINEAR_COUNTS = (4, 14, 104, 1882, 94572, 15028134)
LARGEST_WEIGHTS = (1, 1, 2, 3)  # integer weights up to these reach all of them for n = 1, ..., 4


@model(
    "mcculloch-pitts-unit",
    says="A McCulloch-Pitts unit fires when the signed sum of its binary inputs reaches a threshold: fixed weights, no "
    "learning, ties fire.",
    formula=r"f(x) = 1\Big\{\sum_i s_i x_i \ge \theta\Big\}, \quad x \in \{0,1\}^n,\ s \in \{-1,+1\}^n",
    sources=("eth", "penn"),
    shows=("neurons.ThresholdUnit", "neurons.gate", "neurons.truth_table", "neurons.binary_inputs"),
)
def mcculloch_pitts_unit(
    key,
    inputs: Annotated[int, Range(2, 12)] = 5,
    gate: Annotated[str, Choice("and", "or", "nand", "nor", "majority")] = "majority",
):
    """Hand-set units against Python's own Boolean operators, on all 2ⁿ inputs."""
    operators = {
        "and": all,
        "or": any,
        "nand": lambda bits: not all(bits),
        "nor": lambda bits: not any(bits),
        "majority": lambda bits: 2 * sum(bits) >= len(bits),
    }
    rows = list(itertools.product((0, 1), repeat=inputs))
    for name, operator in operators.items():
        table = neurons.truth_table(neurons.gate(name, inputs), inputs)
        yield exactly(table, [operator(bits) for bits in rows], f"truth table of {name} on {inputs} inputs")
    yield exactly(neurons.truth_table(neurons.gate("not", 1), 1), [True, False], "truth table of not")

    signs = np.asarray(jax.random.rademacher(key, (inputs,)))
    thresholds = np.arange(-inputs - 1, inputs + 2.01, 0.125)
    tables = {neurons.truth_table(neurons.ThresholdUnit(signs, theta), inputs).tobytes() for theta in thresholds}
    yield exactly(len(tables), inputs + 2, "functions of one sign vector over all real thresholds")

    last = np.arange(inputs) == inputs - 1
    vetoed = neurons.ThresholdUnit(np.ones(inputs, int), 1, last)
    yield exactly(
        neurons.truth_table(vetoed, inputs),
        [any(bits[:-1]) and not bits[-1] for bits in rows],
        "absolute inhibition (1943): or of the others, silenced by the last",
    )

    unit = neurons.gate(gate, 3)
    fires = neurons.truth_table(unit, 3)
    corners = _project(neurons.binary_inputs(3))
    yield figure.plane(
        f"{gate.capitalize()} of three inputs: one plane cuts the cube, it fires at {fires.sum()} of the 8 corners",
        x="first input (the third goes back, to the upper left)", y="second input",
        points={"fires": corners[fires], "silent": corners[~fires]},
        lines={"cube": _project(_walk_along_all_edges()).T, "plane s·x = θ − 1/2": _project(_cut(unit)).T},
        labels=[(*corner, "".join(map(str, x))) for corner, x in zip(corners, neurons.binary_inputs(3), strict=True)],
        domain=((-0.6, 1.3), (-0.2, 1.6)),
    )  # fmt: skip


@claim(
    "mcculloch-pitts-count",
    says="One unit with sign weights computes exactly n 2ⁿ + 2 Boolean functions of n inputs; it cannot even copy one "
    "of two inputs.",
    formula=r"\#\{f\} = n\,2^n + 2 \ \ (s_i = \pm 1), \qquad 2n\,3^{n-1} + 2 \ \ (s_i \in \{-1, 0, 1\})",
    sources=("eth",),
)
def mcculloch_pitts_count(key, inputs: Annotated[int, Range(1, 6)] = 4, copied: Annotated[int, Range(1, 6)] = 1):
    """Every weight vector meets every threshold, and the distinct truth tables are counted.

    With zero weights allowed, a unit is a sign unit on the m inputs that it uses: Σ_m C(n,m) m 2ᵐ = 2n 3ⁿ⁻¹ of them are
    not constant.
    """
    signs, ternary = [], []
    for n in range(1, inputs + 1):
        signs.append(neurons.realised_tables(n))
        ternary.append(neurons.realised_tables(n, (-1, 0, 1)))
        yield exactly(len(signs[-1]), n * 2**n + 2, f"functions of sign units, n = {n}")
        yield exactly(len(ternary[-1]), 2 * n * 3 ** (n - 1) + 2, f"functions of ternary units, n = {n}")
    for n, largest in enumerate(LARGEST_WEIGHTS[:inputs], start=1):
        linear = neurons.realised_tables(n, tuple(range(-largest, largest + 1)))
        yield exactly(len(linear), LINEAR_COUNTS[n - 1], f"functions of linear units as tabulated, n = {n}")

    copy = neurons.binary_inputs(inputs)[:, min(copied, inputs) - 1].astype(bool)
    found = bool((signs[-1] == copy).all(1).any())
    yield exactly(found, False, "copy of one input among sign units").given(inputs >= 2, "there are two inputs or more")
    yield exactly(bool((ternary[-1] == copy).all(1).any()), True, "copy of one input among ternary units")

    label = [str(n) for n in range(1, inputs + 1)]
    yield figure.bars(
        f"Of {_count(2 ** 2**inputs)} functions of {inputs} inputs a sign unit computes {len(signs[-1])}, a ternary "
        f"one {len(ternary[-1])}, any linear unit {_count(LINEAR_COUNTS[inputs - 1])}",
        x="inputs n", y="Boolean functions",
        values={
            "sign units": dict(zip(label, [len(t) for t in signs], strict=True)),
            "ternary units": dict(zip(label, [len(t) for t in ternary], strict=True)),
            "all linear units": dict(zip(label, LINEAR_COUNTS[:inputs], strict=True)),
            "all functions": {n: 2.0 ** 2 ** int(n) for n in label},
        },
        log=True,
    )  # fmt: skip


@method(
    "boolean-threshold-compiler",
    says="Any truth table on d bits compiles into a two-layer threshold network with one hidden unit per minterm: at "
    "most 2ᵈ⁻¹ if the smaller side is compiled.",
    formula=r"h_a(x) = 1\Big\{\sum_i (2a_i - 1) x_i \ge \sum_i a_i\Big\} = 1\{x = a\}, \qquad "
    r"f(x) = \bigvee_{a:\, f(a) = 1} h_a(x)",
    sources=("penn",),
    shows=("neurons.compile_truth_table", "neurons.ThresholdNetwork", "neurons.compiled_share"),
)
def boolean_threshold_compiler(
    key,
    inputs: Annotated[int, Range(1, 10)] = 8,
    ones: Annotated[float, Range(0.0, 1.0)] = 0.6,
    functions: Annotated[int, Range(1, 40)] = 20,
    shown: Annotated[int, Range(0, 7)] = 4,
):
    """All 276 functions of up to three bits, then random ones; `shown` is the input of the figure, a binary number."""
    small = [(dim, table) for dim in (1, 2, 3) for table in _all_tables(dim)]
    wrong = sum(int((_compiled(table, dim) != table).sum()) for dim, table in small)
    yield exactly(wrong, 0, "wrong outputs over all functions of 1, 2 and 3 bits")

    tables = np.asarray(jax.random.bernoulli(key, ones, (functions, 2**inputs)))
    networks = [neurons.compile_truth_table(table) for table in tables]
    outputs = np.stack([neurons.truth_table(network, inputs) for network in networks])
    yield exactly((outputs != tables).sum(1), 0, f"wrong outputs of random functions of {inputs} bits")
    units = np.array([len(network.thresholds) for network in networks])
    smaller_side = np.minimum(tables.sum(1), (~tables).sum(1))
    yield exactly(units, smaller_side, "hidden units against the smaller side of the table")
    yield at_most(units, 2 ** (inputs - 1), "hidden units")
    plain = [len(neurons.compile_truth_table(table, complement=False).thresholds) for table in tables]
    yield at_most(plain, 2**inputs, "hidden units without complement")

    parity = neurons.compile_truth_table(neurons.binary_inputs(3).sum(1) % 2 == 1)
    yield _network_graph(parity, neurons.binary_inputs(3)[shown])


@claim(
    "threshold-networks-compute-logic",
    says="Every Boolean function is computed by a depth-2 threshold network; one unit does not suffice from two inputs "
    "on, and without recurrence nothing is remembered.",
    formula=r"\forall f: \{0,1\}^d \to \{0,1\} \quad \exists\, h \le 2^{d-1}: \quad "
    r"f(x) = 1\Big\{\sum_{k \le h} v_k 1\{w_k \cdot x \ge \theta_k\} \ge \varphi\Big\}",
    sources=("penn",),
)
def threshold_networks_compute_logic(
    key, inputs: Annotated[int, Range(1, 10)] = 3, functions: Annotated[int, Range(10, 100)] = 50
):
    """Exhaustive up to three inputs, random functions above; the best possible count is searched over all networks."""
    if inputs <= 3:
        tables = np.stack(list(_all_tables(inputs)))
    else:
        tables = np.asarray(jax.random.bernoulli(key, 0.5, (functions, 2**inputs)))
    wrong = [int((_compiled(table, inputs) != table).sum()) for table in tables]
    yield exactly(wrong, 0, f"wrong outputs of {len(tables)} compiled functions of {inputs} inputs")

    if inputs <= 4:
        largest = LARGEST_WEIGHTS[inputs - 1]
        single = len(neurons.realised_tables(inputs, tuple(range(-largest, largest + 1))))
        share = at_most(single / 2**2**inputs, 1.0, "share of functions that one unit computes", strict=True)
        yield share.given(inputs >= 2, "there are two inputs or more")
    x = neurons.binary_inputs(inputs).astype(float)
    parity = np.where(x.sum(1) % 2 == 1, 1.0, -1.0)
    alone = exactly(margins.separate(x, parity).separable, False, "parity by one unit (linear programme)")
    yield alone.given(inputs >= 2, "there are two inputs or more")
    yield exactly(_compiled(parity > 0, inputs), parity > 0, "parity by the compiled network")

    after_set, after_reset = _latch([(1, 0), (0, 0)]), _latch([(0, 1), (0, 0)])
    yield exactly([after_set, after_reset], [True, False], "one recurrent unit, same last input, different past")

    best = {d: [neurons.functions_with_hidden_units(d, h) / 2**2**d for h in range(4)] for d in (2, 3)}
    yield exactly([best[2][2], best[3][3]], 1.0, "share of functions that d hidden units reach, d = 2, 3")
    panels = [
        figure.bars(
            f"{2 ** 2**d} functions of {d} bits", x="hidden units", y="share of functions realised",
            values={
                "by the compiler": {str(h): neurons.compiled_share(d, h) for h in range(5)},
                "by some network": {str(h): (best[d] + [1.0])[h] for h in range(5)},
            },
        )
        for d in (2, 3)
    ]  # fmt: skip
    yield figure.beside(
        f"{best[2].index(1.0)} hidden units can compute every function of 2 bits, {best[3].index(1.0)} every function "
        "of 3; the compiler takes up to 2 and 4",
        *panels,
    )


def _all_tables(dim):
    return (np.array(bits) for bits in itertools.product((False, True), repeat=2**dim))


def _compiled(table, dim):
    return neurons.truth_table(neurons.compile_truth_table(table), dim)


def _latch(history):
    """A unit that sees its own last output: set and reset outweigh it, silence keeps it."""
    unit, state = neurons.ThresholdUnit(np.array([2, -2, 1]), 1), False
    for bit_set, bit_reset in history:
        state = bool(unit(np.array([bit_set, bit_reset, state], int)))
    return state


def _count(number):
    return f"{number:,}" if number < 10**9 else f"{float(number):.1e}"


def _project(x):
    """The cube in oblique view: the third axis goes back to the upper left."""
    return np.asarray(x, float) @ np.array([[1.0, 0.0], [0.0, 1.0], [-0.45, 0.4]])


def _walk_along_all_edges():
    """A walk that draws the cube as one line: out along every edge not drawn yet, and back."""
    drawn, path = set(), [(0, 0, 0)]

    def explore(corner):
        for axis in range(3):
            other = tuple(bit ^ (k == axis) for k, bit in enumerate(corner))
            if frozenset((corner, other)) not in drawn:
                drawn.add(frozenset((corner, other)))
                path.append(other)
                explore(other)
                path.append(corner)

    explore((0, 0, 0))
    return np.array(path)


def _cut(unit):
    """Where the plane s·x = θ − 1/2 meets the edges of the cube, in the order of the polygon they form."""
    meets = []
    for axis in range(3):
        for rest in itertools.product((0.0, 1.0), repeat=2):
            x = np.insert(np.array(rest), axis, 0.0)
            along = (unit.threshold - 0.5 - unit.weights @ x) / unit.weights[axis]
            if 0 <= along <= 1:
                meets.append(np.insert(np.array(rest), axis, along))
    meets = np.array(meets)
    around = _project(meets) - _project(meets).mean(0)
    meets = meets[np.argsort(np.arctan2(around[:, 1], around[:, 0]))]
    return np.concatenate([meets, meets[:1]])


def _network_graph(network, x):
    """The network as layers from left to right, filled where a unit is active at input x."""
    hidden, output = network.hidden(x), bool(network(x))
    dim, count = network.weights.shape[1], len(hidden)
    place = lambda k, total: (total - 1) / 2 - k  # noqa: E731
    nodes = [(0.0, 1.4 * place(i, dim), f"x{i + 1}={x[i]}", float(x[i])) for i in range(dim)]
    minterms = ["".join(str((w + 1) // 2) for w in row) for row in network.weights]
    nodes += [(1.5, place(k, count), minterms[k], float(hidden[k])) for k in range(count)]
    nodes += [(3.0, 0.0, "or", float(output))]
    edges = [(i, dim + k, float(network.weights[k, i])) for k in range(count) for i in range(dim)]
    edges += [(dim + k, dim + count, float(network.output_weights[k])) for k in range(count)]
    bits = "".join(map(str, x))
    return figure.graph(
        f"Parity of three bits as {count} minterms and an or: input {bits} fires {int(hidden.sum())} of them, output "
        f"{int(output)}",
        nodes=nodes, edges=edges,
    )  # fmt: skip
