"""A network's traced program with what each intermediate value depends on: the input, the parameters, or neither."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from leadline.differentiation.programs.traced_program import Fixed, Program, Step, traced_program
from leadline.frameworks.network import OneOfBatch

LONGEST = 4096  # iterations of all loops together that are written out

#: steps that keep every number and only move it
MOVES = (
    "broadcast_in_dim",
    "copy",
    "copy_p",
    "convert_element_type",
    "expand_dims",
    "name",
    "optimization_barrier",
    "reshape",
    "rev",
    "squeeze",
    "stop_gradient",
    "transpose",
)


@dataclass(frozen=True)
class Origin:
    """A parameter leaf, or the part `index` of one that holds several layers in a stack; `size` numbers."""

    leaf: int
    index: int | None
    size: int


@dataclass(frozen=True, eq=False)
class TracedNetwork:
    """The program of one example, and for every slot: whether it depends on the input, and on which parameters.

    A slot that does not depend on the input is a weight in effect (`origins` not empty) or a constant.
    """

    program: Program
    names: tuple[str, ...]  #: of the parameter leaves
    origins: dict[int, frozenset[Origin]]  #: of every slot that does not depend on the input
    data: frozenset[int]  #: slots that depend on the input
    loops: int  #: loops in the network as it was given, written out here where that was possible
    runs: dict[tuple[int, ...], Callable] = field(default_factory=dict, repr=False)  #: compiled, for `constants`

    @cached_property
    def shapes(self) -> dict[int, tuple[int, ...]]:
        return self.program.shapes()

    @cached_property
    def useful(self) -> frozenset[int]:
        """The slots on which the output depends."""
        needed = {self.program.output} if isinstance(self.program.output, int) else set()
        for step in reversed(self.program.steps):
            if needed.intersection(step.outputs):
                needed.update(i for i in step.inputs if isinstance(i, int))
        return frozenset(needed)

    @cached_property
    def data_steps(self) -> tuple[Step, ...]:
        """The steps that depend on the input and on which the output depends, in order."""
        return tuple(
            s for s in self.program.steps if self.useful.intersection(s.outputs) and self.data.intersection(s.outputs)
        )

    @cached_property
    def readers(self) -> dict[int, list[Step]]:
        """The steps that read a slot, among those that depend on the input and matter."""
        found: dict[int, list[Step]] = {}
        for step in self.data_steps:
            for slot in {i for i in step.inputs if isinstance(i, int)}:
                found.setdefault(slot, []).append(step)
        return found

    def varying(self, step: Step) -> list[int]:
        """The inputs of a step that depend on the network's input, each once."""
        return list(dict.fromkeys(i for i in step.inputs if isinstance(i, int) and i in self.data))

    def shape(self, slot: int | Fixed) -> tuple[int, ...]:
        return np.shape(slot.value) if isinstance(slot, Fixed) else self.shapes[slot]

    def source(self, slot: int | Fixed) -> frozenset[Origin]:
        """The parameters in a slot that does not depend on the input."""
        return self.origins.get(slot, frozenset()) if isinstance(slot, int) else frozenset()

    def named(self, origin: Origin) -> str:
        return self.names[origin.leaf] + ("" if origin.index is None else f"[{origin.index}]")

    def constants(self, params: PyTree, wanted: tuple[int, ...]) -> dict[int, Array]:
        """The values of slots that do not depend on the input."""
        if wanted not in self.runs:
            self.runs[wanted] = self._run_of(wanted)
        return self.runs[wanted](jax.tree.leaves(params))

    def _run_of(self, wanted: tuple[int, ...]) -> Callable[[list[Array]], dict[int, Array]]:
        steps = self.needed_for(set(wanted))

        def run(leaves: list[Array]) -> dict[int, Array]:
            values: dict[int, Any] = dict(enumerate(leaves))
            for step in steps:
                results = step.run(*(i.value if isinstance(i, Fixed) else values[i] for i in step.inputs))
                values.update(zip(step.outputs, results, strict=True))
            return {slot: values[slot] for slot in wanted}

        return jax.jit(run) if steps else run

    def needed_for(self, wanted: set[int]) -> list[Step]:
        """The steps, none of which depends on the input, that compute the slots `wanted`."""
        missing, steps = set(wanted), []
        for step in reversed(self.program.steps):
            if missing.intersection(step.outputs):
                steps.append(step)
                missing.update(i for i in step.inputs if isinstance(i, int))
        return steps[::-1]


def trace_network(apply: Callable[[PyTree, Array], Array], params: PyTree, inputs: Any) -> TracedNetwork:
    """Trace apply(params, x[None])[0] for one example x, with loops of a known length written out.

    >>> net = trace_network(lambda p, x: jnp.tanh(x @ p["w"]), {"w": jnp.ones((3, 2))}, jnp.ones((5, 3)))
    >>> net.names, [step.primitive for step in net.data_steps][-2:]
    (('w',), ['tanh', 'squeeze'])
    """
    leaves = jax.tree_util.tree_leaves_with_path(params)
    if not leaves:
        raise ValueError("The parameters hold no arrays; a dissection needs at least one parameter.")
    if getattr(inputs, "ndim", 0) < 1:
        raise ValueError("The inputs must be an array with one example per row; add an axis in front.")
    x = jax.ShapeDtypeStruct(inputs.shape[1:], jnp.result_type(inputs))
    f = OneOfBatch(apply)
    program = traced_program(f, params, x)
    lengths = [s.settings.get("length", math.inf) for s in program.steps if s.primitive in ("scan", "while")]
    if lengths and sum(length for length in lengths if length < math.inf) <= LONGEST:
        try:
            with jax.disable_jit():  # loops run in Python then, and every iteration is traced
                program = traced_program(f, params, x)
        except Exception:  # a loop whose end depends on values stays one step
            pass
    return _with_origins(program, tuple(_leaf_name(path) for path, _ in leaves), len(lengths))


def _with_origins(program: Program, names: tuple[str, ...], loops: int) -> TracedNetwork:
    shapes = program.shapes()
    origins = {leaf: frozenset({Origin(leaf, None, math.prod(shapes[leaf]))}) for leaf in range(program.leaves)}
    data = {program.leaves}
    for step in program.steps:
        slots = [i for i in step.inputs if isinstance(i, int)]
        if data.intersection(slots):
            data.update(step.outputs)
            continue
        found = frozenset().union(*(origins[i] for i in slots))
        if step.primitive == "slice" and len(found) == 1:
            found = _part_of_stack(step, found, shapes)
        for slot in step.outputs:
            origins[slot] = found
    return TracedNetwork(program, names, origins, frozenset(data), loops)


def _part_of_stack(step: Step, found: frozenset[Origin], shapes: dict) -> frozenset[Origin]:
    """One element along the first axis of a whole leaf is a parameter of its own."""
    (origin,) = found
    whole, part = shapes[step.inputs[0]], step.shapes[0]
    if origin.index is None and step.inputs[0] == origin.leaf and part[0] == 1 and part[1:] == whole[1:]:
        return frozenset({Origin(origin.leaf, int(step.settings["start_indices"][0]), math.prod(part))})
    return found


def _leaf_name(path: Any) -> str:
    """layers[0].weight, or the key of a plain dictionary, such as PyTorch's layers.0.weight."""
    words = ""
    for key in path:
        if isinstance(key, jax.tree_util.DictKey) and isinstance(key.key, str) and _is_plain(key.key):
            words += f".{key.key}"
        else:
            words += str(key)
    return words.lstrip(".") or "params"


def _is_plain(key: str) -> bool:
    return all(part.isidentifier() or part.isdigit() for part in key.split("."))
