"""Where each parameter enters a function: the layers found in its traced program, and what is no layer."""

import math
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .layer_geometry import Layer, layer_at
from .traced_program import Fixed, Program, Step

_SAME_NUMBERS = (
    "convert_element_type",
    "transpose",
    "reshape",
    "squeeze",
    "copy",
    "copy_p",
    "name",
    "broadcast_in_dim",
)


@dataclass(frozen=True)
class Structure:
    """The layers, the leaves that are in none with the reason, and those on which the function does not depend."""

    layers: tuple[Layer, ...]
    others: dict[int, str]
    unused: tuple[int, ...]

    def apart(self) -> "Structure":
        """The same with every bias by itself, so that each leaf has its own part of the kernel."""
        biases = {layer.bias: "bias" for layer in self.layers if layer.bias is not None}
        layers = tuple(replace(layer, bias=None) for layer in self.layers)
        return Structure(layers, dict(sorted({**self.others, **biases}.items())), self.unused)


def layer_structure(program: Program) -> Structure:
    """Follow every leaf through scalings, transposes, reshapes and conversions to its one use.

    >>> from leadline.differentiation.programs import traced_program
    >>> line = traced_program(
    ...     lambda w, x: (x @ w["in"]) ** 2 * w["gain"],
    ...     {"gain": jnp.ones(()), "in": jnp.ones((2, 3))},
    ...     jax.ShapeDtypeStruct((2,), float),
    ... )
    >>> found = layer_structure(line)
    >>> [(layer.leaf, layer.inputs, layer.units) for layer in found.layers], found.others
    ([(1, 2, 3)], {0: 'enters through mul'})
    """
    shapes, uses = program.shapes(), _uses(program)
    numbers: dict[int, Any] = {}  # slots that hold one known number everywhere
    weights: dict[int, tuple[int, Any]] = {leaf: (leaf, 1.0) for leaf in range(program.leaves)}
    results: dict[int, tuple[int, Any]] = {}  # a plain layer's result, and by what it was multiplied since
    layers: list[Layer] = []
    others: dict[int, str] = {}

    def enter(step: Step, slots: list[int], slot: int, alone: bool) -> None:
        """The leaf in `slot` meets something: a layer begins, a layer gets its bias, or there is no layer."""
        leaf, scale = weights.pop(slot)
        once = uses[slot] == 1
        other = next((i for i in slots if i != slot), -1)
        if once and step.primitive in ("dot_general", "conv_general_dilated"):
            layer = layer_at(step, slots.index(slot), leaf, scale, shapes)
            if layer is None:
                others[leaf] = f"an unusual {step.primitive}"
                return
            if layer.plain and alone:
                results[step.outputs[0]] = (len(layers), 1.0)
            layers.append(layer)
        elif once and step.primitive in ("add", "add_any"):
            sizes = {math.prod(s) for s in (shapes[slot], shapes.get(other, ()), step.shapes[0])}
            if other in results and uses[other] == 1 and len(sizes) == 1:
                index, factor = results.pop(other)
                layers[index] = replace(
                    layers[index],
                    scale=layers[index].scale * factor,
                    signal=step.outputs[0],
                    bias=leaf,
                    bias_scale=scale,
                )
            else:
                others[leaf] = "bias"
        else:
            others[leaf] = f"enters through {step.primitive}" if once else "used more than once"

    for step in program.steps:
        known = [_number(i, numbers) for i in step.inputs]
        slots = [i if isinstance(i, int) else -1 for i in step.inputs]
        if step.inputs and len(step.outputs) == 1 and all(k is not None for k in known):
            if step.primitive == "broadcast_in_dim":
                numbers[step.outputs[0]] = known[0]
            elif math.prod(step.shapes[0]) == 1:
                values = (
                    i.value if isinstance(i, Fixed) else jnp.broadcast_to(k, shapes[i])
                    for i, k in zip(step.inputs, known, strict=True)
                )
                numbers[step.outputs[0]] = jnp.reshape(step.run(*values)[0], ())
            continue
        factor = _factor(step, known)
        if factor is not None:
            for table in (weights, results):
                moving = [i for i in slots if i in table and uses[i] == 1]
                if len(moving) == 1 and math.prod(step.shapes[0]) == math.prod(shapes[moving[0]]):
                    name, scale = table.pop(moving[0])
                    table[step.outputs[0]] = (name, scale * factor)
        entering = [i for i in dict.fromkeys(slots) if i in weights]
        for slot in entering:
            enter(step, slots, slot, alone=len(entering) == 1)
    unused = tuple(leaf for leaf in range(program.leaves) if leaf not in uses)
    for leaf, _ in weights.values():
        if leaf not in unused:
            others[leaf] = "an output itself"
    return Structure(tuple(layers), dict(sorted(others.items())), unused)


def _uses(program: Program) -> dict[int, int]:
    uses: dict[int, int] = {}
    for slots in (*(step.inputs for step in program.steps), (program.output,)):
        for slot in slots:
            if isinstance(slot, int):
                uses[slot] = uses.get(slot, 0) + 1
    return uses


def _number(i: int | Fixed, numbers: dict[int, Any]) -> Any:
    if isinstance(i, Fixed):
        if np.size(i.value) != 1:
            return None
        return i.value.reshape(()) if isinstance(i.value, jax.Array) else np.reshape(np.asarray(i.value), ())
    return numbers.get(i)


def _factor(step: Step, known: list[Any]) -> Any:
    """By what the step multiplies its one input that is not a number; None if it does anything else."""
    if step.primitive in _SAME_NUMBERS:
        return 1.0
    if step.primitive == "neg":
        return -1.0
    if step.primitive == "mul" and sum(k is not None for k in known) == 1:
        return next(k for k in known if k is not None)
    if step.primitive == "div" and known[0] is None and known[1] is not None:
        return 1.0 / known[1]
    return None
