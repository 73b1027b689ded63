"""A decoder that knows what it wrote, and one that does not."""

import numpy as np
import optax

from leadline import sequences, training
from leadline.evidence import Int, at_least, at_most, close, counts_as, model
from leadline.presentation import figure
from leadline.probability import entropy


@model(sources=("sheet",), shows=("sequences.EncoderDecoder", "sequences.teacher_forcing"))
def output_feedback(key, length: Int(2, 10) = 6, num_steps: Int(300, 1000) = 400):
    r"""Links from outputs to the next state.

    Without links from what was written to the next state the outputs are independent given the input, and the least
    Kullback-Leibler divergence from the truth is the total correlation of the outputs. With links a fair coin that is
    repeated costs one toss, without them every repetition costs one.

    $$\min_q KL(p\,\|\,q) = \sum_t H(y_t|x) - H(y_{1:T}|x), \qquad T \ln 2 - \ln 2 \text{ for } y_1 = \dots = y_T$$

    Assumes: the training got within 1% of its floor.

    Check: both models are trained on the repeated coin; losses of whole sequences; the information that the second
    symbol of drawn texts has on the first.
    """
    rows = 1 + (np.arange(64) % 2)
    batch = sequences.Pairs(np.ones((64, 1), np.int32), np.repeat(rows[:, None], length, 1).astype(np.int32))
    floors = {True: float(np.log(2)), False: float(length * np.log(2))}
    together = float(entropy(np.array([0.5, 0.5])))
    correlation = length * float(entropy(np.array([0.5, 0.5]))) - together
    yield close(
        floors[False] - floors[True], correlation, "gap of the two floors, against the total correlation", rtol=1e-12
    )
    losses, tables = {}, {}
    for feedback, floor in floors.items():
        losses[feedback], net = _fitted(batch, feedback, num_steps, key)
        name = "with" if feedback else "without"
        total = length * losses[feedback][-1]
        what = f"{name} links: loss of a sequence of {length}, nats"
        yield at_least(total, floor, what, rtol=1e-4)
        yield at_most(total, 1.01 * floor, f"{what}, within 1% of its floor").as_empirical()
        drawn = sequences.translate_sequences(
            net, np.ones((2000, 1), int), max_length=2, temperature=1.0, key=key
        ).tokens
        tables[feedback] = _table(drawn)
    alone = tables[False] / tables[False].sum()
    independent = np.outer(alone.sum(1), alone.sum(0))
    what = "without links: drawn pairs of symbols, against the product of their shares"
    yield counts_as(tables[False], independent, what)
    what = "with links: information of the second symbol on the first, nats"
    yield close(_mutual_information(tables[True]), np.log(2), what, rtol=0.05).as_empirical()
    steps = np.arange(1, num_steps + 1)
    few = np.unique(np.geomspace(1, num_steps, 25).astype(int))
    yield figure.curves(
        f"Without links a repeated coin costs {length} tosses, with them one",
        "step",
        "loss of a sequence, nats",
        points={
            "with links": (few, length * np.asarray(losses[True])[few - 1]),
            "without links": (few, length * np.asarray(losses[False])[few - 1]),
        },
        lines={"ln 2": (steps, np.full(num_steps, floors[True])), "T ln 2": (steps, np.full(num_steps, floors[False]))},
        log="y",
    )


def _fitted(batch, feedback: bool, num_steps: int, key):
    """The loss per symbol of each step, and the network."""
    net = sequences.EncoderDecoder(2, 3, 8, feedback=feedback, key=key)
    run = training.fit(
        net, batch, objective=sequences.teacher_forcing, optimiser=optax.adam(0.03), epochs=num_steps, batch=64, key=key
    )
    return run.history["loss"], run.model


def _table(texts: np.ndarray) -> np.ndarray:
    """How often each pair of letters was drawn; a text that ended before has no second letter."""
    table = np.zeros((2, 2))
    kept = texts[(texts > 0).all(1)] - 1
    np.add.at(table, (kept[:, 0], kept[:, 1]), 1)
    return table


def _mutual_information(table: np.ndarray) -> float:
    """Of two symbols, from their counts."""
    table = table / table.sum()
    expected = np.outer(table.sum(1), table.sum(0))
    some = table > 0
    return float((table[some] * np.log(table[some] / expected[some])).sum())
