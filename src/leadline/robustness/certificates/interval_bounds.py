"""Bounds of any traced function over a box of inputs: interval arithmetic on JAX's own program of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jaxtyping import Array, Float, PyTree

from leadline.differentiation.programs.traced_program import NESTED_CALLS, equation_runner

from .interval_arithmetic import Interval, high_of, low_of
from .interval_rules import bounds_of

CALLS = NESTED_CALLS | {
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "core_call": "call_jaxpr",
    "remat": "jaxpr",
}
ORDERS = ("gt", "ge", "lt", "le")
LONGEST_LOOP = 256  # steps of a scan that are written out


class NoIntervalRule(NotImplementedError):
    """A step of the program has no interval rule; the message names it."""


@dataclass(frozen=True, eq=False)
class Line:
    """outputs = primitive(inputs), where inputs are slots (numbers) or constants."""

    name: str
    settings: dict[str, Any]
    inputs: tuple[Any, ...]
    outputs: tuple["Slot", ...]
    run: Callable[..., list[Array]]


@dataclass(frozen=True, eq=False)
class Slot:
    """The place of an intermediate value."""

    shape: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class Lines:
    """A program with the nested calls written out."""

    lines: tuple[Line, ...]
    inputs: tuple[Slot, ...]
    outputs: tuple[Any, ...]

    def producer(self) -> dict[Slot, Line]:
        return {slot: line for line in self.lines for slot in line.outputs}


def written_out(closed: Any) -> Lines:
    """The equations of a closed jaxpr in one list."""
    lines: list[Line] = []

    def write(jaxpr: Any, consts: Any, arguments: list[Any]) -> list[Any]:
        where = dict(zip(jaxpr.constvars, consts, strict=True)) | dict(zip(jaxpr.invars, arguments, strict=True))

        def find(atom: Any) -> Any:
            return atom.val if isinstance(atom, core.Literal) else where[atom]

        for eqn in jaxpr.eqns:
            inner = eqn.params.get(CALLS.get(eqn.primitive.name, ""))
            inputs = [find(atom) for atom in eqn.invars]
            if inner is not None:
                results = write(getattr(inner, "jaxpr", inner), getattr(inner, "consts", ()), inputs)
            else:
                results = [Slot(tuple(v.aval.shape), v.aval.dtype) for v in eqn.outvars]
                run = equation_runner(jaxpr, eqn)
                lines.append(Line(eqn.primitive.name, eqn.params, tuple(inputs), tuple(results), run))
            where.update(zip(eqn.outvars, results, strict=True))
        return [find(atom) for atom in jaxpr.outvars]

    arguments = [Slot(tuple(v.aval.shape), v.aval.dtype) for v in closed.jaxpr.invars]
    outputs = write(closed.jaxpr, closed.consts, list(arguments))
    return Lines(tuple(lines), tuple(arguments), tuple(outputs))


def evaluate(program: Lines, values: list[Any]) -> dict[Slot, Any]:
    """Every slot's value or Interval, from those of the inputs."""
    env: dict[Slot, Any] = dict(zip(program.inputs, values, strict=True))
    producer = program.producer()
    for line in program.lines:
        env.update(zip(line.outputs, _results(line, env, program, producer), strict=True))
    return env


def look_up(env: dict[Slot, Any], atom: Any) -> Any:
    return env[atom] if isinstance(atom, Slot) else atom


def _results(line: Line, env: dict[Slot, Any], program: Lines, producer: dict[Slot, Line]) -> list[Any]:
    inputs = [look_up(env, atom) for atom in line.inputs]
    if not any(isinstance(i, Interval) for i in inputs):
        return list(line.run(*inputs))
    if line.name == "scan":
        return _scan(line.settings, inputs)
    if line.name == "select_n":
        inputs = [inputs[0], *(_refined(line, case, env, program, producer) for case in range(len(inputs) - 1))]

    def bind(*arrays: Any) -> Any:
        results = line.run(*arrays)
        return results if len(line.outputs) > 1 else results[0]

    bounds = bounds_of(line.name, bind, line.settings, inputs)
    if bounds is None:
        raise NoIntervalRule(
            f"No interval rule for the primitive '{line.name}' with an uncertain input; write the function without it, "
            "or add a rule to leadline.robustness.certificates.interval_rules."
        )
    return bounds if isinstance(bounds, list) else [bounds]


def _refined(line: Line, case: int, env: dict[Slot, Any], program: Lines, producer: dict[Slot, Line]) -> Any:
    """The bounds of one case of where(x > c, ., .), knowing in it that x > c, or that not: x is clipped at c, and what
    was computed from it is computed once more. Without this max(x, 0) written as a `where` would be [low, high]."""
    atom = line.inputs[1 + case]
    decided = producer.get(line.inputs[0]) if isinstance(line.inputs[0], Slot) else None
    if decided is None or decided.name not in ORDERS or not isinstance(atom, Slot):
        return look_up(env, atom)
    x, limit = decided.inputs
    flipped = not isinstance(look_up(env, x), Interval)
    x, limit = (limit, x) if flipped else (x, limit)
    if isinstance(look_up(env, limit), Interval) or not isinstance(x, Slot) or x.dtype.kind != "f":
        return look_up(env, atom)
    above = (decided.name in ("gt", "ge")) ^ flipped ^ (case == 0)
    low, high = env[x]
    edge = jnp.broadcast_to(look_up(env, limit), low.shape)
    part = (
        Interval(jnp.maximum(low, edge), jnp.maximum(high, edge))
        if above
        else (Interval(jnp.minimum(low, edge), jnp.minimum(high, edge)))
    )
    changed: dict[Slot, Any] = {x: part}
    for earlier in _between(program, x, atom, line):
        try:
            results = _results(earlier, env | changed, program, {})
        except NoIntervalRule:
            return look_up(env, atom)
        changed.update(zip(earlier.outputs, results, strict=True))
    return look_up(env | changed, atom)


def _between(program: Lines, start: Slot, end: Slot, before: Line) -> list[Line]:
    """The lines through which `end` depends on `start`."""
    earlier = program.lines[: program.lines.index(before)]
    reached = {start}
    for line in earlier:
        if any(isinstance(a, Slot) and a in reached for a in line.inputs) and start not in line.outputs:
            reached.update(line.outputs)
    wanted, found = {end}, []
    for line in reversed(earlier):
        if wanted.intersection(line.outputs) and reached.intersection(line.outputs) and start not in line.outputs:
            found.append(line)
            wanted.update(a for a in line.inputs if isinstance(a, Slot))
    return found[::-1]


def _scan(settings: dict[str, Any], inputs: list[Any]) -> list[Any]:
    """A loop of known length, written out."""
    length, consts, carries = settings["length"], settings["num_consts"], settings["num_carry"]
    if length > LONGEST_LOOP:
        raise NoIntervalRule(
            f"No interval rule for a 'scan' of {length} steps with uncertain input; at most 256 are written out."
        )
    body = written_out(settings["jaxpr"])
    fixed, carry, xs = inputs[:consts], inputs[consts : consts + carries], inputs[consts + carries :]
    rows: list[list[Any]] = []
    for i in range(length)[:: -1 if settings["reverse"] else 1]:
        now = [jax.tree.map(lambda a, i=i: a[i], x) for x in xs]
        env = evaluate(body, [*fixed, *carry, *now])
        results = [look_up(env, atom) for atom in body.outputs]
        carry = results[:carries]
        rows.append(results[carries:])
    rows = rows[:: -1 if settings["reverse"] else 1]
    stacked = []
    for column in zip(*rows, strict=True):
        if any(isinstance(v, Interval) for v in column):
            stacked.append(Interval(jnp.stack([low_of(v) for v in column]), jnp.stack([high_of(v) for v in column])))
        else:
            stacked.append(jnp.stack(column))
    return [*carry, *stacked]


def interval_outputs(
    f: Callable[[Array], PyTree], low: Float[Array | np.ndarray, "..."], high: Float[Array | np.ndarray, "..."]
) -> tuple[PyTree, PyTree]:
    """Sound bounds of f(x) for every x with low ≤ x ≤ high, element by element; exact for one affine map.

    f is traced once and its program carried out on intervals (Moore 1966; Gowal et al. 2018 for networks): boxes
    become c ↦ Wc + b, r ↦ |W| r in products, and pass monotone functions at their ends. Jittable; a primitive
    without a rule raises `NoIntervalRule`. Bounds are rounded outward, see `interval_arithmetic`.

    >>> low, high = interval_outputs(lambda x: jax.nn.relu(x - 2 * x[::-1]), jnp.zeros(2), jnp.ones(2))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.0], [1.0, 1.0])
    """
    low, high = jnp.asarray(low), jnp.asarray(high)
    if low.shape != high.shape or not jnp.issubdtype(low.dtype, jnp.floating) or low.dtype != high.dtype:
        raise ValueError(
            f"interval_outputs got bounds {low.shape} {low.dtype} and {high.shape} {high.dtype}; "
            "give two arrays of floating-point numbers of the same shape and type."
        )
    closed, shapes = jax.make_jaxpr(f, return_shape=True)(low)
    program = written_out(closed)
    env = evaluate(program, [Interval(low, high)])
    ends = [look_up(env, atom) for atom in program.outputs]
    structure = jax.tree.structure(shapes)
    lows, highs = ([jnp.asarray(end(e)) for e in ends] for end in (low_of, high_of))
    return jax.tree.unflatten(structure, lows), jax.tree.unflatten(structure, highs)
