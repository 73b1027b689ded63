"""Truncated backpropagation through time: what it leaves out, and what a carried state keeps."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, sequences, training
from leadline.evidence import Int, Real, at_most, close, counts_as, mean, method
from leadline.presentation import figure

STREAMS, WINDOWS = 16, 240


@method(sources=("penn", "eth"), shows=("sequences.truncated_trajectory", "sequences.CarriedWindows"))
def truncated_bptt(
    key, window: Int(2, 40) = 10, weight: Real(0.5, 0.97) = 0.9, units: Int(1, 16) = 6, count: Int(2, 8) = 4
):
    r"""Truncated backpropagation through time.

    Windows of k steps: in random chunks the state starts anew; in consecutive windows it is carried on without its
    gradient. Then the forward pass is that of one long sequence, while gradients reach back k steps at most. What is
    left out are the parts of the gradient at longer lags: a geometric tail for a linear network.

    $$g - g_k = \sum_{j \ge k} w^j z_{T-1-j} \quad (z_t = w z_{t-1} + x_t,\; E = z_T)$$

    Assumes: for the tail, one linear unit and a loss at the end.

    Check: `count` windows. The truncated gradient of a tanh network against its parts by lag; the state that is carried
    against one long pass; offsets of 2000 chunks by a chi-square test. Then one linear unit learns a source with memory
    w, with its state carried or not: 16 streams of 240 windows; the error of windows that start anew has a floor.
    """
    rng = data.generator(key)
    steps = count * window
    x = jnp.asarray(rng.normal(size=(steps, 1)))
    start = jnp.zeros(1)

    def last(w, size):
        return sequences.truncated_trajectory(lambda z, x: w * z + x, start, x, size)[-1, 0]

    slopes = jax.jit(jax.grad(last), static_argnums=1)
    states = np.asarray(sequences.trajectory(lambda z, x: weight * z + x, start, x))[:, 0]
    lags = np.arange(steps)
    parts = weight**lags * states[steps - 1 - lags]  # w^j z_{T-1-j}
    whole, cut = float(slopes(weight, steps)), float(slopes(weight, window))
    size = np.abs(parts).sum()
    what = "one linear unit: gradient left out by truncation, against the tail sum"
    yield close(whole - cut, parts[window:].sum(), what, atol=1e-11 * size)
    cell = sequences.Elman(2, units, "tanh", key=key)
    inputs = jnp.asarray(rng.normal(size=(steps, 2)))
    target = jnp.asarray(rng.normal(size=(steps, units)))

    def loss(cell, size):
        z = sequences.truncated_trajectory(cell.update, cell.init(), inputs, size)
        return 0.5 * jnp.sum((z - target) ** 2)

    gradient = eqx.filter_jit(eqx.filter_grad(loss))
    full = gradient(cell, steps).recurrent_weight
    z = sequences.run(cell, inputs).states
    divided = eqx.partition(cell, eqx.is_inexact_array)

    def step(params, z, x):
        return eqx.combine(params, divided[1]).update(z, x)

    by_lag = sequences.gradient_by_lag(step, divided[0], cell.init(), inputs, z - target, window=window)
    size = float(jnp.abs(full).max()) + 1
    what = "tanh network: truncated dE/dU, against its parts by lag within windows"
    truncated = gradient(cell, window).recurrent_weight
    yield close(by_lag.parameters.recurrent_weight.sum(axis=0), truncated, what, atol=1e-11 * size)
    state, pieces = None, []
    for piece in sequences.consecutive_windows(inputs[None], window).values[:, 0]:
        course = sequences.run(cell, piece, state)
        state, pieces = course.last, [*pieces, course.states]
    what = "states of windows with a carried state, against one long pass"
    yield close(jnp.concatenate(pieces), z, what, atol=1e-13)
    chunks = 2000
    _, places = sequences.random_chunks(np.zeros((3, 40)), 20, chunks, key=key)
    counted = np.bincount(np.asarray(places[:, 1]), minlength=21)
    yield counts_as(counted, np.full(21, 1 / 21), "offsets of random chunks: uniform over all that fit")
    errors, floor = _streams(key, window, weight)
    what = f"state started anew in every window of {window}: mean squared error, against its floor"
    yield mean(errors[False], floor, what, side="at least")
    what = "state carried on: mean squared error, against a tenth of that floor"
    yield at_most(errors[True].mean(), 0.1 * floor, what).as_empirical()
    sizes = np.arange(1, steps + 1)
    tails = np.array([abs(parts[k:].sum()) for k in sizes]) / abs(whole)
    shown = [k for k in range(1, steps) if steps % k == 0][-8:]  # windows that end with the sequence
    bias = [abs(float(slopes(weight, k)) - whole) / abs(whole) for k in shown]
    yield figure.curves(
        f"Windows of {window} steps leave out {abs(whole - cut) / abs(whole):.2g} of a linear unit's gradient",
        "window k",
        "|g − g_k| / |g|",
        lines={"tail sum": (sizes[:-1], tails[:-1])},
        points={"truncated": (shown, bias)},
        log="y",
    )


def _streams(key, window, weight):
    """The errors of a linear unit, by stream, trained with and without a carried state; the floor of the second's."""
    signal = jax.random.normal(key, (STREAMS, WINDOWS * window, 1))
    source = jax.vmap(lambda x: sequences.trajectory(lambda z, x: weight * z + x, jnp.zeros(1), x)[1:])(signal)
    windows = sequences.consecutive_windows((signal, source), window)
    cell = sequences.Elman(1, 1, "identity", bias=False, key=key)
    start = eqx.tree_at(
        lambda c: (c.recurrent_weight, c.input_weight), cell, (jnp.full((1, 1), 0.3), jnp.full((1, 1), 0.5))
    )
    nothing = jnp.zeros((STREAMS, 1))
    errors = {}
    for carried in (True, False):
        objective = sequences.CarriedWindows(lambda y, t: jnp.sum((y - t) ** 2), carried)
        train = eqx.filter_jit(
            lambda cell, windows, nothing, objective=objective: (
                training.scan_steps(
                    objective, cell, optax.adam(0.03), windows, state=nothing, measure=_of_streams
                ).measured
            )
        )
        errors[carried] = np.asarray(train(start, windows, nothing))[-WINDOWS // 4 :].mean(axis=0)
    places = np.arange(1, window + 1)
    return errors, float(np.mean(weight ** (2 * places)) / (1 - weight**2))


def _of_streams(seen):
    return seen.rows.losses.mean(axis=1)
