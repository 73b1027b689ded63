"""The probability of a sequence as a product of conditional ones."""

import itertools

import jax
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
    ends them it sums to one over all lengths. A causal model conditions $y_t$ on the inputs up to t alone; that is exact
    if and only if later inputs say nothing more of $y_t$, else it loses what they would have said.

    $$p(y_{1:n}|x) = \prod_i p(y_i | x, y_{<i}), \qquad
    KL(p \,\|\, p_{\text{causal}}) = \sum_t I(y_t; x_{>t} \,|\, x_{\le t}, y_{<t})$$

    Assumes: every step is a probability distribution over the symbols and the end.

    Check: all sequences of a random encoder and decoder, enumerated; sequences drawn from it; tables of two inputs and
    two outputs for the causal form.
    """
    symbols = letters + 1
    net = sequences.EncoderDecoder(4, symbols, size, attention=True, key=key)
    source = np.array([1, 3, 2])
    open_mass, ended = [1.0], []
    for length in range(1, longest + 1):
        texts = np.array(list(itertools.product(range(1, symbols), repeat=length)))
        chances = _chances(net, source, texts)
        closed = _chances(
            net, source, np.pad(texts[:, :-1], ((0, 0), (0, 1)))[: letters ** (length - 1) * letters : letters]
        )
        open_mass.append(float(chances.sum()))
        ended.append(float(closed.sum()))
    what = f"sum over all sequences that end within {longest} symbols, and the longer ones"
    yield close(sum(ended) + open_mass[-1], 1.0, what, atol=1e-12)
    drops = np.diff(open_mass)
    yield at_most(drops, 0.0, "change of the probability of longer sequences from one length to the next", strict=True)
    yield close(-drops, ended, "what ends at a length, against the drop of what goes on", atol=1e-12)
    yield from _draws(net, source, key)
    later = jnp.array([1, 1, letters, 1])
    changed = later.at[2].set(0)
    first, second = (net.log_probabilities(jnp.asarray(source), y)[:3] for y in (later, changed))
    yield exactly(np.abs(first - second).max(), 0.0, "change of p(y₁), p(y₂), p(y₃) when y₃ is another")
    yield from _causal(data.generator(key))
    lengths = np.arange(longest + 1)
    yield figure.curves(
        "Sequences end at some length: their probabilities sum to one",
        "length, without the end",
        "probability",
        points={"longer or as long": (lengths, open_mass), "ends here": (lengths[:-1], ended)},
        lines={"both together": (lengths[:-1], np.cumsum(ended) + np.array(open_mass[1:]))},
    )


def _chances(net, source, texts) -> np.ndarray:
    sources = np.repeat(source[None], len(texts), 0)
    return np.exp(np.asarray(sequences.text_log_probability(net, jnp.asarray(sources), jnp.asarray(texts))))


def _draws(net, source, key):
    """2000 texts of up to two symbols, drawn one symbol after the other."""
    rows = np.repeat(source[None], 2000, 0)
    drawn = sequences.translate(net, rows, max_length=2, temperature=1.0, key=key).tokens
    drawn = np.pad(drawn, ((0, 0), (0, 2 - drawn.shape[1])))
    symbols = net.head.out_features
    texts = np.array([(0, 0), *((a, b) for a in range(1, symbols) for b in range(symbols))])
    counts = [(drawn == text).all(1).sum() for text in texts]
    chances = _chances(net, source, texts)
    yield counts_as(counts, chances / chances.sum(), "texts of up to two symbols, drawn, against their probabilities")


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
