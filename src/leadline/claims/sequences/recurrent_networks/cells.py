"""The simple recurrent network."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, differentiation, networks, sequences
from leadline.evidence import Int, OneOf, at_most, close, exactly, model
from leadline.presentation import figure

DRAWN = 5  # steps in the picture


@model(sources=("eth", "sheet", "penn"), shows=("sequences.Elman", "sequences.Recurrence", "sequences.run"))
def elman_rnn(
    key,
    units: Int(1, 12) = 4,
    inputs: Int(1, 8) = 3,
    outputs: Int(1, 6) = 2,
    steps: Int(2, 40) = 10,
    activation: OneOf("tanh", "sigmoid", "relu", "identity") = "tanh",
):
    r"""The simple recurrent network of Elman.

    The state $z_t$ is a function of the state before and of the input, the output a function of the state, and all
    steps share their weights: U of m × m, V of m × n and W of q × m numbers, whatever the length T of the sequence. Any
    other map F of state and input, any G of the state, will do in their place.

    $$z_t = \varphi(U z_{t-1} + V x_t + b), \qquad \hat y_t = \psi(W z_t + c), \qquad z_0 = 0$$

    Check: A plain loop over the formula; prefixes, fed item by item; gradients against differences; the same weights as
    one layer of a deep transition F([z; x]).
    """
    rng = data.generator(key)
    key_cell, key_head = jax.random.split(key)
    cell = sequences.Elman(inputs, units, activation, gain=0.9, key=key_cell)
    cell = eqx.tree_at(lambda c: c.bias, cell, jnp.asarray(0.3 * rng.normal(size=units)))
    net = sequences.SequenceNetwork(cell, outputs, key=key_head)
    plain = sequences.SequenceNetwork(
        sequences.Elman(inputs, units, bias=False, key=key_cell), outputs, bias=False, key=key_head
    )
    weights = units * (units + inputs + outputs)
    for built, expected, name in ((plain, weights, "without biases"), (net, weights + units + outputs, "with biases")):
        what = f"parameters {name}: m² + mn + qm" + (" + m + q" if built is net else "")
        yield exactly(networks.parameter_count(built), expected, what)
    xs = jnp.asarray(rng.normal(size=(steps, inputs)))
    states = np.asarray(sequences.run(cell, xs).states)
    looped = _loop(cell, np.asarray(xs), activation)
    yield close(states, looped, "states of a scan, against a loop over the formula", rtol=1e-12, atol=1e-12)
    prefix = max(1, steps // 2)
    state = net.init()
    for x in xs[:prefix]:
        state = net.update(state, x)
    what = f"output after the first {prefix} of {steps} inputs, one by one, against the whole sequence"
    yield close(net.predict(state), net(xs)[prefix - 1], what, rtol=1e-12, atol=1e-12)
    deep = sequences.deep_transition(inputs, units, 1, activation, key=key_cell)
    joined = jnp.concatenate([cell.recurrent_weight, cell.input_weight], 1)
    layer = lambda c: (c.transition.network.layers[0].weight, c.transition.network.layers[0].bias)  # noqa: E731
    deep = eqx.tree_at(layer, deep, (joined, cell.bias))
    what = "states of a cell with F([z; x]) = φ([U V] [z; x] + b), against those of the network"
    yield close(sequences.run(deep, xs).states, states, what, rtol=1e-12, atol=1e-12)
    report = differentiation.check_gradient(lambda n: jnp.sum(n(xs) ** 2), net, key=key)
    yield at_most(report.error, report.tolerance, "relative error of gradients, against central differences")
    yield _unrolled(states, np.asarray(xs), np.asarray(net(xs)))


def _loop(cell, xs, activation):
    """The formula, step by step."""
    phi = {"tanh": np.tanh, "sigmoid": lambda a: 1 / (1 + np.exp(-a)), "relu": lambda a: np.maximum(a, 0)}
    u, v, b = (np.asarray(part) for part in (cell.recurrent_weight, cell.input_weight, cell.bias))
    z, states = np.zeros(len(b)), []
    for x in xs:
        z = phi.get(activation, lambda a: a)(u @ z + v @ x + b)
        states.append(z)
    return np.array(states)


def _unrolled(states, xs, ys):
    """Inputs below, states in the middle, outputs above; the same three matrices at every step."""
    shown = min(DRAWN, len(states))
    nodes, edges = [], []
    for t in range(shown):
        for height, name, values in ((0, "x", xs), (1, "z", states), (2, "y", ys)):
            size = np.linalg.norm(values[t]) / np.linalg.norm(values[:shown], axis=1).max()
            nodes.append((2 * t, height, f"{name}{t + 1}", float(size)))
        edges += [(3 * t, 3 * t + 1, 1.0), (3 * t + 1, 3 * t + 2, 1.0)]
        edges += [(3 * t - 2, 3 * t + 1, 2.0)] if t else []
    return figure.graph(
        "One network at every step: the state goes to the next copy, darker where larger", nodes=nodes, edges=edges
    )
