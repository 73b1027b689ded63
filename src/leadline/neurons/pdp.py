"""Parallel distributed processing: one simulator with seven slots that holds every early neural model."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array, Float, PyTree

SLOTS = (
    "units",
    "output function",
    "connectivity",
    "propagation rule",
    "activation rule",
    "learning rule",
    "environment",
)


class PDPRun(NamedTuple):
    """Row t: the net input, the state and the outputs after tick t; and the connectivity at the end."""

    nets: PyTree
    states: Float[Array, "ticks units"]
    outputs: Float[Array, "ticks units"]
    connectivity: PyTree


class PDPSystem(eqx.Module):
    """The seven parts of Rumelhart, Hinton and McClelland (1986), each replaceable.

    One tick takes the next stimulus s from the environment and does, in this order,

        net = propagation(connectivity, output(state), s)
        state = activation(state, net, s)
        connectivity = learning(connectivity, state, net, s).

    `units` is the state at the start, shape (units,); `environment` an array or pytree of arrays whose axis 0 is time;
    `output` acts on a state; `connectivity` is any pytree of arrays. `words` says in a few words what fills each slot.

    >>> import jax.numpy as jnp
    >>> leaky = PDPSystem(  # one unit that forgets half its state and adds its input
    ...     units=jnp.zeros(1), output=lambda a: a, connectivity=jnp.array([0.5]),
    ...     propagation=lambda w, o, s: w * o + s, activation=lambda a, net, s: net,
    ...     learning=fixed, environment=jnp.array([1.0, 0.0, 0.0]),
    ... )
    >>> leaky.run().states.ravel().tolist()
    [1.0, 0.5, 0.25]
    """

    units: Float[Array, " units"]
    output: Callable = eqx.field(static=True)
    connectivity: PyTree
    propagation: Callable = eqx.field(static=True)
    activation: Callable = eqx.field(static=True)
    learning: Callable = eqx.field(static=True)
    environment: PyTree
    words: tuple[str, ...] = eqx.field(static=True, default=("",) * len(SLOTS))

    def __check_init__(self):
        lengths = {leaf.shape[0] for leaf in jax.tree.leaves(self.environment)}
        if len(lengths) != 1:
            raise ValueError(f"The environment's arrays have lengths {sorted(lengths)} along time; they must agree.")
        if len(self.words) != len(SLOTS):
            raise ValueError(f"Got {len(self.words)} descriptions for {len(SLOTS)} slots; describe each slot once.")

    def tick(self, state: Array, connectivity: PyTree, stimulus: PyTree) -> tuple[PyTree, Array, PyTree]:
        """One step: the net input, the new state and the new connectivity."""
        net = self.propagation(connectivity, self.output(state), stimulus)
        state = self.activation(state, net, stimulus)
        return net, state, self.learning(connectivity, state, net, stimulus)

    def run(self) -> PDPRun:
        """Live through the whole environment, tick by tick."""
        return _run(self)

    def slots(self) -> dict[str, str]:
        """What fills each slot, in words."""
        return dict(zip(SLOTS, self.words, strict=True))


@eqx.filter_jit
def _run(system: PDPSystem) -> PDPRun:
    def step(carry, stimulus):
        state, connectivity = carry
        net, state, connectivity = system.tick(state, connectivity, stimulus)
        return (state, connectivity), (net, state, system.output(state))

    start = system.units, system.connectivity
    (_, connectivity), (nets, states, outputs) = jax.lax.scan(step, start, system.environment)
    return PDPRun(nets, states, outputs, connectivity)


def fixed(connectivity: PyTree, state: Array, net: PyTree, stimulus: PyTree) -> PyTree:
    """The learning rule of a system that does not learn."""
    return connectivity
