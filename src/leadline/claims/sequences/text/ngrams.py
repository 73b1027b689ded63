"""Models that count."""

import math
from collections import Counter

import numpy as np

from leadline import sequences
from leadline.claims.scenarios.sequences.corpora import AT_HAND, corpus
from leadline.evidence import Int, Real, at_least, at_most, close, counts_as, exactly, model, reference
from leadline.presentation import figure
from leadline.probability import entropy

WITTEN_BELL = (3.347, 2.486, 2.049, 1.774, 1.669, 1.698, 1.779)  # nats a character, orders 1 to 7


@model(sources=("penn",), shows=("sequences.fit_ngrams", "sequences.NGramModel"))
def n_gram_language_model(key, k: Real(0.001, 1.0, log=True) = 0.05, tested: Int(2000, 111540) = 111540):
    r"""The n-gram model.

    The next character depends on the n − 1 before it and its probability is counted. Witten and Bell's smoothing mixes
    each order with the one below, by how many different characters followed the context; adding a constant to all
    counts is the crude way. Without either a string that was never seen has the probability 0 and a new text an
    infinite loss. The training loss falls with the order, the loss on new text has a minimum.

    $$p(w|h) = \frac{c(h,w) + N(h)\, p(w|h')}{c(h) + N(h)}, \qquad N(h) = |\{w : c(h,w) > 0\}|$$

    Assumes: the text is long against the number of contexts.

    Check: Shakespeare where it is at hand, else made-up sentences; the first nine tenths are counted; the formula once
    more by dictionaries of strings on a short text.
    """
    source = corpus()
    counted = sequences.fit_ngrams(source.train, 7, symbols=source.symbols)
    orders = range(1, 8)
    test, part = source.test[:tested], source.train[: len(source.test)]
    losses = {n: -float(counted.of_order(n).log_probabilities(test).mean()) for n in orders}
    trained = {n: -float(counted.of_order(n, "none").log_probabilities(part).mean()) for n in orders}
    whole = tested >= len(source.test) and source.is_shakespeare
    for order, known in zip(orders, WITTEN_BELL, strict=True):
        what = f"tinyshakespeare, Witten-Bell of order {order}: nats a character on the last tenth"
        yield reference(losses[order], known, what, digits=4).given(whole, f"{AT_HAND}, and all of it is tested")
    contexts = {"none": [], "seen": source.train[1000:1006], "never seen": [0, 1, 2, 0, 1, 2]}
    laplace = sequences.fit_ngrams(source.train[:20000], 3, symbols=source.symbols, smoothing="add-k", k=k)
    for name, fitted in (("Witten-Bell", counted), (f"add {k:.2g}", laplace)):
        sums = [fitted.distribution(context).sum() for context in contexts.values()]
        yield close(sums, 1.0, f"{name}: sum of the probabilities after contexts seen and not", atol=1e-12)
    alone = counted.of_order(1, "none")
    frequencies = np.bincount(source.train, minlength=source.symbols) / len(source.train)
    what = "order 1 without smoothing: loss on its own text, against the entropy of the characters"
    own = -float(alone.log_probabilities(source.train).mean())
    yield close(own, float(entropy(frequencies[frequencies > 0])), what, rtol=1e-9)
    yield close(list(_by_dictionaries(source)), list(_by_library(source)), "a short text, by dictionaries", atol=1e-12)
    bare = sequences.score_text(counted.of_order(5, "none").log_probabilities(test), tokeniser="characters")
    yield exactly(bare.nats, math.inf, "order 5 without smoothing: loss on new text")
    yield at_least(bare.impossible, 1, "characters of new text that it holds to be impossible")
    falling = np.diff(list(trained.values()))
    yield at_most(falling, 0.0, "change of the unsmoothed training loss from one order to the next", atol=1e-3)
    least = min(losses, key=losses.__getitem__)
    yield exactly(least, 5, "order of the least loss on new text").given(whole, AT_HAND)
    drawn = counted.of_order(1).sample(1500, key=key)
    counts, expected = np.bincount(drawn, minlength=source.symbols), counted.of_order(1).distribution()
    order = np.argsort(-expected)
    yield counts_as(counts[order], expected[order], "characters drawn from order 1, against its probabilities")
    yield figure.curves(
        f"{source.text.name}: order {least} predicts new text best",
        "order n",
        "loss, nats per character",
        points={
            "new text, Witten-Bell": (list(orders), list(losses.values())),
            "training text, no smoothing": (list(orders), list(trained.values())),
        },
        lines={"specification": (list(orders), list(WITTEN_BELL))} if whole else {},
    )


def _by_library(source):
    text = source.train[:3000]
    fitted = sequences.fit_ngrams(text, 3, symbols=source.symbols)
    return np.exp(fitted.log_probabilities(source.train[3000:3060], before=text[-2:]))


def _by_dictionaries(source):
    """The same recursion from counts of tuples."""
    text = source.train[:3000].tolist()
    counts = Counter(tuple(text[i : i + n]) for n in (1, 2, 3) for i in range(len(text) - n + 1))

    def chance(context, symbol):
        below = 1 / source.symbols if not context else chance(context[1:], symbol)
        after = [counts[(*context, w)] for w in range(source.symbols)]
        kinds, total = sum(c > 0 for c in after), sum(after)
        if total == 0:
            return chance(context[1:], symbol)
        return (after[symbol] + kinds * (1 / source.symbols if not context else below)) / (total + kinds)

    stream = source.train[2998:3060].tolist()
    return [chance(tuple(stream[i - 2 : i]), stream[i]) for i in range(2, len(stream))]
