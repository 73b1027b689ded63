"""Recurrent networks that are deep: stacked, or with a deep transition."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, sequences, training
from leadline.evidence import Int, Real, at_least, close, exactly, mean, model
from leadline.presentation import figure

UNITS = {1: 24, 2: 14, 3: 11}  # by the number of layers, for like numbers of parameters
ROWS, NEW, LENGTH, EPOCHS = 512, 2000, 40, 25  # of the signal with two time scales
FAST, SLOW = 0.3, 0.95


@model(sources=("eth", "sheet", "penn"), shows=("sequences.Stack", "sequences.deep_transition"))
def deep_rnn_variants(
    key,
    layers: Int(2, 4) = 3,
    units: Int(2, 8) = 4,
    steps: Int(2, 12) = 7,
    depth: Int(1, 6) = 3,
    factor: Real(0.5, 1.5) = 0.9,
):
    r"""Depth in recurrent networks: stacks and deep transitions.

    In a stack the states of one layer are the inputs of the next, at the same step, and the output is that of the top;
    of a gated cell with two parts, only h passes upwards, not c. So $z_{t,l}$ depends on $x_1, \dots, x_t$ and on
    nothing later, in every layer. In a deep transition the map from one state to the next has k layers, and the way of
    a gradient over T steps has kT.

    $$z_{t,l} = \varphi(U_l z_{t-1,l} + V_l z_{t,l-1}), \quad z_{t,0} = x_t$$

    The formula in eth is this one; the work that it cites for it, of Joulin and Mikolov (2015), has another model, with
    a memory to push to and pop from.

    Check: Derivatives of every state with respect to every input; derivatives of the layer above with respect to h and
    to c of an LSTM below; a linear deep transition with one unit, whose derivative over T steps is a power. Stacks of
    one, two and three layers with like numbers of parameters, trained to tell the slow part of a signal from its fast
    part: none is better than the mean of the slow part given the past, which is known exactly.
    """
    rng = data.generator(key)
    keys = jax.random.split(key, layers)
    stack = sequences.Stack([sequences.Elman(2 if i == 0 else units, units, key=k) for i, k in enumerate(keys)])
    xs = jnp.asarray(rng.normal(size=(steps, 2)))
    jacobians = jax.jacobian(lambda xs: sequences.run(stack, xs).states)(xs)
    sizes = np.array([np.asarray(jnp.sqrt((j**2).sum((1, 3)))) for j in jacobians])  # layer, t, s
    past = np.tril(np.ones((steps, steps), bool))
    what = f"pairs (t, s) with ∂z_t/∂x_s ≠ 0 in each of {layers} layers: those with s ≤ t"
    yield exactly(sizes > 0, np.broadcast_to(past, sizes.shape), what)
    one_by_one = stack.init()
    for x in xs:
        one_by_one = stack.update(one_by_one, x)
    ends = sequences.run(stack, xs).last
    what = "states at the end, step by step through all layers, against layer by layer over all steps"
    yield close(np.array(one_by_one), np.array(ends), what, rtol=1e-12, atol=1e-13)
    of_h, of_c = _upward(rng, units, keys)
    yield close(of_c, np.zeros_like(of_c), "derivative of the layer above with respect to c, h held fixed", atol=0.0)
    yield at_least(np.linalg.norm(of_h), 0, "norm of its derivative with respect to h", strict=True)
    deep = sequences.deep_transition(1, 1, depth, "identity", key=key)
    deep = eqx.tree_at(
        lambda c: [layer.weight for layer in c.transition.network.layers],
        deep,
        [jnp.full(layer.weight.shape, factor) for layer in deep.transition.network.layers],
    )
    lags = np.arange(1, steps + 1)
    through = jax.jacobian(lambda z: sequences.run(deep, xs[:, :1], z).states)(jnp.ones(1))[:, 0, 0]
    what = f"∂z_T/∂z_0 of a linear transition with k = {depth} layers of factor {factor:g}: their power kT"
    yield close(through, factor ** (depth * lags), what, rtol=1e-12)
    yield from _two_time_scales(key)
    panels = [
        figure.heatmap(
            f"layer {i + 1}",
            "input of step s",
            "state of step t",
            values=np.log10(np.where(past, s, np.nan)),
            xs=list(lags),
            ys=list(lags),
            colour="log₁₀ ‖∂z/∂x‖",
        )
        for i, s in enumerate(sizes)
    ]
    yield figure.beside("Each state depends on all inputs so far and on none that come later", *panels, columns=2)


def _upward(rng, units, keys):
    """Derivatives of an upper LSTM's next state with respect to h and c of the lower one, each with the other fixed."""
    lower, upper = (sequences.LSTM(units, units, key=k) for k in keys[:2])
    state = sequences.LSTMState(*jnp.asarray(rng.normal(size=(2, units))))

    def above(h, c):
        return jnp.concatenate(upper.update(upper.init(), lower.predict(sequences.LSTMState(h, c))))

    return (np.asarray(j) for j in jax.jacobian(above, (0, 1))(*state))


def _two_time_scales(key):
    """Stacks that estimate the slow part of a sum of two autoregressive signals, beside the exact Bayes error."""
    gaps = np.abs(np.subtract.outer(np.arange(LENGTH), np.arange(LENGTH)))
    slow, fast = (a**gaps for a in (SLOW, FAST))  # stationary, of variance 1
    floor = 1 - slow[-1] @ np.linalg.solve(slow + fast, slow[-1])
    roots = [jnp.asarray(np.linalg.cholesky(c), jnp.float32) for c in (slow, fast)]
    errors, times, counts = {}, {}, []
    for layers, units in UNITS.items():
        keys = jax.random.split(jax.random.fold_in(key, layers), 4)
        net = sequences.sequence_network("elman", 1, units, 1, depth=layers, dtype=jnp.float32, key=keys[0])
        counts.append(networks.parameter_count(net))
        (x, y), (new_x, new_y) = (_signal(rows, roots, k) for rows, k in ((ROWS, keys[1]), (NEW, keys[2])))
        run = training.fit(
            net,
            sequences.Sequences(x, y),
            objective=sequences.SequenceObjective("squared"),
            epochs=EPOCHS,
            batch=32,
            optimiser=optax.adam(0.005),
            key=keys[3],
        )
        errors[layers] = np.asarray((jax.vmap(run.model)(new_x)[:, -1, 0] - new_y[:, -1]) ** 2, float)
        states = jax.vmap(lambda xs, cell=run.model.cell: sequences.run(cell, xs).states)(new_x[:200])
        times[layers] = [_correlation_time(np.asarray(s)) for s in (states if layers > 1 else [states])]
    what = "parameters of stacks of one, two and three layers, over those of one layer"
    yield close(np.array(counts) / counts[0], 1.0, what, rtol=0.1)
    for layers, found in errors.items():
        what = f"{layers} layer{'s' * (layers > 1)}: mean squared error at the end, against the Bayes error"
        yield mean(found, floor, what, side="at least")
    names = {layers: f"{layers} layer{'s' * (layers > 1)}" for layers in UNITS}
    yield figure.beside(
        "Stacks of one size on a signal with two time scales",
        figure.categories(
            "error at the end",
            "stack",
            "mean squared error",
            points={"trained": {names[k]: _interval(v) for k, v in errors.items()}},
            rules={"Bayes error": ("y", float(floor))},
        ),
        figure.categories(
            "how long states last",
            "layer, from below",
            "correlation time (steps)",
            points={names[k]: {f"layer {i + 1}": t for i, t in enumerate(v)} for k, v in times.items()},
        ),
    )


def _signal(rows, roots, key):
    slow, fast = (
        jax.random.normal(k, (rows, LENGTH), jnp.float32) @ r.T
        for k, r in zip(jax.random.split(key), roots, strict=True)
    )
    return (slow + fast)[..., None], slow


def _correlation_time(states):
    """-1/ln ρ of the median unit, ρ its correlation from one step to the next."""
    now, later = (s.reshape(-1, states.shape[-1]) for s in (states[:, 10:-1], states[:, 11:]))
    rho = np.median([np.corrcoef(a, b)[0, 1] for a, b in zip(now.T, later.T, strict=True)])
    return float(-1 / np.log(np.clip(rho, 1e-6, 1 - 1e-6)))


def _interval(errors):
    half = 1.96 * errors.std(ddof=1) / np.sqrt(len(errors))
    return float(errors.mean()), float(errors.mean() - half), float(errors.mean() + half)
