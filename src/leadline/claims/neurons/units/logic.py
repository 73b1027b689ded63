"""Threshold units as logic: the McCulloch-Pitts unit, what one computes, and what two layers compute."""

import itertools

import jax
import numpy as np

from leadline import neurons
from leadline.evidence import Int, OneOf, Real, at_most, claim, exactly, method, model
from leadline.linear_classifiers import margins
from leadline.neurons.boolean import compiled_share, functions_with_hidden_units
from leadline.presentation import figure

# Linearly separable Boolean functions of n = 1, ..., 6 inputs (Muroga 1971; OEIS A000609).
LINEAR_COUNTS = (4, 14, 104, 1882, 94572, 15028134)
LARGEST_WEIGHTS = (1, 1, 2, 3)  # integer weights up to these reach all of them for n = 1, ..., 4


@model(sources=("eth", "penn"))
def mcculloch_pitts_unit(key, inputs: Int(2, 12) = 5, gate: OneOf("and", "or", "nand", "nor", "majority") = "majority"):
    r"""McCulloch–Pitts unit.

    A McCulloch–Pitts unit fires when the signed sum of its binary inputs reaches a threshold: the weights are fixed,
    there is no learning, and ties fire.

    $$f(x) = 1\Big\{\sum_i s_i x_i \ge \theta\Big\}, \quad x \in \{0,1\}^n,\ s \in \{-1,+1\}^n$$
    """
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
    vetoed = neurons.truth_table(neurons.ThresholdUnit(np.ones(inputs, int), 1, last), inputs)
    wanted = [any(bits[:-1]) and not bits[-1] for bits in rows]
    yield exactly(vetoed, wanted, "absolute inhibition (1943): or of the others, silenced by the last")
    unit = neurons.gate(gate, 3)
    fires = neurons.truth_table(unit, 3)
    bits = neurons.binary_inputs(3)
    corners = _project(bits)
    yield figure.plane(
        f"{gate.capitalize()} of three inputs: one plane cuts the cube, it fires at {fires.sum()} of the 8 corners",
        "first input (the third goes back, to the upper left)",
        "second input",
        points={"fires": corners[fires], "silent": corners[~fires]},
        lines={"cube": _project(_walk_along_all_edges()).T, "plane s·x = θ − 1/2": _project(_cut(unit)).T},
        labels=[(*corner, "".join(map(str, x))) for corner, x in zip(corners, bits, strict=True)],
        domain=((-0.6, 1.3), (-0.2, 1.6)),
    )


@claim(sources=("eth",))
def mcculloch_pitts_count(key, inputs: Int(1, 6) = 4, copied: Int(1, 6) = 1):
    r"""Functions of a McCulloch–Pitts unit.

    One unit with sign weights computes exactly n 2ⁿ + 2 Boolean functions of n inputs; it cannot even copy one of two
    inputs.

    $$\#\{f\} = n\,2^n + 2 \ \ (s_i = \pm 1), \qquad 2n\,3^{n-1} + 2 \ \ (s_i \in \{-1, 0, 1\})$$

    Check: Every weight vector is combined with every threshold, and the distinct truth tables are counted. With zero
    weights allowed, a unit is a sign unit on the m inputs that it uses, and $\sum_m \binom{n}{m} m\, 2^m = 2n\,
    3^{n-1}$ of these functions are not constant.
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
    copies = [int((tables[-1] == copy).all(1).sum()) for tables in (signs, ternary)]
    none = exactly(copies[0], 0, "sign units' functions that copy one input")
    yield none.given(inputs >= 2, "there are two inputs or more")
    yield exactly(copies[1], 1, "ternary units' functions that copy one input")
    counts = {
        "sign units": [len(t) for t in signs],
        "ternary units": [len(t) for t in ternary],
        "all linear units": LINEAR_COUNTS[:inputs],
        "all functions": [2.0**2**n for n in range(1, inputs + 1)],
    }
    values = {name: {str(n): count for n, count in enumerate(c, start=1)} for name, c in counts.items()}
    title = f"Of {_count(2**2**inputs)} functions of {inputs} inputs a sign unit computes {len(signs[-1])}"
    yield figure.bars(title, "inputs n", "Boolean functions", values=values, log=True)


@method(sources=("penn",), shows=("neurons.ThresholdNetwork",))
def boolean_threshold_compiler(
    key, inputs: Int(1, 10) = 8, ones: Real(0.0, 1.0) = 0.6, functions: Int(1, 40) = 20, shown: Int(0, 7) = 4
):
    r"""Truth table to threshold network.

    Any truth table on d bits compiles into a two-layer threshold network with one hidden unit per minterm, which is at
    most 2ᵈ⁻¹ units if the smaller side is compiled.

    $$h_a(x) = 1\Big\{\sum_i (2a_i - 1) x_i \ge \sum_i a_i\Big\} = 1\{x = a\}, \qquad f(x) = \bigvee_{a:\, f(a) = 1}
    h_a(x)$$

    Check: All 276 functions of up to three bits, then random ones; `shown` is the input that is drawn.
    """
    small = [(dim, table) for dim in (1, 2, 3) for table in _all_tables(dim)]
    wrong = sum((_compiled(table, dim) != table).sum() for dim, table in small)
    yield exactly(wrong, 0, "wrong outputs over all functions of 1, 2 and 3 bits")
    tables = np.asarray(jax.random.bernoulli(key, ones, (functions, 2**inputs)))
    networks = [neurons.compile_truth_table(table) for table in tables]
    outputs = np.stack([neurons.truth_table(network, inputs) for network in networks])
    yield exactly((outputs != tables).sum(1), 0, f"wrong outputs of random functions of {inputs} bits")
    units = [len(network.thresholds) for network in networks]
    smaller = np.minimum(tables.sum(1), (~tables).sum(1))
    yield exactly(units, smaller, "hidden units against the smaller side of the table")
    yield at_most(units, 2 ** (inputs - 1), "hidden units, against 2ᵈ⁻¹")
    plain = [len(neurons.compile_truth_table(table, complement=False).thresholds) for table in tables]
    yield at_most(plain, 2**inputs, "hidden units without complement, against 2ᵈ")
    parity = neurons.compile_truth_table(neurons.binary_inputs(3).sum(1) % 2 == 1)
    yield _network_graph(parity, neurons.binary_inputs(3)[shown])


@claim(sources=("penn",))
def threshold_networks_compute_logic(key, inputs: Int(1, 10) = 3, functions: Int(10, 100) = 50):
    r"""Threshold networks compute every Boolean function.

    Every Boolean function is computed by a depth-2 threshold network. From two inputs on, one unit does not suffice,
    and without recurrence nothing is remembered.

    $$\forall f: \{0,1\}^d \to \{0,1\} \quad \exists\, h \le 2^{d-1}: \quad f(x) = 1\Big\{\sum_{k \le h} v_k 1\{w_k
    \cdot x \ge \theta_k\} \ge \varphi\Big\}$$

    Check: Exhaustive up to three inputs, random functions above.
    """
    if inputs <= 3:
        tables = np.stack(list(_all_tables(inputs)))
    else:
        tables = np.asarray(jax.random.bernoulli(key, 0.5, (functions, 2**inputs)))
    wrong = [(_compiled(table, inputs) != table).sum() for table in tables]
    yield exactly(wrong, 0, f"wrong outputs of {len(tables)} compiled functions of {inputs} inputs")
    if inputs <= 4:
        largest = LARGEST_WEIGHTS[inputs - 1]
        single = len(neurons.realised_tables(inputs, tuple(range(-largest, largest + 1))))
        share = at_most(single / 2**2**inputs, 1.0, "share of functions that one unit computes", strict=True)
        yield share.given(inputs >= 2, "there are two inputs or more")
    x = neurons.binary_inputs(inputs).astype(float)
    parity = np.where(x.sum(1) % 2 == 1, 1.0, -1.0)
    alone = margins.separate(x, parity)
    refused = at_most(alone.margin, alone.tolerance, "least score t* of parity by one unit (linear programme)")
    yield refused.given(inputs >= 2, "there are two inputs or more")
    yield exactly(_compiled(parity > 0, inputs), parity > 0, "parity by the compiled network")
    after_set, after_reset = _latch([(1, 0), (0, 0)]), _latch([(0, 1), (0, 0)])
    yield exactly([after_set, after_reset], [True, False], "one recurrent unit, same last input, different past")
    best = {d: [functions_with_hidden_units(d, h) / 2**2**d for h in range(4)] for d in (2, 3)}
    yield exactly([best[2][2], best[3][3]], 1.0, "share of functions that d hidden units reach, d = 2, 3")
    panels = []
    for d in (2, 3):
        shares = {
            "by the compiler": {str(h): compiled_share(d, h) for h in range(5)},
            "by some network": {str(h): share for h, share in enumerate([*best[d], 1.0])},
        }
        title = f"{2**2**d} functions of {d} bits"
        panels.append(figure.bars(title, "hidden units", "share of functions realised", values=shares))
    title = f"{best[2].index(1.0)} hidden units compute every function of 2 bits, {best[3].index(1.0)} all of 3 bits"
    yield figure.beside(title, *panels)


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
    bits, fired = "".join(map(str, x)), int(hidden.sum())
    title = f"Parity of three bits as {count} minterms: input {bits} fires {fired} of them, output {int(output)}"
    return figure.graph(title, nodes=nodes, edges=edges)
