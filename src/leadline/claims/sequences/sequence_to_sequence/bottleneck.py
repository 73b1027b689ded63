"""How much fits into one state."""

import numpy as np

from leadline import sequences
from leadline.claims.scenarios.sequences.copying_networks import SYMBOLS, pairs, trained
from leadline.evidence import Int, assume, at_least, at_most, claim
from leadline.presentation import figure


@claim(sources=("eth",), shows=("sequences.EncoderDecoder",), slow="a minute", empirical=True)
def seq2seq_bottleneck(
    key, small: Int(4, 32) = 8, large: Int(16, 256) = 48, longest: Int(3, 12) = 7, num_steps: Int(200, 4000) = 640
):
    r"""One state is a narrow door.

    All that the decoder knows of the input is the encoder's last state. To copy T symbols out of C it must hold
    $T \log_2 C$ bits, and trained networks fail long before that. How long a sequence can be copied grows with the
    state. With attention over all states of the encoder the same decoder has no such limit.

    $$T \log_2 C \le \text{bits of the state}$$

    Assumes: the large network with attention copies half of the shortest sequences within its budget.

    Check: sequences of lengths 1 to the longest of six letters, copied; the length at which half are copied without an
    error, for two sizes of state, without and with attention.
    """
    assume(2 * small <= large, "the large state has at least twice the size of the small one")
    test = pairs("copy", longest, 900, seed=8)
    lengths = (test.source > 0).sum(1)
    each = np.arange(1, longest + 1)
    shares = {}
    for size in (small, large):
        for attention in (False, True):
            fitted = trained("copy", longest=longest, size=size, attention=attention, num_steps=num_steps, seeds=1)
            found = sequences.translate_sequences(fitted.networks[0], test.source, max_length=longest + 1)
            right = sequences.exact_matches(found, test.target)
            shares[size, attention] = np.array([right[lengths == n].mean() for n in each])
    reach = {which: _half(share) for which, share in shares.items()}
    learned = shares[large, True][0] >= 0.5
    budget = "the large network with attention copies half of the shortest sequences within its budget"
    bits = 32 * small
    what = f"state of {small}: bits of the longest sequence that is copied, against bits of the state"
    yield at_most(reach[small, False] * np.log2(SYMBOLS), bits, what).given(learned, budget)
    what = f"without attention: length copied half of the time, state of {large} against {small}"
    grows = at_least(reach[large, False], reach[small, False], what, strict=True).given(learned, budget)
    yield grows.given(reach[small, False] < longest, "the small state does not copy every length half of the time")
    for size in (small, large):
        what = f"state of {size}: length copied half of the time, with attention against without"
        yield at_least(reach[size, True], reach[size, False], what).given(learned, budget)
    names = {which: f"state of {which[0]}, {'with' if which[1] else 'without'} attention" for which in shares}
    yield figure.curves(
        "Without attention the state limits what can be copied",
        "length of the sequence",
        "share copied without an error",
        points={names[which]: (each, share) for which, share in shares.items()},
    )


def _half(share: np.ndarray) -> float:
    """The length at which the share falls below one half, interpolated; the longest if it does not."""
    below = np.flatnonzero(share < 0.5)
    if not below.size:
        return float(len(share))
    at = below[0]
    if at == 0:
        return 0.0
    return float(at + (share[at - 1] - 0.5) / (share[at - 1] - share[at]))
