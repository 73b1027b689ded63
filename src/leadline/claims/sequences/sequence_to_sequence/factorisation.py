"""The probability of a sequence as a product of conditional ones."""

import itertools

import jax.numpy as jnp
import numpy as np

from leadline import data, sequences
from leadline.evidence import Int, at_least, at_most, claim, close, counts_as, exactly
from leadline.presentation import figure
from leadline.probability import kl_divergence


@claim(sources=("eth", "sheet"), shows=("sequences.text_log_probability", "sequences.EncoderDecoder"))
def autoregressive_factorisation(key, letters: Int(1, 3) = 2, longest: Int(2, 5) = 4, size: Int(2, 16) = 8):
    r"""The chain rule for sequences.

    A product of conditional probabilities of the next symbol is a probability of whole sequences; with a symbol that
    ends them it sums to one over all lengths. A causal model conditions $y_t$ on the inputs up to t alone; that is
    exact if and only if later inputs say nothing more of $y_t$, else it loses what they would have said.

    $$p(y_{1:n}|x) = \prod_i p(y_i | x, y_{<i}), \qquad
    KL(p \,\|\, p_{\text{causal}}) = \sum_t I(y_t; x_{>t} \,|\, x_{\le t}, y_{<t})$$

    Assumes: every step is a probability distribution over the symbols and the end.

    Check: all sequences of a random encoder and decoder, enumerated; sequences drawn from it; tables of two inputs and
    two outputs for the causal form.
    """
    symbols = letters + 1
    net = sequences.EncoderDecoder(4, symbols, size, attention=True, key=key)
    source = np.array([1, 3, 2])
    texts = np.array(
        [
            (*text, *[0] * (longest - len(text)))
            for length in range(longest + 1)
            for text in itertools.product(range(1, symbols), repeat=length)
        ]
    )  # those that end within the length, and the beginnings of all others
    chances = _chances(net, source, texts)
    lengths = (texts > 0).sum(1)
    by_length = np.array([chances[lengths == n].sum() for n in range(longest + 1)])
    what = f"sum over all sequences of fewer than {longest} symbols, and the longer ones"
    yield close(by_length.sum(), 1.0, what, atol=1e-12)
    first = np.exp(np.asarray(net.log_probabilities(jnp.asarray(source), jnp.ones(1, int))))[0]
    yield close(by_length[1:].sum(), first[1:].sum(), "all that do not end at once, against one step", atol=1e-12)
    rows = np.repeat(source[None], 3000, 0)
    drawn = sequences.translate_sequences(net, rows, max_length=longest, temperature=1.0, key=key).tokens
    drawn = np.pad(drawn, ((0, 0), (0, longest - drawn.shape[1])))
    counts = [(drawn == text).all(1).sum() for text in texts]
    yield counts_as(counts, chances / chances.sum(), "texts drawn symbol by symbol, against their probabilities")
    text = jnp.ones(longest, int)
    plain, other = (net.log_probabilities(jnp.asarray(source), y) for y in (text, text.at[1].set(0)))
    yield exactly(np.abs(plain - other)[:2].max(), 0.0, "change of the first two conditionals when y₂ is another")
    yield from _causal(data.generator(key))
    tail = by_length[::-1].cumsum()[::-1]
    each = np.arange(longest + 1)
    drawn_lengths = np.bincount((drawn > 0).sum(1), minlength=longest + 1) / len(drawn)
    yield figure.curves(
        "Sequences end at some length: their probabilities sum to one",
        "length, without the end",
        "probability",
        lines={"this length": (each, by_length), "this length or more": (each, tail)},
        points={"this length, drawn": (each, drawn_lengths)},
    )


def _chances(net, source, texts) -> np.ndarray:
    sources = np.repeat(source[None], len(texts), 0)
    return np.exp(np.asarray(sequences.text_log_probability(net, jnp.asarray(sources), jnp.asarray(texts))))


def _causal(rng: np.random.Generator):
    """Two binary inputs and outputs: what the causal product loses, against the information that it leaves out."""
    for name, mixing in (("later inputs matter", 1.0), ("y₁ depends on x₁ alone", 0.0)):
        inputs = rng.dirichlet(np.ones(4)).reshape(2, 2)  # p(x₁, x₂)
        first = rng.dirichlet(np.ones(2), (2, 2))  # p(y₁ | x₁, x₂)
        first = mixing * first + (1 - mixing) * first[:, :1]
        second = rng.dirichlet(np.ones(2), (2, 2, 2))  # p(y₂ | x₁, x₂, y₁)
        joint = inputs[..., None, None] * first[..., None] * second
        causal = np.einsum("ab,aby->ay", inputs, first) / inputs.sum(1)[:, None]  # p(y₁ | x₁)
        approximate = inputs[..., None, None] * causal[:, None, :, None] * second
        lost = float(kl_divergence(joint.ravel(), approximate.ravel()))
        triple = inputs[..., None] * first  # p(x₁, x₂, y₁)
        ratio = (
            triple * triple.sum((1, 2), keepdims=True) / (triple.sum(2, keepdims=True) * triple.sum(1, keepdims=True))
        )
        information = float((triple * np.log(ratio)).sum())
        what = f"{name}: what the causal product loses, against I(y₁; x₂ | x₁)"
        yield close(lost, information, what, atol=1e-12)
        if mixing:
            yield at_least(lost, 0.0, f"{name}: nats lost", strict=True)
        else:
            yield at_most(lost, 1e-12, f"{name}: nats lost")
