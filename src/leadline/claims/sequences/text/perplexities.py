"""Perplexity: in which unit, of what, and how low it can be."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import chains, data, sequences, training
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly, instrument, mean, reference
from leadline.presentation import figure


@instrument(sources=("penn",), shows=("sequences.perplexity", "sequences.score_text", "sequences.TextScore"))
def perplexity(key, symbols: Int(2, 100) = 27, tokens: Int(2, 60) = 30, loss: Real(0.1, 6.0) = 3.55):
    r"""Perplexity.

    The perplexity of a text under a model is the exponential of the mean loss in nats, 2 to the mean loss in bits, and
    the inverse geometric mean of the tokens' probabilities: the uniform model over C symbols has C, a perfect one 1.
    Logarithms are averaged first. Losses of different tokenisers are on different scales, unless they are converted to
    bits per character.

    $$\mathrm{PP} = \exp\Big({-\frac1N \sum_t \ln p_t}\Big) = 2^{\text{bits per token}}
    = \Big(\prod_t p_t\Big)^{-1/N}$$

    Assumes: every token has a probability above 0.

    Check: random probabilities, whose product is small but no underflow; the same text in two tokenisations.
    """
    rng = data.generator(key)
    uniform = sequences.score_text(np.full(tokens, -math.log(symbols)), tokeniser="characters")
    yield close(uniform.perplexity, symbols, "uniform model: perplexity, against the number of symbols", rtol=1e-12)
    certain = sequences.score_text(np.zeros(tokens), tokeniser="characters")
    yield close(certain.perplexity, 1.0, "a model that is always right and sure", rtol=1e-15)
    chances = rng.uniform(0.05, 0.9, tokens)
    score = sequences.score_text(np.log(chances), tokeniser="characters")
    likelihood = float(np.prod(chances))
    right = close(score.perplexity, likelihood ** (-1 / tokens), "likelihood to the power -1/N", rtol=1e-10)
    yield right
    wrong = close(score.perplexity, 1 / likelihood, "one over the likelihood", rtol=0.01)
    prints = "perplexity is one over the likelihood of the dataset"
    yield erratum(wrong, of=right, by="penn", prints=prints)
    yield close(2**score.bits_per_token, score.perplexity, "2 to the bits per token, against exp of nats", rtol=1e-12)
    what = "mean of the tokens' inverse probabilities, which is not the perplexity but above it"
    yield at_least(np.mean(1 / chances), score.perplexity, what)
    bits, nats = sequences.perplexity(loss, unit="bits"), sequences.perplexity(loss, unit="nats")
    what = f"a loss of {loss:.3g} read in nats and in bits: log ratio of the perplexities"
    yield close(math.log(nats / bits), loss * (1 - math.log(2)), what, rtol=1e-10)
    known = reference(sequences.perplexity(3.55, unit="nats"), 34.813, "3.55 nats: perplexity", digits=5)
    yield known
    yield reference(sequences.perplexity(3.55, unit="bits"), 11.713, "3.55 bits: perplexity", digits=5)
    printed = close(sequences.perplexity(3.55, unit="nats"), 11.7, "3.55 nats: perplexity", rtol=0.01)
    yield erratum(printed, of=known, by="penn", prints="a loss of 3.55 (in nats) is a perplexity of 2^3.55 = 11.7")
    pairs = sequences.score_text(np.full(tokens, 2 * math.log(0.3)), tokeniser="pairs", characters=2 * tokens)
    single = sequences.score_text(np.full(2 * tokens, math.log(0.3)), tokeniser="characters")
    yield exactly(_refuses(pairs, single), True, "two tokenisers: a comparison of losses per token is refused")
    what = "the same text in pairs of characters: bits per character, against one by one"
    yield close(pairs.bits_per_character, single.bits_per_character, what, rtol=1e-12)
    yield close(pairs.perplexity, single.perplexity**2, "perplexity per pair, against its square", rtol=1e-10)
    losses = np.linspace(0.05, 5, 100)
    yield figure.curves(
        "The same number is another perplexity in nats than in bits",
        "mean loss per token",
        "perplexity",
        lines={
            "nats: exp(loss)": (losses, [sequences.perplexity(float(x), unit="nats") for x in losses]),
            "bits: 2^loss": (losses, [sequences.perplexity(float(x), unit="bits") for x in losses]),
        },
        points={f"loss {loss:.3g}": ([loss, loss], [nats, bits])},
        log="y",
    )


def _refuses(a: sequences.TextScore, b: sequences.TextScore) -> bool:
    try:
        a.excess(b)
    except ValueError:
        return True
    return False


@claim(sources=("penn",), shows=("sequences.fit_ngrams", "sequences.sequence_network"))
def uniform_source_perplexity(
    key, symbols: Int(2, 64) = 8, tokens: Int(2000, 50000, log=True) = 20000, persistence: Real(0.0, 0.9) = 0.6
):
    r"""No model predicts better than the source allows.

    Of tokens that are independent and uniform over C symbols no model has an expected loss below ln C or a perplexity
    below C; of any source the floor is its entropy rate. On the text that it was trained on a model may be better, by
    memorising, on a new one it is not.

    $$\min_q E[-\ln q(x_t | x_{<t})] = \ln C, \qquad \text{Markov: } -\sum_{ij} \pi_i P_{ij} \ln P_{ij}$$

    Assumes: the new text is drawn from the source, independently of what was trained on.

    Check: n-gram models of orders 1 to 4 and a recurrent network that is trained on little, on new tokens; a Markov
    chain with a known entropy rate.
    """
    rng = data.generator(key)
    train, test = rng.integers(symbols, size=(2, tokens))
    floor = math.log(symbols)
    curves = {"trained on": [], "new": []}
    orders = (1, 2, 3, 4)
    for order in orders:
        fitted = sequences.fit_ngrams(train, order, symbols=symbols)
        losses = -fitted.log_probabilities(test)
        yield mean(losses, floor, f"order {order}, uniform tokens: loss on new text, at least ln C", side="at least")
        curves["new"].append(float(losses.mean()))
        curves["trained on"].append(float(-fitted.log_probabilities(train).mean()))
    best = at_most(curves["new"][0], 1.01 * floor, "order 1: loss on new text, within 1% of ln C")
    yield best
    printed = close(curves["new"][0], -floor, "order 1: loss on new text, against -ln C", rtol=0.01)
    yield erratum(printed, of=best, by="penn", prints="the optimal loss is -log C, and exp(-log C) = C")
    few = _memorised(symbols, key)
    what = "recurrent network on 8 sequences of 32: loss on what it was trained on, below ln C"
    yield at_most(few[0], floor, what, strict=True).as_empirical()
    yield mean(few[1], floor, "the same network on new tokens: at least ln C", side="at least")
    moves = (1 - persistence) * rng.dirichlet(np.ones(symbols), symbols) + persistence * np.eye(symbols)
    chain = chains.FiniteChain(moves)
    law = chains.invariant_law(chain)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = -float(law @ np.where(moves > 0, moves * np.log(moves), 0.0).sum(1))
    walks = [_walk(moves, law, tokens, rng) for _ in range(2)]
    fitted = sequences.fit_ngrams(walks[0], 2, symbols=symbols)
    losses = -fitted.log_probabilities(walks[1])[1:]
    batches = losses[: len(losses) // 50 * 50].reshape(50, -1).mean(1)
    yield mean(batches, rate, "Markov chain, order 2: loss on a new walk, at least its entropy rate", side="at least")
    excess = symbols * (symbols - 1) / tokens  # twice what estimating the rows costs
    what = "Markov chain, order 2: loss on a new walk, within 3% and the cost of estimating its rows"
    yield at_most(float(losses.mean()), rate * 1.03 + excess + 4 * batches.std() / math.sqrt(50), what)
    yield figure.curves(
        f"On new text no order gets below ln C = {floor:.3f}",
        "order of the model",
        "loss, nats per token",
        points={name: (orders, values) for name, values in curves.items()},
        lines={"ln C": (orders, [floor] * len(orders))},
    )


def _walk(moves: np.ndarray, law: np.ndarray, length: int, rng: np.random.Generator) -> np.ndarray:
    """A path of the chain, begun in its invariant law."""
    edges = moves.cumsum(1)
    draws, path = rng.uniform(size=length), np.empty(length, int)
    path[0] = rng.choice(len(law), p=law)
    for t in range(1, length):
        path[t] = min(np.searchsorted(edges[path[t - 1]], draws[t]), len(law) - 1)
    return path


def _memorised(symbols: int, key) -> tuple[float, np.ndarray]:
    """The loss of a small network on the few sequences that it was trained on, and its losses on new ones."""
    key_tokens, key_net, key_fit = jax.random.split(key, 3)
    tokens = jax.random.randint(key_tokens, (72, 33), 0, symbols)
    few, new = sequences.next_tokens(tokens[:8]), sequences.next_tokens(tokens[8:])
    net = sequences.sequence_network("gru", 8, 32, symbols, vocabulary=symbols, dtype=jnp.float32, key=key_net)
    run = training.fit(
        net, few, objective=sequences.SequenceObjective(), optimiser=optax.adam(0.02), epochs=80, batch=8, key=key_fit
    )
    rows, _ = sequences.SequenceObjective()(run.model, new)
    return float(run.history["loss"][-1]), np.asarray(rows.losses).mean(1)
