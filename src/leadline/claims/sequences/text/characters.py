"""A network for the next character."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import sequences
from leadline.claims.scenarios.sequences.character_networks import BATCH, WINDOW, log_probabilities, test_rows, trained
from leadline.claims.scenarios.sequences.corpora import corpus
from leadline.evidence import Int, OneOf, at_most, close, exactly, model
from leadline.presentation import figure

LINES = {"order 1": 1, "order 2": 2, "order 3": 3, "order 5": 5}


@model(
    sources=("penn",),
    shows=("sequences.SequenceNetwork", "sequences.sample_decode", "sequences.computed_by"),
    slow="a minute",
    empirical=True,
)
def char_language_model(
    key, cell: OneOf("lru", "gru", "lstm", "mingru") = "lru", width: Int(16, 128) = 32, num_steps: Int(100, 4000) = 300
):
    r"""A character language model.

    An embedding, a recurrent cell and a softmax over the symbols, trained by the cross entropy of the next character.
    With little training it predicts new text better than counts of pairs. Its state carries on: reading a text in parts
    gives what reading it at once gives. A linear cell gives the same by a loop, a scan, a convolution or a matrix.

    $$p(x_{t+1} | x_{\le t}) = \mathrm{softmax}(W z_t + c), \quad z_t = F(z_{t-1}, e(x_t)), \quad
    \min_\theta -\frac1T \sum_t \ln p_\theta(x_{t+1} | x_{\le t})$$

    Assumes: the training got below counts of single characters within its budget.

    Check: losses on the same new text, beside Witten-Bell models of orders 1, 2, 3 and 5; Shakespeare where it is at
    hand, else made-up sentences.
    """
    source = corpus()
    network, history = trained(cell, width, num_steps)
    rows = test_rows(16)
    losses = -np.asarray(log_probabilities(network, rows))
    score = sequences.score_text(-losses.ravel(), tokeniser="characters")
    counted = sequences.fit_ngrams(source.train, 5, symbols=source.symbols)
    flat = np.asarray(rows)
    lines = {
        name: float(-np.mean([counted.of_order(n).log_probabilities(row[1:], before=row[:1]) for row in flat]))
        for name, n in LINES.items()
    }
    learned = score.nats_per_token < lines["order 1"]
    budget = "the training got below counts of single characters within its budget"
    bits = f"{score.bits_per_character:.3f} bits a character, perplexity {score.perplexity:.2f}"
    what = f"{cell} of width {width} on new text ({bits}): nats a character, below counts of pairs"
    yield at_most(score.nats_per_token, lines["order 2"], what, strict=True).given(learned, budget)
    windows = np.stack([source.test[10 * i : 10 * i + WINDOW + 1] for i in range(1500)])
    by_context = -np.asarray(log_probabilities(network, jnp.asarray(windows))).mean(0)
    what = "loss with 33 to 64 characters before, against that with 1 to 4, on the same windows"
    yield at_most(by_context[32:].mean(), by_context[:4].mean(), what).given(learned, budget)
    start = _end(network, rows[0, :500])
    later, at_once = _logits(network, rows[0, 500:600], start), _logits(network, rows[0, :600])[500:]
    yield close(later, at_once, "logits of a second part read on from the first, against one pass", atol=1e-3)
    if cell in ("lru", "mingru"):
        ways = ("loop", "convolution", "dense") if cell == "lru" else ("loop", "dense")
        short = rows[0, :200]
        scanned = _logits(sequences.computed_by(network, "scan"), short)
        for by in ways:
            found = _logits(sequences.computed_by(network, by), short)
            yield close(found, scanned, f"logits by {by}, against the scan", atol=1e-4, rtol=1e-4)
    passage = _passage(network, key)
    begun, first = _states(network), np.zeros(1, int)
    step = partial(_step, network)
    likeliest = sequences.greedy_decode(step, begun, first, max_length=30)
    cold = sequences.sample_decode(step, begun, first, max_length=30, temperature=1e-4, key=key)
    yield exactly(cold.tokens, likeliest.tokens, "text drawn at temperature 0.0001, against the greedy one")
    seen = (np.arange(len(history)) + 1) * BATCH * WINDOW * num_steps / len(history)
    drawn = figure.curves(
        f"{cell}: {score.nats_per_token:.3f} nats on new text",
        "characters seen",
        "loss, nats per character",
        points={"training": (seen, np.asarray(history)), "new text": ([seen[-1]], [score.nats_per_token])},
        lines={f"Witten-Bell, {name}": (seen[[0, -1]], [loss, loss]) for name, loss in lines.items()},
    )
    rowed = [(0.0, -float(i), line) for i, line in enumerate(passage)]
    wide = ((-0.5, 20.0), (-len(passage) - 0.5, 1.0))
    said = figure.plane(
        "A passage it wrote", "", "", labels=rowed, points={"": np.zeros((0, 2))}, domain=wide, axes=False
    )
    yield figure.beside("A recurrent network passes the lines of n-gram models as it reads on", drawn, said)


def _states(network):
    """The state before a text, as one row."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[None], network.init())


@eqx.filter_jit
def _logits(network, tokens, state=None):
    return network(tokens, state=state)


@eqx.filter_jit
def _end(network, tokens):
    return sequences.run(network.cell, jax.vmap(network.encoded)(tokens)).last


@eqx.filter_jit
def _step(network, state, tokens):
    """The step of a decoder: one more character of each row."""
    state = jax.vmap(network.update)(state, jnp.asarray(tokens))
    return jax.nn.log_softmax(jax.vmap(network.predict)(state)), state


def _passage(network, key, length=240):
    """Drawn from the nucleus of 0.9, cut into lines."""
    drawn = sequences.sample_decode(
        partial(_step, network), _states(network), np.zeros(1, int), max_length=length, nucleus=0.9, key=key
    )
    text = corpus().text.decode(drawn.tokens[0])
    lines = [line[i : i + 44] for line in text.splitlines() for i in range(0, max(len(line), 1), 44)]
    return lines[:12]
