"""The linear recurrence as a prefix product."""

import numpy as np

from leadline import data, sequences
from leadline.evidence import Int, Real, at_most, close, exactly, method
from leadline.presentation import figure
from leadline.sequences.linear_recurrences.diagonal_recurrence import compose

ALGORITHMS = {"Hillis and Steele": "hillis-steele", "Blelloch": "blelloch", "JAX": "odd-even"}


def predicted_cost(algorithm: str, length: int) -> tuple[int, int]:
    """Depth and work for a power of two."""
    levels = length.bit_length() - 1
    return {
        "hillis-steele": (levels, length * levels - length + 1),
        "blelloch": (2 * levels, 2 * (length - 1)),
        "odd-even": (2 * levels - 1, 2 * length - 2 - levels),
    }[algorithm]


@method(
    sources=("eth",), shows=("sequences.prefix_scan", "sequences.linear_recurrence", "sequences.log_space_recurrence")
)
def parallel_scan(key, levels: Int(1, 12) = 10, gate: Real(0.05, 0.95) = 0.5):
    r"""The recurrence by a parallel scan.

    Two steps of a linear recurrence are one step, and this composition is associative, so that all states are prefix
    products and can be had in a number of dependent operations that grows as log T. Hillis and Steele's scan is the
    shallower one, Blelloch's takes less work; T processors are needed for either to be fast. The closed form divides by
    products of gates, which underflow; the composition does not.

    $$(a_1, b_1) \circ (a_2, b_2) = (a_1 a_2,\; a_2 b_1 + b_2), \qquad
    \text{depth } \lceil \log_2 T \rceil, \text{ work } T\log_2 T - T + 1$$

    Assumes: the gates do not depend on the state.

    Check: operations counted while the scans run; states against the loop; associativity in whole numbers; 256 steps in
    single precision.
    """
    rng, length = data.generator(key), 2**levels
    gates, inputs = rng.uniform(0.2, 1.0, (length, 1)), rng.normal(size=(length, 1))
    looped = np.asarray(sequences.linear_recurrence(gates, inputs, by="loop"))
    sizes = sorted({2**k for k in range(levels, 0, -2)})
    counted = {}
    for name, algorithm in ALGORITHMS.items():
        found = sequences.prefix_scan(compose, (gates, inputs), algorithm=algorithm, identity=(1.0, 0.0))
        depth, work = predicted_cost(algorithm, length)
        yield exactly(found.depth, depth, f"{name}: dependent operations for T = {length}")
        yield exactly(found.work, work, f"{name}: operations for T = {length}")
        yield close(np.asarray(found.prefixes[1]), looped, f"{name}: states, against the loop", atol=1e-12, rtol=1e-10)
        ones = {n: sequences.prefix_scan(_sum, np.ones(n), algorithm=algorithm, identity=0.0) for n in sizes}
        counted[name] = ones
        yield exactly([int(one.prefixes[-1]) for one in ones.values()], sizes, f"{name}: sums of T ones")
    triples = rng.integers(-9, 9, (3, 2, 50))
    left = compose(compose(*triples[:2]), triples[2])
    right = compose(triples[0], compose(*triples[1:]))
    yield exactly(np.array(left), np.array(right), "(e₁ ∘ e₂) ∘ e₃ against e₁ ∘ (e₂ ∘ e₃), whole numbers")
    yield from _underflow(gate)
    depths = {f"{n}: predicted": (sizes, [predicted_cost(ALGORITHMS[n], s)[0] for s in sizes]) for n in counted}
    works = {f"{n}: predicted": (sizes, [predicted_cost(ALGORITHMS[n], s)[1] for s in sizes]) for n in counted}
    title = "A scan needs log T dependent operations where the loop needs T"
    panels = [
        figure.curves(
            heading,
            "steps T",
            unit,
            lines=lines | {"loop": (sizes, [s - 1 for s in sizes])},
            points={f"{n}: counted": (sizes, [getattr(o, word) for o in ones.values()]) for n, ones in counted.items()},
            log="xy",
        )
        for word, heading, unit, lines in (
            ("depth", "Hillis and Steele's scan is the shallowest", "operations in a row", depths),
            ("work", "and takes the most operations", "operations", works),
        )
    ]
    yield figure.beside(title, *panels, _tree())


def _sum(a, b):
    return a + b


def _underflow(gate: float):
    """The composition, the closed form and the logarithms in single precision, over 256 steps with equal gates."""
    steps = np.arange(256)
    a, b = np.full((256, 1), gate, np.float32), np.ones((256, 1), np.float32)
    truth = (1 - gate ** (steps + 1.0)) / (1 - gate)
    scanned = np.asarray(sequences.linear_recurrence(a, b, by="scan"))[:, 0]
    yield at_most(np.abs(scanned - truth) / truth, 1e-5, "single precision, composed: relative error over 256 steps")
    logs = sequences.log_space_recurrence(np.log(a), np.log(b))
    yield close(np.exp(np.asarray(logs)[:, 0]), truth, "single precision, by logarithms: states", rtol=1e-3)
    with np.errstate(all="ignore"):
        product = np.cumprod(a, dtype=np.float32)
        closed = product * np.cumsum(b[:, 0] / product, dtype=np.float32)
    broken = np.flatnonzero(~np.isfinite(closed))
    latest = int(np.ceil(128 / -np.log2(gate)))  # where 1/A overflows: at 128 for gates of one half
    what = "single precision, Aₜ Σ bᵢ/Aᵢ: first step that is not finite, against that of 1/Aₜ"
    found = at_most(broken[0] + 1 if broken.size else 257, latest, what)
    yield found.given(latest <= 256, "the product of the gates underflows within 256 steps")


def _span(first: int, last: int) -> str:
    return str(last) if first == last else f"{first}–{last}"


def _tree():
    """Hillis and Steele's scan of eight elements."""
    nodes = [
        (i, -2.0 * d, _span(max(i - 2**d + 2, 1), i + 1), float(i - 2**d + 1 <= 0)) for d in range(4) for i in range(8)
    ]
    edges = [(8 * d + i, 8 * (d + 1) + i, 1.0) for d in range(3) for i in range(8)]
    edges += [(8 * d + i - 2**d, 8 * (d + 1) + i, -1.0) for d in range(3) for i in range(2**d, 8)]
    return figure.graph("Eight elements: each row takes in what lies 1, 2, 4 places before", nodes=nodes, edges=edges)
