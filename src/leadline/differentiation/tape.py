"""A tape: plain NumPy code is recorded as a graph of operations, then differentiated forwards or backwards."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num

from .local_rules import RULES
from .tracers import Operations, Tracer, frozen

Values = Num[np.ndarray | Array, "..."] | float


class TapeNode(NamedTuple):
    """One operation on the tape; `parents` holds a node's index for each argument, None for a constant."""

    operation: str  # "variable" for an input
    label: str
    parents: tuple[int | None, ...]
    arguments: tuple[np.ndarray, ...]
    options: dict[str, Any]
    value: np.ndarray


class TapeStep(NamedTuple):
    """One step of a pass over the tape: the value that a node gets (forward) or its finished adjoint (backward)."""

    direction: str  # "forward" or "backward"
    node: int
    label: str
    operation: str
    value: np.ndarray
    adjoint: np.ndarray | None


class Traced(Tracer):
    """An array on a tape; NumPy's operators and functions on it are recorded."""

    def __init__(self, tape: "Tape", node: int) -> None:
        self.tape, self.node = tape, node

    @property
    def value(self) -> np.ndarray:
        return self.tape.nodes[self.node].value

    def named(self, label: str) -> "Traced":
        """The same array, with a label for reports and pictures."""
        self.tape.nodes[self.node] = self.tape.nodes[self.node]._replace(label=label)
        return self

    def apply(self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> "Traced":
        return self.tape.record(name, arguments, options)

    def __repr__(self) -> str:
        return f"Traced({self.tape.nodes[self.node].label or self.tape.nodes[self.node].operation}, {self.value})"


class Tape:
    """A function of arrays as a directed acyclic graph of operations with local derivatives.

    `variable` puts an input on the tape; NumPy code on it is recorded; `adjoints` then runs reverse mode, `tangents`
    forward mode, over the recorded graph (Linnainmaa 1970, Wengert 1964). The counters `evaluated`, `pulled` and
    `pushed` say how many scalar operations recording, reverse and forward passes took. Values on the tape are
    read-only, and operations in place are refused.

    >>> tape = Tape()
    >>> w, x = tape.variable(np.array([1.0, 2.0]), "w"), np.array([3.0, 4.0])
    >>> loss = (1.0 - w @ x) ** 2 / 2
    >>> tape.gradient(loss, w).tolist()
    [30.0, 40.0]
    >>> [step.operation for step in tape.steps(loss)][:4]
    ['variable', 'matmul', 'subtract', 'power']
    """

    def __init__(self) -> None:
        self.nodes: list[TapeNode] = []
        self.evaluated, self.pulled, self.pushed = Operations(), Operations(), Operations()

    def variable(self, value: Values, label: str = "") -> Traced:
        """An input of the function that is recorded; a read-only copy of the array is kept."""
        self.nodes.append(TapeNode("variable", label, (), (), {}, frozen(value)))
        return Traced(self, len(self.nodes) - 1)

    def record(self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Traced:
        """Evaluate an operation and append it."""
        parents: list[int | None] = []
        values = []
        like = next(a.value for a in arguments if isinstance(a, Tracer))
        for argument in arguments:
            if isinstance(argument, Tracer):
                if not isinstance(argument, Traced) or argument.tape is not self:
                    raise ValueError("An operation mixes arrays of two tapes; record all its variables on one tape.")
                parents.append(argument.node)
                values.append(argument.value)
            else:
                parents.append(None)
                values.append(frozen(argument, like))
        value = frozen(RULES[name].value(*values, **options))
        self.evaluated.add(name, tuple(values), value)
        self.nodes.append(TapeNode(name, "", tuple(parents), tuple(values), options, value))
        return Traced(self, len(self.nodes) - 1)

    def adjoints(self, output: Traced, cotangent: Values | None = None) -> dict[int, np.ndarray]:
        """Reverse mode: c ↦ Jᵀc for every node on a path to `output`; c = 1 for a scalar output."""
        found: dict[int, np.ndarray] = {}
        for index, adjoint in self._backwards(output, cotangent):
            found[index] = adjoint
        return found

    def gradient(self, output: Traced, variable: Traced, cotangent: Values | None = None) -> Float[np.ndarray, "..."]:
        """The adjoint of one variable: the gradient of a scalar output (zeros where there is no path)."""
        found = self.adjoints(output, cotangent).get(variable.node)
        return np.zeros_like(variable.value) if found is None else found

    def tangents(self, directions: Mapping[Traced, Values]) -> dict[int, np.ndarray]:
        """Forward mode over the recorded graph: u ↦ J u for every node that depends on the given variables."""
        found = {variable.node: np.broadcast_to(u, variable.shape) for variable, u in directions.items()}
        for index, node in enumerate(self.nodes):
            for i, parent in enumerate(node.parents):
                if parent in found:
                    part = RULES[node.operation].push(i, found[parent], node.arguments, node.value, node.options)
                    self.pushed.add(node.operation, node.arguments, node.value)
                    found[index] = np.asarray(found[index] + part if index in found else part)
        return found

    def steps(self, output: Traced) -> Iterator[TapeStep]:
        """All steps in order: values from the inputs to `output`, then adjoints from `output` to the inputs."""
        for index, node in enumerate(self.nodes[: output.node + 1]):
            yield TapeStep("forward", index, node.label, node.operation, node.value, None)
        for index, adjoint in self._backwards(output, None):
            node = self.nodes[index]
            yield TapeStep("backward", index, node.label, node.operation, node.value, adjoint)

    def _backwards(self, output: Traced, cotangent: Values | None) -> Iterator[tuple[int, np.ndarray]]:
        """Nodes in reverse order of recording, each once its adjoint is complete."""
        value = output.value
        if cotangent is None and value.size != 1:
            raise ValueError(f"The output has shape {value.shape}; reverse mode needs a cotangent of that shape.")
        seed = np.ones_like(value) if cotangent is None else np.asarray(cotangent)
        if seed.shape != value.shape:
            raise ValueError(f"The cotangent has shape {seed.shape}, the output {value.shape}; they must be equal.")
        waiting = {output.node: seed}
        for index in range(output.node, -1, -1):
            if index not in waiting:
                continue
            adjoint = waiting.pop(index)
            yield index, adjoint
            node = self.nodes[index]
            for i, parent in enumerate(node.parents):
                if parent is not None:
                    part = RULES[node.operation].pull(i, adjoint, node.arguments, node.value, node.options)
                    self.pulled.add(node.operation, node.arguments, node.value)
                    waiting[parent] = np.asarray(waiting[parent] + part if parent in waiting else part)
