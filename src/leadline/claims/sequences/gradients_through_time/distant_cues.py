"""Cues far back: which trained networks still hear them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import learning, sequences, training
from leadline.evidence import Int, OneOf, at_least, at_most, claim, smaller
from leadline.presentation import figure

SEEDS, ROWS, TESTED = 5, 32, 512
REACHED = 0.75  # halfway between chance and all right


@claim(sources=("penn",), empirical=True, slow="a minute", shows=("sequences.recall_task",))
def bptt_myopia(
    key,
    longest: Int(8, 40) = 24,
    steps: Int(100, 600) = 300,
    units: Int(4, 32) = 16,
    where: OneOf("last", "steps") = "last",
):
    r"""Recurrent networks are dominated by the recent past.

    A cue has to be recalled at the end of a sequence of distractors. Trained in the same way, a plain logistic network
    is right only for cues that are close; gated and linear recurrent networks hear cues that are farther back. What a
    trained plain network's output owes to an input falls with its lag.

    $$\operatorname{accuracy}(k) \to \tfrac12, \quad k \to \infty, \qquad \text{first for plain, last for gated
    networks}$$

    Assumes: this task, these sizes and this number of steps.

    Check: Lags up to `longest`, 5 seeds each, Adam with step size 0.01; with a loss at the last step alone, or at every
    step from the cue on. A network's reach is the longest lag at which it is right on three quarters of fresh rows.
    """
    lags = sorted({1, max(longest // 8, 2), max(longest // 3, 3), longest})
    keys = jax.random.split(key, SEEDS)
    makers = {
        "logistic": lambda k: sequences.Elman(2, units, "sigmoid", dtype=jnp.float32, key=k),
        "tanh": lambda k: sequences.Elman(2, units, "tanh", dtype=jnp.float32, key=k),
        "GRU": lambda k: sequences.GRU(2, units, dtype=jnp.float32, key=k),
        "LSTM": lambda k: sequences.LSTM(2, units, dtype=jnp.float32, key=k),
        "LRU": lambda k: sequences.LRU(2, units, units, r_min=0.9, r_max=0.999, dtype=jnp.float32, key=k),
    }
    accuracy, reach = {}, {}
    for name, make in makers.items():
        train = eqx.filter_jit(jax.vmap(jax.vmap(_trained(make, longest + 1, steps, where), (None, 0)), (0, None)))
        accuracy[name] = np.asarray(train(keys, jnp.array(lags)))  # (seeds, lags)
        heard = accuracy[name] >= REACHED
        reach[name] = np.array(
            [max([lag for lag, yes in zip(lags, row, strict=True) if yes], default=0) for row in heard]
        )
    for name in ("GRU", "LSTM", "LRU"):
        what = f"reach of logistic networks, against that of {name}"
        yield smaller(reach["logistic"], reach[name], what, confidence=0.99)
    what = f"logistic: mean accuracy at lag {longest}, against chance and 0.1"
    yield at_most(accuracy["logistic"][:, -1].mean(), 0.6, what)
    yield at_least(accuracy["logistic"][:, 0].mean(), 0.9, "logistic: mean accuracy at lag 1")
    best = max(("GRU", "LSTM", "LRU"), key=lambda name: accuracy[name][:, -1].mean())
    points = {
        name: (lags, found.mean(axis=0), found.min(axis=0), found.max(axis=0)) for name, found in accuracy.items()
    }
    yield figure.curves(
        f"At lag {longest} logistic networks are right on {accuracy['logistic'][:, -1].mean():.0%}, "
        f"{best} on {accuracy[best][:, -1].mean():.0%}",
        "lag of the cue",
        "accuracy, 5 seeds",
        points=points,
        rules={"chance": ("y", 0.5)},
        log="x",
    )


def _trained(make, length, steps, where):
    """The accuracy at one lag of one seed."""

    def accuracy(key, lag):
        net = sequences.SequenceNetwork(make(key), 2, reading="steps", key=jax.random.fold_in(key, 1))
        since = jnp.arange(length) >= length - 1 - (lag if where == "steps" else 0)

        def objective(net, batch, key, state):
            task = sequences.recall_task(ROWS, lag, length=length, key=key)
            scores = jax.vmap(net)(task.inputs.astype(jnp.float32))  # (rows, T, 2)
            losses = learning.cross_entropy(scores, jnp.broadcast_to(task.labels[:, None], scores.shape[:2]))
            return training.RowLosses(losses, jnp.broadcast_to(since, losses.shape)), state

        net = training.scan_steps(objective, net, optax.adam(1e-2), None, num_steps=steps, key=key).model
        test = sequences.recall_task(TESTED, lag, length=length, key=jax.random.fold_in(key, 2))
        scores = jax.vmap(net)(test.inputs.astype(jnp.float32))[:, -1]
        return jnp.mean(scores.argmax(axis=-1) == test.labels)

    return accuracy
