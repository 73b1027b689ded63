"""Blanks that only later words decide."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, sequences, training
from leadline.evidence import Int, at_least, claim, frequency
from leadline.presentation import figure

ROWS, NEW, EPOCHS = 1024, 1500, 15
LEARNT = 0.98


@claim(sources=("penn",), shows=("sequences.Bidirectional", "sequences.SequenceObjective"))
def future_context_infilling(key, choices: Int(2, 6) = 3, farthest: Int(1, 20) = 8, units: Int(4, 32) = 16):
    r"""A blank that later words decide.

    Where the missing word is fixed by a word that comes later, a model that reads forwards cannot do better than the
    Bayes rate given what came before: 1/c with c equally likely words. One that reads both ways can be perfect. So it
    is with labels $y_t = x_{t+1}$.

    Assumes: for the bidirectional network, that training reached its end within the budget.

    Check: Sentences of random words with a blank, whose word is repeated between one and `farthest` words later behind
    a mark; a forward GRU and a bidirectional one, trained alike, on new sentences.
    """
    keys = jax.random.split(key, 3)
    train, new = _sentences(keys[0], ROWS, choices, farthest), _sentences(keys[1], NEW, choices, farthest)
    right = {}
    for name, both in (("forwards", False), ("both directions", True)):
        net = sequences.sequence_network(
            "gru", 8, units, choices, vocabulary=2 * choices + 1, bidirectional=both, dtype=jnp.float32, key=keys[2]
        )
        run = training.fit(
            net,
            train[0],
            objective=sequences.SequenceObjective(),
            optimiser=optax.adam(0.01),
            epochs=EPOCHS,
            batch=32,
            key=keys[2],
        )
        guesses = jax.vmap(run.model)(new[0].inputs).argmax(-1)
        right[name] = np.asarray(((guesses == new[0].targets) & new[0].asked).any(1))
    what = f"share of blanks that a forward network fills in rightly, against 1/{choices}"
    yield frequency(int(right["forwards"].sum()), NEW, 1 / choices, what)
    filled = right["both directions"].mean()
    yield at_least(filled, LEARNT, "share that a bidirectional network fills in rightly").as_empirical()
    distances = np.arange(1, farthest + 1)
    by_distance = {
        name: (distances, [found[np.asarray(new[1]) == d].mean() for d in distances]) for name, found in right.items()
    }
    yield figure.curves(
        "What only a later word decides is chance to a forward network",
        "distance of the deciding word",
        "blanks filled in rightly",
        lines={"Bayes rate of the past": (distances, np.full(farthest, 1 / choices))},
        points=by_distance,
    )


def _sentences(key, rows, choices, farthest):
    """Words 0..c-1, blanks 2c, and marked words c..2c-1; the target is the marked word at the blank's place.

    The distances are returned besides.
    """
    rng = data.generator(key)
    steps = farthest + 4
    words, marked = rng.integers(0, choices, (rows, steps)), rng.integers(0, choices, rows)
    distance = rng.integers(1, farthest + 1, rows)
    blank = rng.integers(0, steps - distance)
    each = np.arange(rows)
    words[each, blank], words[each, blank + distance] = 2 * choices, choices + marked
    asked = np.arange(steps) == blank[:, None]
    targets = np.where(asked, marked[:, None], 0)
    return sequences.Sequences(jnp.asarray(words), jnp.asarray(targets), asked=jnp.asarray(asked)), distance
