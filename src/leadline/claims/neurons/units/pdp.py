"""The parallel distributed processing framework: seven slots, four classical models."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, memories, networks, neurons
from leadline.evidence import Int, OneOf, Real, close, exactly, model
from leadline.linear_classifiers import perceptrons
from leadline.memories.dynamics import trace
from leadline.presentation import figure

PRESETS = ("McCulloch-Pitts unit", "perceptron", "Hopfield network", "multilayer perceptron")
SWEEPS = 8


@model(sources=("eth",), shows=("neurons.PDPSystem",))
def pdp_system(
    key,
    preset: OneOf(*PRESETS) = "Hopfield network",
    size: Int(2, 10) = 6,
    activation: OneOf("tanh", "relu", "gelu", "sin") = "tanh",
    rate: Real(0.001, 0.3, log=True) = 0.05,
):
    r"""Parallel distributed processing (PDP) framework.

    One simulator with seven slots (units, output, connectivity, propagation, activation, learning, environment)
    contains the McCulloch–Pitts unit, the perceptron, the Hopfield network and the multilayer perceptron as presets.

    $$n = P(W, f(a), s), \quad a \leftarrow A(a, n, s), \quad W \leftarrow L(W, a, n, s)$$

    Check: Every preset is compared with its own implementation on the same inputs; the parameter `preset` chooses the
    board that is drawn. The Hopfield network has an even number of neurons and three patterns, so that no field is
    ever 0: a tie could be broken by rounding, which differs between two orders of summation.
    """
    keys = jax.random.split(key, 8)
    systems = {}
    inputs = neurons.binary_inputs(size)
    weights = jax.random.rademacher(keys[0], (size,), float)
    threshold = float(jax.random.randint(keys[1], (), -size // 2, size // 2 + 1))
    systems[PRESETS[0]] = neurons.mcculloch_pitts_system(weights, threshold, inputs)
    run = systems[PRESETS[0]].run()
    unit = neurons.ThresholdUnit(weights, threshold)
    yield exactly(run.states[:, 0] > 0, neurons.truth_table(unit, size), "McCulloch-Pitts: answers to all inputs")
    x = jax.random.randint(keys[2], (30, size), -5, 6).astype(float)
    y = jnp.where(x @ jax.random.normal(keys[3], (size,)) >= 0, 1.0, -1.0)
    fitted = perceptrons.learn(x, y, epochs=20)
    stream = np.arange(fitted.presentations) % 30
    systems[PRESETS[1]] = neurons.perceptron_system(x[stream], y[stream])
    run = systems[PRESETS[1]].run()
    yield exactly(run.connectivity.weights.astype(int), fitted.weights.astype(int), "perceptron: final weights")
    mistakes = np.flatnonzero(np.asarray(y[stream] * run.nets[:, 0] <= 0))
    yield exactly(mistakes, fitted.times, "perceptron: ticks with a mistake")
    d = 4 * size
    patterns = data.random_signs(3, d, key=keys[4])
    cue = jnp.where(jax.random.uniform(keys[5], (d,)) < 0.2, -patterns[0], patterns[0])
    visits = jnp.tile(jnp.arange(d), SWEEPS)
    systems[PRESETS[2]] = neurons.hopfield_system(patterns, cue, visits)
    run = systems[PRESETS[2]].run()
    stored = memories.hebbian(patterns)
    yield close(run.connectivity, stored, "Hopfield: weights against Hebb's rule", atol=1e-12)
    followed = trace(stored, cue, visits).states
    yield exactly(run.states[3:].astype(int), followed.astype(int), "Hopfield: states after every visit")
    settled = memories.asynchronous(memories.HopfieldNetwork(stored), cue, sweeps=SWEEPS)
    yield exactly(run.states[-1].astype(int), settled.states.astype(int), "Hopfield: state after the last sweep")
    phi = networks.activation(activation)
    mlp = eqx.nn.MLP(size, 2, width_size=size, depth=2, activation=phi, key=keys[6])
    examples = jax.random.normal(keys[7], (12, size + 2))
    seen, wanted = examples[:, :size], examples[:, size:]
    matrices, biases = [layer.weight for layer in mlp.layers], [layer.bias for layer in mlp.layers]
    systems[PRESETS[3]] = neurons.layered_system(matrices, biases, phi, seen, wanted, rate=rate)
    run = systems[PRESETS[3]].run()
    trained, answers = _trained(mlp, seen, wanted, rate)
    yield close(run.states[3::4, -2:], answers, "multilayer perceptron: answers while it learns", atol=1e-12)
    for k in range(3):
        block = run.connectivity.weights[(k + 1) * size : (k + 2) * size, k * size : (k + 1) * size]
        yield close(block, trained.layers[k].weight, f"multilayer perceptron: weights of layer {k + 1}", atol=1e-12)
    yield _board(preset, systems[preset])


@eqx.filter_jit
def _trained(mlp, x, target, rate):
    """An Equinox network trained on one example after another by plain gradient descent, and what it said to each.

    Written out on purpose: the other side of the comparison is a simulator, and this one rests on JAX's gradient alone.
    """
    parameters, static = eqx.partition(mlp, eqx.is_array)

    def step(parameters, example):
        def loss(parameters):
            answer = eqx.combine(parameters, static)(example[0])
            return 0.5 * jnp.sum((answer - example[1]) ** 2), answer

        slope, answer = jax.grad(loss, has_aux=True)(parameters)
        return jax.tree.map(lambda p, g: p - rate * g, parameters, slope), answer

    parameters, answers = jax.lax.scan(step, parameters, (x, target))
    return eqx.combine(parameters, static), answers


def _board(preset, system):
    """The seven slots in words, beside the outputs of all units over the first ticks."""
    rows = [(0.0, -k, f"{k + 1}. {name}: {words}") for k, (name, words) in enumerate(system.slots().items())]
    domain = (0.0, 7.2), (-6.8, 0.8)
    slots = figure.plane("The seven slots", "", "", labels=rows, points={"": [[-1, 1]]}, domain=domain, axes=False)
    outputs = np.asarray(system.run().outputs)[:32].T
    units, ticks = outputs.shape
    title = f"The {preset} in seven slots, and its {units} unit{'s' * (units > 1)} over the first {ticks} ticks"
    shown = {"values": outputs, "xs": range(1, ticks + 1), "ys": range(1, units + 1)}
    state = figure.heatmap("Running state", "tick", "unit", colour="output", diverging=True, **shown)
    return figure.beside(title, slots, state)
