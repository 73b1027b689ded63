"""Reading one sequence and writing another."""

import numpy as np

from leadline import sequences
from leadline.claims.scenarios.sequences.copying_networks import pairs, trained
from leadline.evidence import Int, OneOf, at_least, close, exactly, model
from leadline.presentation import figure


@model(sources=("eth", "sheet"), shows=("sequences.EncoderDecoder", "sequences.translate_sequences"), slow="20 seconds")
def encoder_decoder_rnn(
    key,
    task: OneOf("reversal", "copy") = "reversal",
    attention: bool = True,
    longest: Int(2, 8) = 5,
    num_steps: Int(300, 4000) = 640,
):
    r"""Encoder and decoder.

    One recurrent network reads a sequence; its last state is where a second one begins, which is fed what it wrote
    before and goes on until it writes the end. The text may be the likeliest symbol each time, drawn, or the best found
    by carrying several beginnings along. A beam of one is greedy, one as wide as there are beginnings finds the best.

    $$h_i = F(h_{i-1}, x_i), \quad s_0 = h_S, \quad s_t = G(s_{t-1}, y_{t-1}), \quad
    p(y_t | x, y_{<t}) = \mathrm{softmax}(W s_t)$$

    Assumes: the training wrote half of the short sequences rightly within its budget.

    Check: sequences turned round; new ones, by length; beams of width 1, 4 and all against greedy decoding and against
    all short texts.
    """
    fitted = trained(task, longest=longest, attention=attention, num_steps=num_steps)
    test = pairs(task, longest, 600, seed=5)
    net = fitted.networks[0]
    greedy = [sequences.translate_sequences(n, test.source, max_length=longest + 1) for n in fitted.networks]
    right = np.stack([sequences.exact_matches(found, test.target) for found in greedy])
    lengths = (test.source > 0).sum(1)
    share = {n: right[:, lengths == n].mean() for n in range(1, longest + 1)}
    learned = share[1] >= 0.5
    budget = "the training wrote half of the sequences of length 1 rightly within its budget"
    what = f"new sequences of lengths 1 and 2 written without an error, after {num_steps} steps"
    yield at_least((share[1] + share[2]) / 2, 0.9, what).given(learned, budget).as_empirical()
    one = sequences.translate_sequences(net, test.source, max_length=longest + 1, width=1)
    yield exactly(_filled(one, longest), _filled(greedy[0], longest), "texts by a beam of width 1, against greedy ones")
    yield close(one.log_probability, greedy[0].log_probability, "their log-probabilities", atol=1e-5)
    some = test.source[:60]
    beam = sequences.translate_sequences(net, some, max_length=longest + 1, width=4)
    gain = beam.log_probability - greedy[0].log_probability[:60]
    yield at_least(gain.mean(), 0.0, "beam of width 4: mean gain in log-probability", atol=1e-6).as_empirical()
    yield from _exhaustive(net, test.source[:3])
    names = [f"seed {seed}" for seed in range(len(right))]
    yield figure.curves(
        f"{task}: {100 * right.mean():.0f}% of new sequences are written without an error",
        "length of the input",
        "share written without an error",
        points={
            name: (list(share), [row[lengths == n].mean() for n in share])
            for name, row in zip(names, right, strict=True)
        },
    )


def _filled(found, longest: int) -> np.ndarray:
    return np.pad(found.tokens, ((0, 0), (0, longest + 1 - found.tokens.shape[1])))


def _exhaustive(net, sources):
    """A beam as wide as there are beginnings of two symbols, against all texts of at most two."""
    symbols = net.head.out_features
    texts = np.array([(0, 0), *((a, b) for a in range(1, symbols) for b in range(symbols))])
    for row, source in enumerate(sources):
        every = np.repeat(source[None], len(texts), 0)
        logs = np.asarray(sequences.text_log_probability(net, every, texts))
        wide = sequences.translate_sequences(net, source[None], max_length=2, width=symbols)
        text = np.pad(wide.tokens[0], (0, 2 - wide.tokens.shape[1]))
        what = f"source {row + 1}: best text of at most two symbols by a wide beam, against all of them"
        yield exactly(text, texts[logs.argmax()], what)
        yield close(wide.log_probability[0], logs.max(), f"source {row + 1}: its log-probability", atol=1e-5)
