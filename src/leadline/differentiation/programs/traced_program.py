"""A traced function as a list of single steps: JAX's own program of it with the nested calls written out.

The list can be read (which parameter goes where) and run again with something added to an intermediate value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend import core
from jaxtyping import Array, PyTree

NESTED_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "remat2": "jaxpr", "checkpoint": "jaxpr"}


@dataclass(frozen=True)
class Fixed:
    """A literal or a constant the function closes over."""

    value: Any


@dataclass(frozen=True)
class Step:
    """outputs = primitive(inputs): slots are numbers of intermediate values; `shapes` are those of the outputs."""

    primitive: str
    settings: Mapping[str, Any]
    inputs: tuple[int | Fixed, ...]
    outputs: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[Any, ...]
    run: Callable[..., list[Array]]


@dataclass(frozen=True)
class Program:
    """y = f(leaves, x) for one example: slots 0..leaves-1 are the parameter leaves, the next one is x."""

    steps: tuple[Step, ...]
    leaves: int
    output: int | Fixed
    out_shape: tuple[int, ...]
    in_shapes: tuple[tuple[int, ...], ...]

    def shapes(self) -> dict[int, tuple[int, ...]]:
        """The shape in every slot."""
        found = dict(enumerate(self.in_shapes))
        for step in self.steps:
            found.update(zip(step.outputs, step.shapes, strict=True))
        return found

    def run(self, leaves: list[Array], x: Array, added: Mapping[int, Array], wanted: tuple[int, ...]) -> tuple:
        """The output, with `added[slot]` added to intermediate values, and the values of the slots `wanted`."""
        values: dict[int, Any] = {**dict(enumerate(leaves)), self.leaves: x}
        for step in self.steps:
            results = step.run(*(i.value if isinstance(i, Fixed) else values[i] for i in step.inputs))
            for slot, value in zip(step.outputs, results, strict=True):
                values[slot] = value + added[slot] if slot in added else value
        out = self.output.value if isinstance(self.output, Fixed) else values[self.output]
        return out, {slot: values[slot] for slot in wanted}


def traced_program(f: Callable[[PyTree, Array], Array], params: PyTree, x: jax.ShapeDtypeStruct) -> Program:
    """Trace f(params, x) for one example x (its shape and dtype) and write out nested calls.

    Calls with a derivative of their own (custom_jvp, custom_vjp) and loops stay single steps, so that running the
    program and differentiating it means what it means for f; a convolution with a faster form of its derivative is
    written out.

    >>> import jax.numpy as jnp
    >>> line = traced_program(lambda w, x: jnp.tanh(x @ w), jnp.ones(2), jax.ShapeDtypeStruct((2,), float))
    >>> [step.primitive for step in line.steps], line.out_shape
    (['dot_general', 'tanh'], ())
    """
    leaves, structure = jax.tree.flatten(params)
    closed = jax.make_jaxpr(lambda p, one: f(jax.tree.unflatten(structure, p), one))(leaves, x)
    steps: list[Step] = []
    count = len(leaves) + 1

    def write_out(jaxpr: Any, consts: Any, arguments: list[int | Fixed]) -> list[int | Fixed]:
        nonlocal count
        where: dict[Any, int | Fixed] = dict(zip(jaxpr.constvars, map(Fixed, consts), strict=True))
        where.update(zip(jaxpr.invars, arguments, strict=True))

        def find(atom: Any) -> int | Fixed:
            return Fixed(atom.val) if isinstance(atom, core.Literal) else where[atom]

        for eqn in jaxpr.eqns:
            inputs = [find(atom) for atom in eqn.invars]
            inner = nested_program(eqn)
            if inner is not None:
                open_one = inner.jaxpr if isinstance(inner, core.ClosedJaxpr) else inner
                results = write_out(open_one, getattr(inner, "consts", ()), inputs)
                where.update(zip(eqn.outvars, results, strict=True))
                continue
            outputs = tuple(range(count, count + len(eqn.outvars)))
            count += len(outputs)
            where.update(zip(eqn.outvars, outputs, strict=True))
            avals = [v.aval for v in eqn.outvars]
            steps.append(
                Step(
                    eqn.primitive.name,
                    eqn.params,
                    tuple(inputs),
                    outputs,
                    tuple(tuple(getattr(a, "shape", ())) for a in avals),
                    tuple(getattr(a, "dtype", None) for a in avals),
                    equation_runner(jaxpr, eqn),
                )
            )
        return [find(atom) for atom in jaxpr.outvars]

    shapes = (*(tuple(leaf.shape) for leaf in leaves), tuple(x.shape))
    (output,) = write_out(closed.jaxpr, closed.consts, [*range(len(leaves)), len(leaves)])
    return Program(tuple(steps), len(leaves), output, tuple(closed.out_avals[0].shape), shapes)


def nested_program(eqn: Any) -> Any:
    """The program that an equation only calls, or None.

    A convolution or a maximum over axes whose derivative has a faster form of its own counts as called.
    """
    name = eqn.primitive.name
    if name == "custom_jvp_call":
        inner = eqn.params["call_jaxpr"]
        names = [each.primitive.name for each in inner.jaxpr.eqns]
        return inner if "conv_general_dilated" in names or names == ["reduce_max"] else None
    return eqn.params.get(NESTED_CALLS.get(name))


def any_equation(jaxpr: Any, holds: Callable[[Any], bool], calls: Mapping[str, str] = NESTED_CALLS) -> bool:
    """Whether something holds for an equation of a traced program, or of one that it calls."""
    for eqn in jaxpr.eqns:
        inner = eqn.params.get(calls.get(eqn.primitive.name))
        if holds(eqn) or (inner is not None and any_equation(getattr(inner, "jaxpr", inner), holds, calls)):
            return True
    return False


def equation_runner(jaxpr: Any, eqn: Any) -> Callable[..., list[Array]]:
    """One equation as a function of its inputs (literals are passed and ignored)."""
    variables = list(dict.fromkeys(v for v in eqn.invars if not isinstance(v, core.Literal)))
    alone = jaxpr.replace(constvars=[], invars=variables, outvars=eqn.outvars, eqns=[eqn], effects=eqn.effects)
    run = core.jaxpr_as_fun(core.ClosedJaxpr(alone, []))
    places = [eqn.invars.index(v) for v in variables]
    return lambda *inputs: run(*(inputs[i] for i in places))
