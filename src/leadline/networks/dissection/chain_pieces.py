"""The pieces of a traced network between the places where all paths meet, and what each of them is."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Array

from leadline.differentiation.programs.traced_program import Fixed, Step

from .elementwise import acts_entrywise
from .layer_facts import meets_weight
from .traced_network import MOVES, TracedNetwork

_ARITHMETIC = ("mul", "add", "add_any", "sub", "div")


class NoChain(Exception):
    """The network is no chain; the message says why."""


@dataclass
class Piece:
    """What lies between two places where all paths from the input meet."""

    tag: str  #: layer, affine, scalar, neg, shape, act, max, sum
    steps: list[Step]
    start: int
    end: int
    lipschitz: float = 1.0
    window: tuple[int, ...] | None = None
    stride: tuple[int, ...] | None = None


def cuts_of(net: TracedNetwork) -> list[tuple[int, int, list[Step]]]:
    """(start, end, steps) between slots through which every path from the input to the output goes."""
    last: dict[int, int] = {}
    if isinstance(net.program.output, int):
        last[net.program.output] = len(net.data_steps)
    for number, step in enumerate(net.data_steps):
        for slot in net.varying(step):
            last[slot] = max(last.get(slot, -1), number)
    alive = {net.program.leaves}
    found, start, steps = [], net.program.leaves, []
    for number, step in enumerate(net.data_steps):
        steps.append(step)
        alive |= {slot for slot in step.outputs if slot in last}
        alive = {slot for slot in alive if last[slot] > number}
        if len(alive) == 1 and set(step.outputs) >= alive:
            (end,) = alive
            found.append((start, end, steps))
            start, steps = end, []
    return found


def classified(net: TracedNetwork, constants: dict[int, Array], start: int, end: int, steps: list[Step]) -> Piece:
    size = math.prod(net.shapes[start])
    if len(steps) == 1:
        piece = _single(net, constants, start, end, steps[0])
        if piece is not None:
            return piece
    entrywise = all(
        (acts_entrywise(s.primitive, s.settings) or (s.primitive in MOVES and s.primitive != "transpose"))
        and all(math.prod(shape) == size for shape in s.shapes)
        and all(_uniform(net, constants, i) for i in s.inputs if not (isinstance(i, int) and i in net.data))
        for s in steps
    )
    if entrywise:
        return Piece("act", steps, start, end)
    raise NoChain(_reason(net, steps))


def _single(net: TracedNetwork, constants: dict, start: int, end: int, step: Step) -> Piece | None:
    """The piece of one step that has the varying input once; None if it is not a known one."""
    name, settings = step.primitive, step.settings
    before, after = math.prod(net.shapes[start]), math.prod(step.shapes[0])
    if sum(i == start for i in step.inputs) != 1:
        return None
    rest = [i for i in step.inputs if i != start]

    def piece(tag: str, **more: Any) -> Piece:
        return Piece(tag, [step], start, end, **more)

    if name in ("dot_general", "conv_general_dilated"):
        return piece("affine" if meets_weight(net, step) is None else "layer")
    if name in MOVES:
        return piece("shape" if before == after else "affine")
    if name == "slice" or (name == "pad" and float(np.asarray(value_of(constants, rest[0]))) == 0):
        return piece("shape")
    if name == "neg":
        return piece("neg")
    if name in _ARITHMETIC and not (name == "div" and step.inputs[0] != start):
        plain = before == after and all(_uniform(net, constants, i) and not net.source(i) for i in rest)
        return piece("scalar" if plain else "affine")
    if name in ("reduce_max", "reduce_min"):
        axes = settings["axes"]
        window = tuple(net.shapes[start][a] for a in axes)
        return piece("max", window=window, stride=window)
    if name == "reduce_sum":
        window = tuple(net.shapes[start][a] for a in settings["axes"])
        return piece("sum", lipschitz=math.sqrt(math.prod(window)), window=window, stride=window)
    if name in ("reduce_window_max", "reduce_window_min", "reduce_window_sum"):
        window, stride = settings["window_dimensions"], settings["window_strides"]
        windows_of_one = math.prod(-(-w // s) for w, s in zip(window, stride, strict=True))
        total = name.endswith("sum")
        pooled = [n for n, w in enumerate(window) if w > 1]
        return piece(
            "sum" if total else "max",
            lipschitz=math.sqrt(windows_of_one * (math.prod(window) if total else 1)),
            window=tuple(window[n] for n in pooled),
            stride=tuple(stride[n] for n in pooled),
        )
    return None


def value_of(constants: dict[int, Array], i: int | Fixed) -> Any:
    return i.value if isinstance(i, Fixed) else constants[i]


def _uniform(net: TracedNetwork, constants: dict[int, Array], i: int | Fixed) -> bool:
    """Whether a value that does not vary is one number everywhere."""
    value = value_of(constants, i)
    if np.size(value) <= 1:
        return True
    return not net.source(i) and bool(np.ptp(np.asarray(value, float)) == 0)


def _reason(net: TracedNetwork, steps: list[Step]) -> str:
    names = {s.primitive for s in steps}
    several = {s.primitive for s in steps if len(net.varying(s)) > 1}
    if "dot_general" in several:
        return "two values that both depend on the input are multiplied as matrices, as in attention"
    if any(meets_weight(net, s) is not None for s in steps):
        if several & {"add", "add_any", "sub"}:
            return "a skip connection or a sum of branches leads around a layer"
        if several & {"mul", "div"}:
            return "a gate multiplies the result of a layer by another value"
        if "concatenate" in several:
            return "branches are joined"
        if several:
            return f"several paths lead around a layer and meet in {sorted(several)[0]}"
    loops = names & {"scan", "while", "cond"}
    if loops:
        return f"there is a {sorted(loops)[0]} in it that cannot be written out"
    if any(name.startswith("reduce") or name == "argmax" for name in names):
        return "values are divided by or shifted by statistics of themselves, as in layer normalisation or a softmax"
    if names & {"gather", "dynamic_slice"}:
        return "the input says where to look in a table"
    return f"a step is none of affine, activation, pooling, reshaping: {', '.join(sorted(names))}"
