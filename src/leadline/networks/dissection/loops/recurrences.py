"""The recurrences of a network: every loop that carries a state over the steps of its input, taken apart.

A loop is a `lax.scan` of the traced network, whatever framework wrote it; unlike the rest of a dissection, which writes
short loops out, it is kept whole here: one layer with a time axis.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jaxtyping import Array, Float, Num, PyTree

from leadline.differentiation.programs.traced_program import Fixed, Program, Step, traced_program
from leadline.frameworks.network import OneOfBatch

from .squashing_units import evaluated_with_squashed


class LoopValues(NamedTuple):
    """Of one example: the state after each step, and its gates and units (logistic functions, tangents)."""

    states: Float[Array, "steps m"]
    units: tuple[Float[Array, "steps units"], ...]


@dataclass(frozen=True, eq=False)
class Recurrence:
    """One loop of a network: z_t = F(z_{t-1}, x_t) over `length` steps, with a state of `size` real numbers."""

    length: int
    size: int
    reverse: bool
    kinds: tuple[str, ...]  #: of its squashing units, "logistic" or "tanh"
    number: int  #: of the step in the traced program
    network: "RecurrentNetwork"

    def steps(self, params: PyTree, x: Any) -> tuple[Callable[[list, list], list], list, list]:
        """F as step(state, x_t), z_0 and the inputs x_1..x_T of the loop, for one example."""
        step = self.network.program.steps[self.number]
        inputs = self.network.inputs_of(self.number, params, x)
        consts, start, xs = _parts(step, inputs)
        if self.reverse:
            xs = [leaf[::-1] for leaf in xs]
        return LoopStep(_Jaxpr(step.settings["jaxpr"]), consts, len(start)), start, xs

    def values(self, params: PyTree, inputs: Num[Array | np.ndarray, "n ..."]) -> LoopValues:
        """States and units for a batch, with rows as the first axis."""
        return _values(self.network, self.number, params, jnp.asarray(inputs))

    def state_gradients(
        self, params: PyTree, inputs: Any, targets: Any, criterion: Callable[[Array, Array], Array]
    ) -> Float[Array, "n steps m"]:
        """The gradient of each row's own loss, criterion(outputs, targets), by the state that each step hands on."""
        given = jnp.asarray(inputs), jnp.asarray(targets)
        return _gradients(self.network, self.number, params, *given, criterion, (self.length, self.size))


class LoopStep(eqx.Module):
    """The body of a loop with its constants: the state (a list of arrays) and one input to the next state."""

    body: Any = eqx.field(static=True)
    consts: list
    count: int = eqx.field(static=True)

    def __call__(self, state: list, x: list) -> list:
        return core.jaxpr_as_fun(self.body.closed)(*self.consts, *state, *x)[: self.count]


@dataclass(frozen=True, eq=False)
class RecurrentNetwork:
    """A network with its loops kept whole."""

    program: Program

    @cached_property
    def recurrences(self) -> tuple[Recurrence, ...]:
        """Every loop whose state depends on the input and consists of floating-point numbers, in order."""
        data, found = {self.program.leaves}, []
        for number, step in enumerate(self.program.steps):
            if not data.intersection(i for i in step.inputs if isinstance(i, int)):
                continue
            data.update(step.outputs)
            if step.primitive == "scan" and step.settings["num_carry"] and step.settings["length"] > 1:
                carried = step.settings["jaxpr"].out_avals[: step.settings["num_carry"]]
                if all(jnp.issubdtype(aval.dtype, jnp.inexact) for aval in carried):
                    found.append(self._recurrence(number, step, carried))
        return tuple(found)

    def _recurrence(self, number: int, step: Step, carried: list) -> Recurrence:
        size = sum(math.prod(a.shape) * (2 if jnp.issubdtype(a.dtype, jnp.complexfloating) else 1) for a in carried)
        kinds: list[str] = []

        def seen(*arguments: Any) -> None:
            _, found = evaluated_with_squashed(step.settings["jaxpr"], list(arguments))
            kinds.extend(unit.kind for unit in found)

        jax.eval_shape(seen, *[jax.ShapeDtypeStruct(a.shape, a.dtype) for a in step.settings["jaxpr"].in_avals])
        return Recurrence(step.settings["length"], size, bool(step.settings["reverse"]), tuple(kinds), number, self)

    def inputs_of(self, number: int, params: PyTree, x: Array) -> list[Any]:
        """What a step of the program is given, for one example."""
        values: dict[int, Any] = {**dict(enumerate(jax.tree.leaves(params))), self.program.leaves: x}
        for step in self.program.steps[:number]:
            results = step.run(*_taken(step, values))
            values.update(zip(step.outputs, results, strict=True))
        return _taken(self.program.steps[number], values)

    def run(self, number: int, params: PyTree, x: Array, added: Array | None) -> tuple[Array, LoopValues]:
        """The output for one example and what went on in a loop, with `added` to the state after each of its steps."""
        values: dict[int, Any] = {**dict(enumerate(jax.tree.leaves(params))), self.program.leaves: x}
        watched = None
        for at, step in enumerate(self.program.steps):
            if at == number:
                results, watched = _watched(step, _taken(step, values), added)
            else:
                results = step.run(*_taken(step, values))
            values.update(zip(step.outputs, results, strict=True))
        assert watched is not None
        out = self.program.output
        return out.value if isinstance(out, Fixed) else values[out], watched


def recurrent_network(apply: Callable[[PyTree, Array], Array], params: PyTree, inputs: Any) -> RecurrentNetwork:
    """Trace apply(params, inputs), a function of batches, and find its recurrences.

    >>> def apply(w, x):  # (n, T) to (n, 1)
    ...     def last(row):
    ...         return jax.lax.scan(lambda z, x: (jnp.tanh(w * z + x), None), jnp.zeros(()), row)[0][None]
    ...     return jax.vmap(last)(x)
    >>> (loop,) = recurrent_network(apply, jnp.array(0.5), jnp.ones((4, 7))).recurrences
    >>> loop.length, loop.size, loop.kinds, loop.values(jnp.array(0.5), jnp.ones((4, 7))).states.shape
    (7, 1, ('tanh',), (4, 7, 1))
    """
    x = jax.ShapeDtypeStruct(inputs.shape[1:], jnp.result_type(inputs))
    return RecurrentNetwork(traced_program(OneOfBatch(apply), params, x))


class _Jaxpr:
    """A program that is equal to itself alone, to be a static part of a module."""

    def __init__(self, closed: Any):
        self.closed = closed


def _taken(step: Step, values: dict[int, Any]) -> list[Any]:
    return [i.value if isinstance(i, Fixed) else values[i] for i in step.inputs]


def _parts(step: Step, inputs: list[Any]) -> tuple[list, list, list]:
    consts, carries = step.settings["num_consts"], step.settings["num_carry"]
    return inputs[:consts], inputs[consts : consts + carries], inputs[consts + carries :]


def _watched(step: Step, inputs: list[Any], added: Array | None) -> tuple[list[Any], LoopValues]:
    """The loop's own results, and its states and units; outputs that are the state get the same addition."""
    closed, length = step.settings["jaxpr"], step.settings["length"]
    consts, start, xs = _parts(step, inputs)
    count = len(start)
    outvars = closed.jaxpr.outvars
    same = [next((i for i in range(count) if outvars[i] is var), None) for var in outvars[count:]]
    start = [jnp.asarray(leaf, aval.dtype) for leaf, aval in zip(start, closed.out_avals, strict=False)]

    def body(state: list, at: tuple) -> tuple[list, tuple]:
        x, extra = at
        outputs, found = evaluated_with_squashed(closed, [*consts, *state, *x])
        new = outputs[:count] if extra is None else _added(outputs[:count], extra)
        shown = [out if i is None else new[i] for out, i in zip(outputs[count:], same, strict=True)]
        return new, (shown, _vector(new), tuple(unit.values.ravel() for unit in found))

    last, (shown, states, units) = jax.lax.scan(
        body, start, (xs, added), length=length, reverse=bool(step.settings["reverse"])
    )
    return [*last, *shown], LoopValues(states, units)


def _vector(leaves: list[Array]) -> Float[Array, " m"]:
    parts = [part.ravel() for leaf in leaves for part in _reals(leaf)]
    return jnp.concatenate([part.astype(jnp.result_type(*parts)) for part in parts])


def _reals(leaf: Array) -> tuple[Array, ...]:
    return (leaf.real, leaf.imag) if jnp.iscomplexobj(leaf) else (leaf,)


def _added(leaves: list[Array], extra: Float[Array, " m"]) -> list[Array]:
    moved, at = [], 0
    for leaf in leaves:
        parts = []
        for part in _reals(leaf):
            parts.append(part + extra[at : at + part.size].reshape(part.shape).astype(part.dtype))
            at += part.size
        moved.append(jax.lax.complex(*parts) if len(parts) == 2 else parts[0])
    return moved


@eqx.filter_jit
def _values(network: Any, number: int, params: PyTree, inputs: Array) -> LoopValues:
    return jax.vmap(lambda x: network.run(number, params, x, None)[1])(inputs)


@eqx.filter_jit
def _gradients(
    network: Any,
    number: int,
    params: PyTree,
    inputs: Array,
    targets: Array,
    criterion: Callable,
    shape: tuple[int, int],
) -> Float[Array, "n steps m"]:
    dtype = jnp.result_type(*jax.tree.leaves(params))

    def total(added: Array) -> Array:
        outputs = jax.vmap(lambda x, extra: network.run(number, params, x, extra)[0])(inputs, added)
        return jnp.sum(criterion(outputs, targets))

    return jax.grad(total)(jnp.zeros((len(inputs), *shape), dtype))
