"""The minimal gated recurrent unit: linear in its state, selective in its input."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, sequences, training
from leadline.evidence import Int, at_least, at_most, close, erratum, mean, model
from leadline.presentation import figure

ROWS, NEW = 1024, 2000
EPOCHS = 16
LEARNT = 0.98


@model(sources=("eth",), shows=("sequences.MinGRU", "sequences.linear_recurrence", "sequences.recall_task"))
def mingru(key, units: Int(2, 32) = 8, steps: Int(4, 40) = 16, inputs: Int(1, 8) = 3):
    r"""The minimal gated recurrent unit.

    Its gate and its candidate see the input alone. So the recurrence is linear in the state and can be taken by a
    parallel scan, as that of a fixed linear recurrence is; but what it keeps depends on the input, and it can copy the
    one value that is marked. A fixed linear recurrence with a linear read-out cannot: its mean squared error is at
    least 1 − 1/T.

    $$z_t = s_t \odot z_{t-1} + (1 - s_t) \odot \tilde z_t, \qquad s_t = \sigma(G x_t), \quad \tilde z_t = V x_t$$

    Assumes: for the last part, that training found the gates within its budget.

    Check: Loop against scan; the range of the states; both recurrences trained on sequences of values ±1 of which one
    is marked, to give that value at the end.
    """
    rng = data.generator(key)
    cell = sequences.MinGRU(inputs, units, key=key)
    xs, start = jnp.asarray(rng.normal(size=(steps, inputs))), jnp.asarray(rng.normal(size=units))
    looped, scanned = (np.asarray(sequences.run(cell, xs, start, parallel=p).states) for p in (False, True))
    yield close(scanned, looped, "states by a parallel scan, against a loop", atol=1e-13)
    largest = np.maximum(np.abs(start), np.abs(xs @ cell.candidate_weight.T).max(0))
    yield at_most(np.abs(looped).max(0), largest, "largest |z_t| of each unit, against max(|z₀|, max |z̃|)", rtol=1e-14)
    factors = np.asarray(jax.vmap(cell.project)(xs)[0])
    selective = at_least(
        np.ptp(factors, axis=0).min(), 0.0, "range of each unit's factor s_t over the inputs", strict=True
    )
    yield selective
    fixed = np.asarray(jax.vmap(sequences.LRU(inputs, units, key=key).project)(xs)[0])
    yield close(np.ptp(np.abs(fixed), axis=0), 0.0, "range of each factor |λ| of a linear recurrent unit", atol=0.0)
    yield erratum(
        close(np.ptp(factors, axis=0), 0.0, "range of the factors of what is called an LRU", atol=1e-6),
        of=selective,
        by="eth",
        prints="the recurrence with gates that see the input (Feng et al.) is called LRU; that is the name of the "
        "fixed diagonal recurrence of Orvieto et al., which comes next there",
    )
    runs = {name: _trained(name, units, steps, key) for name in ("mingru", "lru")}
    new = sequences.recall_task(NEW, length=steps, key=jax.random.fold_in(key, 9))
    values = 2.0 * np.asarray(new.labels) - 1
    outputs = {name: np.asarray(jax.vmap(net)(_single(new.inputs)))[:, 0].astype(float) for name, net in runs.items()}
    errors = {name: (of - values) ** 2 for name, of in outputs.items()}
    floor = 1 - 1 / steps
    what = f"mean squared error of a fixed linear recurrence on {NEW} new sequences, against 1 − 1/T"
    yield mean(errors["lru"], floor, what, side="at least")
    right = {name: float(np.mean(np.sign(of) == values)) for name, of in outputs.items()}
    yield at_least(right["mingru"], LEARNT, "share of marked values that the minGRU gives at the end").as_empirical()
    yield at_most(float(errors["mingru"].mean()), floor / 2, "its mean squared error, against half of 1 − 1/T").given(
        right["mingru"] >= LEARNT, "training found the gates within its budget"
    )
    yield _gates(runs["mingru"].cell, new.inputs[0], right)


def _trained(name, units, steps, key):
    """A network with this cell and a linear read-out of the last state, trained to give the marked value."""
    keys = jax.random.split(key, 3)
    kind = {"dtype": jnp.float32}
    cell = {
        "mingru": lambda: sequences.MinGRU(2, units, **kind, key=keys[0]),
        "lru": lambda: sequences.LRU(2, units, units, r_min=0.5, **kind, key=keys[0]),
    }[name]()
    net = sequences.SequenceNetwork(cell, 1, reading="last", key=keys[1])
    task = sequences.recall_task(ROWS, length=steps, key=keys[2])
    run = training.fit(
        net,
        (_single(task.inputs), _single(2 * task.labels - 1)),
        loss="squared",
        optimiser=optax.adam(0.03),
        epochs=EPOCHS,
        batch=64,
        key=keys[0],
    )
    return run.model


def _single(array):
    return jnp.asarray(array, jnp.float32)


def _gates(cell, xs, right):
    """The gate of the unit that tells marked from unmarked best, over one sequence."""
    keep = np.asarray(jax.vmap(cell.project)(_single(xs))[0])
    marks = np.asarray(xs)[:, 1] > 0
    unit = int(np.argmax(np.abs(keep[marks].mean(0) - keep[~marks].mean(0))))
    times = np.arange(1, len(keep) + 1)
    title = (
        f"The gate opens at the mark: minGRU has {right['mingru']:.1%} of the values right, "
        f"a fixed recurrence {right['lru']:.1%}"
    )
    return figure.curves(
        title,
        "step",
        "value",
        lines={"share kept, s": (times, keep[:, unit])},
        points={"mark": (times, marks.astype(float)), "input": (times, np.asarray(xs)[:, 0])},
    )
