"""Four classical models in the seven slots: threshold unit, perceptron, Hopfield network, multilayer perceptron."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num

from .pdp import PDPSystem, fixed


class Weights(NamedTuple):
    """Weights and what is subtracted from or added to the weighted sum."""

    weights: Num[Array, "..."]
    bias: Num[Array, "..."]


class Labelled(NamedTuple):
    """A stream of inputs with their labels."""

    x: Float[Array, "ticks n"]
    y: Float[Array, "ticks ..."]


STORE, SHOW, UPDATE = 0, 1, 2  # what the environment of a Hopfield network does in a tick


class Visits(NamedTuple):
    """A stream for a Hopfield network: impose and store a pattern, impose a cue, or let one neuron update."""

    pattern: Float[Array, "ticks d"]
    role: Int[Array, " ticks"]
    neuron: Int[Array, " ticks"]


class Lessons(NamedTuple):
    """A stream for a layered net: each input is held for one tick a layer; the weights move on the last of them."""

    x: Float[Array, "ticks n"]
    target: Float[Array, "ticks m"]
    learn: Bool[Array, " ticks"]


def _same(state: Array) -> Array:
    return state


def mcculloch_pitts_system(
    weights: Num[Array | np.ndarray, " n"], threshold: float, inputs: Num[Array | np.ndarray, "ticks n"]
) -> PDPSystem:
    """A McCulloch-Pitts unit, 1{Σ w x ≥ θ}, that reads one input a tick.

    >>> and_gate = mcculloch_pitts_system(jnp.ones(2), 2.0, jnp.array([[0.0, 1.0], [1.0, 1.0]]))
    >>> and_gate.run().states.ravel().tolist()
    [0.0, 1.0]
    """

    def propagate(connectivity, outputs, x):
        return (x @ connectivity.weights)[None]

    def activate(state, net, x):
        # the threshold belongs to the unit, hence to its activation rule
        return (net >= threshold).astype(state.dtype)

    return PDPSystem(
        units=jnp.zeros(1),
        output=_same,
        connectivity=Weights(jnp.asarray(weights, float), jnp.zeros(())),
        propagation=propagate,
        activation=activate,
        learning=fixed,
        environment=jnp.asarray(inputs, float),
        words=(
            "one unit, 0 or 1",
            "the state itself",
            "one weight per input",
            "weighted sum of the input",
            "1 if the net input reaches θ",
            "none",
            "a stream of binary inputs",
        ),
    )


def perceptron_system(x: Num[Array | np.ndarray, "ticks n"], y: Num[Array | np.ndarray, " ticks"]) -> PDPSystem:
    """Rosenblatt's perceptron from w = 0: one example a tick, w ← w + y x when y (w·x) ≤ 0. The state is sgn(w·x).

    >>> system = perceptron_system(jnp.eye(2), jnp.array([1.0, -1.0]))
    >>> system.run().connectivity.weights.tolist()
    [1.0, -1.0]
    """

    def propagate(connectivity, outputs, stimulus):
        return (stimulus.x @ connectivity.weights + connectivity.bias)[None]

    def learn(connectivity, state, net, stimulus):
        change = jnp.where(stimulus.y * net[0] <= 0, stimulus.y, 0)
        return connectivity._replace(weights=connectivity.weights + change * stimulus.x)

    x = jnp.asarray(x, float)
    return PDPSystem(
        units=jnp.zeros(1),
        output=_same,
        connectivity=Weights(jnp.zeros(x.shape[1]), jnp.zeros(())),
        propagation=propagate,
        activation=lambda state, net, stimulus: jnp.sign(net),
        learning=learn,
        environment=Labelled(x, jnp.asarray(y, float)),
        words=(
            "one unit, −1, 0 or +1",
            "the state itself",
            "one weight per input, 0 at first",
            "weighted sum of the input",
            "the sign of the net input",
            "add y x on a mistake",
            "a stream of labelled examples",
        ),
    )


def hopfield_system(
    patterns: Num[Array | np.ndarray, "n d"], cue: Num[Array | np.ndarray, " d"], visits: Int[Array | np.ndarray, " k"]
) -> PDPSystem:
    """A Hopfield network that first stores n patterns by Hebb's rule, is shown a cue, then updates the visited neurons.

    >>> p = jnp.array([[1.0, -1.0, 1.0, -1.0]])
    >>> run = hopfield_system(p, jnp.array([-1.0, -1.0, 1.0, -1.0]), jnp.arange(4)).run()
    >>> run.states[-1].tolist()
    [1.0, -1.0, 1.0, -1.0]
    """
    patterns, cue, visits = jnp.asarray(patterns, float), jnp.asarray(cue, float), jnp.asarray(visits)
    n, d = patterns.shape
    shown = jnp.concatenate([patterns, cue[None], jnp.zeros((len(visits), d))])
    role = jnp.where(jnp.arange(len(shown)) < n, STORE, UPDATE).at[n].set(SHOW)
    neuron = jnp.concatenate([jnp.zeros(n + 1, visits.dtype), visits])

    def propagate(weights, outputs, stimulus):
        return weights @ outputs

    def activate(state, net, stimulus):
        i = stimulus.neuron
        updated = state.at[i].set(jnp.where(net[i] >= 0, 1.0, -1.0))
        return jnp.where(stimulus.role == UPDATE, updated, stimulus.pattern)

    def learn(weights, state, net, stimulus):
        return weights + jnp.where(stimulus.role == STORE, (jnp.outer(state, state) - jnp.eye(d)) / d, 0.0)

    return PDPSystem(
        units=jnp.ones(d),
        output=_same,
        connectivity=jnp.zeros((d, d)),
        propagation=propagate,
        activation=activate,
        learning=learn,
        environment=Visits(shown, role, neuron),
        words=(
            f"{d} units, −1 or +1",
            "the state itself",
            "all to all, symmetric, no self-coupling",
            "weighted sum of all outputs",
            "the visited unit takes the sign of its net input",
            "Hebb's rule while a pattern is imposed",
            "patterns, then a cue, then visits",
        ),
    )


def layered_system(
    weights: list[Float[Array, "_ _"]],
    biases: list[Float[Array, " _"]],
    phi: Callable,
    x: Num[Array | np.ndarray, "examples n"],
    target: Num[Array | np.ndarray, "examples m"],
    *,
    rate: float = 0.0,
) -> PDPSystem:
    """A multilayer perceptron as one set of units with block connectivity, trained by gradient descent if rate > 0.

    The state of a unit is its net input (for input units: the stimulus), its output φ of that, except for input and
    output units, whose output is the state. All units update at once, so an input is held for one tick a layer until
    it has reached the output; on the last tick the weights take a step of size `rate` down ½‖output − target‖².

    >>> weights, biases, one = [jnp.ones((2, 1)), jnp.ones((1, 2))], [jnp.zeros(2), jnp.zeros(1)], jnp.ones((1, 1))
    >>> run = layered_system(weights, biases, jnp.tanh, one, one).run()
    >>> [round(float(a), 3) for a in run.states[-1]]  # input, two hidden sums, output 2 tanh(1)
    [1.0, 1.0, 1.0, 1.523]
    """
    sizes = [weights[0].shape[1], *(w.shape[0] for w in weights)]
    starts = np.cumsum([0, *sizes])
    units, depth = int(starts[-1]), len(weights)
    matrix, offset, mask = jnp.zeros((units, units)), jnp.zeros(units), np.zeros((units, units), bool)
    for k, (w, b) in enumerate(zip(weights, biases, strict=True)):
        rows, columns = slice(starts[k + 1], starts[k + 2]), slice(starts[k], starts[k + 1])
        matrix, offset = matrix.at[rows, columns].set(w), offset.at[rows].set(b)
        mask[rows, columns] = True
    index = np.arange(units)
    is_input, is_hidden = index < sizes[0], (index >= sizes[0]) & (index < starts[-2])
    outputs = slice(int(starts[-2]), units)

    def output(state):
        return jnp.where(is_hidden, phi(state), state)

    def propagate(connectivity, outputs, stimulus):
        return connectivity.weights @ outputs + connectivity.bias

    def activate(state, net, stimulus):
        return jnp.where(is_input, jnp.zeros(units).at[: sizes[0]].set(stimulus.x), net)

    def loss(connectivity, stimulus):
        state = jnp.zeros(units)
        for _ in range(depth + 1):
            state = activate(state, propagate(connectivity, output(state), stimulus), stimulus)
        return 0.5 * jnp.sum((state[outputs] - stimulus.target) ** 2)

    def learn(connectivity, state, net, stimulus):
        slope = jax.grad(loss)(connectivity, stimulus)
        step = jnp.where(stimulus.learn, rate, 0.0)
        return Weights(
            connectivity.weights - step * jnp.where(mask, slope.weights, 0.0),
            connectivity.bias - step * jnp.where(is_input, 0.0, slope.bias),
        )

    held = depth + 1
    x, target = jnp.repeat(jnp.asarray(x, float), held, 0), jnp.repeat(jnp.asarray(target, float), held, 0)
    return PDPSystem(
        units=jnp.zeros(units),
        output=output,
        connectivity=Weights(matrix, offset),
        propagation=propagate,
        activation=activate,
        learning=learn if rate > 0 else fixed,
        environment=Lessons(x, target, jnp.arange(len(x)) % held == depth),
        words=(
            f"{units} units with real states",
            "φ on hidden units",
            f"{depth} blocks, layer to layer",
            "weighted sum of outputs plus bias",
            "inputs are held, others take their net input",
            "gradient descent on the squared error" if rate > 0 else "none",
            "inputs, each held for a tick a layer",
        ),
    )
