"""How many weights gated cells have."""

import jax
import numpy as np

from leadline import networks, sequences
from leadline.evidence import Int, claim, exactly
from leadline.presentation import figure

SIZES = (1, 2, 5, 16)


@claim(sources=("eth", "sheet"), shows=("networks.parameter_count",))
def gated_parameter_count(key, units: Int(1, 200) = 64, inputs: Int(1, 200) = 32):
    r"""Weights of gated cells.

    With a state of m and n inputs, without biases and read-out, every block of weights has m(m + n) numbers: a simple
    network has one block, a GRU three, an LSTM four, and an LSTM with an output map U has m² more. A bias adds m for
    each block. GRU and LSTM are in the ratio 3 : 4; the ratio 3 : 5 counts matrices, of the LSTM with U.

    $$m(m+n), \quad 3m(m+n), \quad 4m(m+n), \quad 4m(m+n) + m^2$$

    Check: Numbers in the arrays of the built modules, for a grid of sizes and for the chosen ones.
    """
    grid = [(m, n) for m in SIZES for n in SIZES] + [(units, inputs)]
    counts = {
        "simple": ([_count(sequences.Elman, m, n, key) for m, n in grid], [m * (m + n) for m, n in grid]),
        "GRU": ([_count(sequences.GRU, m, n, key) for m, n in grid], [3 * m * (m + n) for m, n in grid]),
        "LSTM": ([_count(sequences.LSTM, m, n, key) for m, n in grid], [4 * m * (m + n) for m, n in grid]),
        "LSTM with U": (
            [_count(sequences.LSTM, m, n, key, output_map=True) for m, n in grid],
            [4 * m * (m + n) + m * m for m, n in grid],
        ),
    }
    for name, (found, expected) in counts.items():
        yield exactly(found, expected, f"{name}: weights of {len(grid)} cells")
    for kind, blocks in ((sequences.Elman, 1), (sequences.LSTM, 4)):
        extra = [_count(kind, m, n, key, bias=True) - _count(kind, m, n, key) for m, n in grid]
        yield exactly(extra, [blocks * m for m, _ in grid], f"{kind.__name__}: biases of {len(grid)} cells, m a block")
    ratio = np.array(counts["GRU"][0]) * 4 == np.array(counts["LSTM"][0]) * 3
    yield exactly(ratio, True, "GRU : LSTM = 3 : 4, for all sizes")
    values = {"built": {name: found[-1] for name, (found, _) in counts.items()}}
    title = f"A GRU has three blocks of weights and an LSTM four: a state of {units} with {inputs} inputs"
    yield figure.bars(title, "cell", "weights", values=values)


def _count(kind, units, inputs, key, *, bias=False, **options):
    """From shapes alone: nothing is drawn."""
    return networks.parameter_count(jax.eval_shape(lambda: _arrays(kind(inputs, units, bias=bias, key=key, **options))))


def _arrays(cell):
    return jax.tree.leaves(cell)
