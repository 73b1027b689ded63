"""How far back trained cells see: rules of thumb, and what is measured."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, sequences, training
from leadline.evidence import Int, at_least, claim, close
from leadline.presentation import figure

QUOTED = {"elman": 25.0, "lstm": 50.0}  # steps that the rule of thumb allows
CELLS = {"elman": 30, "gru": 16, "lstm": 14}  # units, for like numbers of parameters
NAMES = {"elman": "simple, tanh", "gru": "GRU", "lstm": "LSTM"}
PAIRS = 3
ROWS, NEW, BATCH = 2048, 1000, 64
DIGIT_UNITS, DIGIT_EPOCHS = 64, 20


@claim(
    sources=("penn",),
    empirical=True,
    slow="about two minutes",
    shows=("sequences.sequence_network", "sequences.adding_bits", "sequences.associative_recall"),
)
def gated_first_choice(key, epochs: Int(1, 40) = 12, farthest: Int(10, 120) = 60):
    r"""Which cell to try first: a rule of thumb.

    The heuristic: a simple network learns about 25 steps, an LSTM about 50, attention several hundred; try a GRU first.
    It depends on the task and on the budget. Here the largest lag at which a cell has 95 % of the answers right is
    measured on three tasks, for like numbers of parameters and one budget; and on short dense inputs, images of digits
    read pixel by pixel, a simple network with orthogonal weights and ReLU learns faster than a GRU.

    Assumes: nothing beyond the budget: more steps, other step sizes and longer training move every number.

    Check: Recall of a bit, adding of two marked bits, associative recall, at three lags; digits as 64 pixels after 20
    epochs. The quoted lags are drawn in.
    """
    counts = [networks.parameter_count(_network(cell, 2, 2, key)) for cell in CELLS]
    yield close(
        np.array(counts) / counts[0], 1.0, "parameters of the cells, over those of the simple network", rtol=0.15
    )
    lags = np.unique(np.geomspace(4, farthest, 3).round().astype(int))
    tasks = {
        "recall": lambda rows, lag, k: _recall(rows, lag, k),
        "adding": lambda rows, lag, k: sequences.adding_bits(rows, lag + 1, key=k),
        "associative recall": lambda rows, lag, k: sequences.associative_recall(rows, PAIRS, lag, key=k),
    }
    panels = []
    for name, draw in tasks.items():
        curves = {
            cell: np.array([_accuracy(cell, draw, int(lag), epochs, jax.random.fold_in(key, int(lag))) for lag in lags])
            for cell in CELLS
        }
        gated = np.maximum(curves["gru"], curves["lstm"])
        both = np.array([gated[-1], curves["elman"][-1]])
        room = 2.58 * np.sqrt((both * (1 - both)).sum() / NEW)  # the 99% interval of a difference of two shares
        what = f"{name}: accuracy at the longest lag, the better gated cell, against the simple network"
        yield at_least(*both, what, atol=room).as_empirical()
        horizon = max((int(lag) for lag, right in zip(lags, curves["lstm"], strict=True) if right >= 0.95), default=0)
        panels.append(
            figure.curves(
                f"{name}: LSTM right at lag {horizon}" if horizon else f"{name}: LSTM right at none of these lags",
                "lag",
                "answers right",
                lines={NAMES[cell]: (lags, right) for cell, right in curves.items()},
                rules={f"quoted, {NAMES[cell]}": ("x", at) for cell, at in QUOTED.items()},
            )
        )
    simple, gru = (_digits(cell, key) for cell in ("elman", "gru"))
    what = f"digits as 64 pixels, accuracy after {DIGIT_EPOCHS} epochs: simple network with ReLU, against a GRU"
    yield at_least(simple, gru, what).as_empirical()
    yield figure.beside("How far back three cells of one size see, beside the lags that are quoted", *panels)


def _network(cell, inputs, classes, key):
    return sequences.sequence_network(cell, inputs, CELLS[cell], classes, reading="last", dtype=jnp.float32, key=key)


def _recall(rows, lag, key):
    bits = sequences.shifted_bits(rows, lag + 1, lag, key=key)
    return bits.inputs, bits.labels[:, -1]


def _accuracy(cell, draw, lag, epochs, key):
    """The share of right answers on new sequences after training on this task at this lag."""
    keys = jax.random.split(key, 4)
    (x, y), (new_x, new_y) = (draw(rows, lag, k) for rows, k in ((ROWS, keys[0]), (NEW, keys[1])))
    net = _network(cell, x.shape[-1], int(y.max()) + 1, keys[2])
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.005))
    run = training.fit(
        net, (jnp.asarray(x, jnp.float32), y), optimiser=optimiser, epochs=epochs, batch=BATCH, key=keys[3]
    )
    outputs = jax.vmap(run.model)(jnp.asarray(new_x, jnp.float32))
    return float((outputs.argmax(-1) == new_y).mean())


def _digits(cell, key):
    """The accuracy on a fifth of the digits, read as 64 pixels, of a network trained on the others."""
    x, y = data.digits()
    rng = data.generator(key)
    order = rng.permutation(len(y))
    held = len(y) // 5
    options = {"activation": "relu", "gain": 1.0} if cell == "elman" else {}
    net = sequences.sequence_network(cell, 1, DIGIT_UNITS, 10, reading="last", dtype=jnp.float32, key=key, **options)
    sample = [(np.asarray(x[rows], np.float32), y[rows]) for rows in (order[held:], order[:held])]
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.001))
    run = training.fit(
        net, sample[0], validation=sample[1], optimiser=optimiser, epochs=DIGIT_EPOCHS, batch=32, key=key
    )
    return float(run.history["validation_accuracy"][-1])
