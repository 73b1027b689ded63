"""The settled Kalman filter is a linear recurrent network of one unit."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import sequences
from leadline.claims.scenarios.sequences.tracked_states import (
    REFERENCE,
    filter_floor,
    filtered_means,
    scalar_model,
    tracking_network,
    trained_tracker,
)
from leadline.evidence import Int, Real, at_least, at_most, claim, close, mean, reference
from leadline.presentation import figure

UNITS, STEPS, SEEDS, BURN = 32, 1500, 5, 20


@claim(
    sources=("penn",),
    shows=("sequences.steady_state", "sequences.Elman", "sequences.fit_estimators"),
    slow="about two minutes the first time, then seconds",
)
def steady_kalman_is_linear_rnn(
    key,
    a: Real(-1.05, 1.05) = 0.95,
    Q: Real(0.02, 2.0, log=True) = 0.1,
    R: Real(0.05, 5.0, log=True) = 1.0,
    length: Int(10, 400) = 100,
):
    r"""The settled Kalman filter is a linear recurrent network.

    Once its variance has settled, the filter is the linear recurrent network of one unit with recurrent weight
    a(1 − k*) and input weight k*. So one linear unit attains the least error after the transient, and other networks
    can only match it.

    $$h_{t+1} = a(1 - k^*)\, h_t + k^* x_{t+1}$$

    Assumes: linear dynamics and normal noises; the variance starts at its fixed point, or long ago.

    Check: The library's cell with these weights against the filter from v₀ = P*(1 − k*). Trained, at a = 0.95, Q = 0.1,
    R = 1 whatever the parameters are: five linear networks of one unit on steps 21 to 100 of fresh paths, and a GRU of
    32 units (1500 steps of 64 paths).
    """
    steady = sequences.steady_state(scalar_model(a, Q, R))
    k = steady.gain.item()
    ours = sequences.linear_gaussian(a, 1.0, Q, R, 0.0, steady.posterior.item())
    x = sequences.simulate(ours, length, key=key).observations[0]
    cell = _unit(a * (1 - k), k)
    found = np.asarray(sequences.run(cell, x).states)
    best = np.asarray(sequences.kalman_filter(ours, x).means)
    yield close(found, best, "the network's states, against the filter's means", atol=1e-12 * (1 + np.abs(best).max()))
    known = sequences.steady_state(scalar_model(**REFERENCE))
    said = [0.95 * (1 - known.gain.item()), known.gain.item()]
    yield reference(said, [0.721073, 0.240975], "weights at a = 0.95, Q = 0.1, R = 1", digits=6)
    losses = yield from _linear_networks(said)
    yield from _gated_network(key, losses)


def _unit(recurrent, into):
    cell = sequences.Elman(1, 1, "identity", bias=False, dtype=jnp.float64, key=jax.random.key(0))
    weights = jnp.array([[recurrent]]), jnp.array([[into]])
    return eqx.tree_at(lambda c: (c.recurrent_weight, c.input_weight), cell, weights)


def _linear_networks(weights):
    """Five networks of one linear unit, trained at once: their weights and the course of their loss."""
    with jax.enable_x64(False):
        nets = [tracking_network("linear", 1, seed) for seed in range(SEEDS)]
        runs = sequences.fit_estimators(
            nets, scalar_model(**REFERENCE), num_steps=1000, burn=BURN, step_size=0.02, key=jax.random.key(7)
        )
    cells = [run.model.cell for run in runs]
    found = np.array(
        [
            (float(c.recurrent_weight[0, 0]), float(c.input_weight[0, 0] * run.model.head.weight[0, 0]))
            for c, run in zip(cells, runs, strict=True)
        ]
    )
    what = f"{SEEDS} trained linear networks: recurrent and input weight, against a(1 − k*) and k*"
    yield close(found, np.array(weights), what, atol=0.02).as_empirical()
    return np.mean([run.history["loss"] for run in runs], axis=0)


def _gated_network(key, losses):
    known = scalar_model(**REFERENCE)
    net = trained_tracker("gru", UNITS, STEPS)
    drawn = sequences.simulate(known, 100, paths=2000, key=jax.random.fold_in(key, 1))
    said, best = sequences.estimates_of(net, drawn.observations), filtered_means(known, drawn.observations)
    grade = sequences.grade_estimates(said, drawn.states, best, filter_floor(known))
    yield mean(grade.errors, grade.floor, "GRU: mean squared error, at least the exact variance", side="at least")
    yield at_most(grade.ratio, 1.01, "GRU of 32 units: error over the Kalman filter's").as_empirical()
    small = jnp.asarray(drawn.observations[:200], jnp.float32)
    states = np.asarray(jax.vmap(lambda xs: sequences.run(net.cell, xs).states)(small), float)
    rows, target = states[:, BURN:].reshape(-1, UNITS), best[:200, BURN:].reshape(-1)
    cut = len(rows) // 2
    columns = np.hstack([rows, np.ones((len(rows), 1))])
    probe = np.linalg.lstsq(columns[:cut], target[:cut], rcond=None)[0]
    read = columns[cut:] @ probe
    share = 1 - np.mean((read - target[cut:]) ** 2) / target[cut:].var()
    yield at_least(share, 0.99, "GRU: R² of a linear probe of the filter's mean from its state").as_empirical()
    floor = filter_floor(known, 100, BURN)
    t = 50 * np.arange(1, len(losses) + 1)
    course = figure.curves(
        "five linear networks of one unit",
        "training step",
        "mean squared error, steps 21 to 100",
        points={"training loss": (t, losses)},
        rules={"Kalman filter": ("y", floor)},
    )
    shown = slice(cut, cut + 400)
    scatter = figure.curves(
        "a linear probe of the GRU's state",
        "mean of the Kalman filter",
        "read from the GRU",
        lines={"equal": ([target.min(), target.max()], [target.min(), target.max()])},
        points={"states": (target[shown], read[:400])},
    )
    yield figure.beside(
        f"Training ends at the filter: the GRU is {grade.ratio - 1:.2%} above the least error", course, scatter
    )
