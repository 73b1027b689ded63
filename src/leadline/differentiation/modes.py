"""Forward and reverse mode for NumPy functions, with the operations counted; whole Jacobians by either."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num

from .local_rules import RULES
from .tape import Tape, Traced
from .tracers import Operations, Tracer, frozen

Values = Num[np.ndarray | Array, "..."] | float


class Dual(Tracer):
    """A pair (value, tangent), carried through NumPy code: f(Dual(x, u)) = Dual(f(x), f'(x) u). Nothing is stored.

    >>> y = np.sin(Dual(np.array(0.0), np.array(2.0)))
    >>> float(y.value), float(y.tangent)
    (0.0, 2.0)
    """

    def __init__(self, value: Values, tangent: Values, operations: Operations | None = None) -> None:
        self.value = frozen(value)
        self.tangent = np.broadcast_to(np.asarray(tangent), self.value.shape)
        self.operations = operations or Operations()

    def apply(self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> "Dual":
        values = tuple(a.value if isinstance(a, Tracer) else frozen(a, self.value) for a in arguments)
        value = np.asarray(RULES[name].value(*values, **options))
        parts = []
        for i, argument in enumerate(arguments):
            if isinstance(argument, Dual):
                parts.append(RULES[name].push(i, argument.tangent, values, value, options))
                self.operations.add(name, values, value)
        return Dual(value, np.asarray(sum(parts[1:], start=parts[0])), self.operations)


class Pushed(NamedTuple):
    """f(x) and J u, with the scalar operations spent on tangents."""

    value: Float[np.ndarray, "..."]
    tangent: Float[np.ndarray, "..."]
    operations: int


class Pulled(NamedTuple):
    """f(x) and Jᵀ c, with the scalar operations spent on adjoints and the numbers stored for the backward pass."""

    value: Float[np.ndarray, "..."]
    adjoint: Float[np.ndarray, "..."]
    operations: int
    stored: int


class CountedJacobian(NamedTuple):
    """The m x n Jacobian, the passes it took and the scalar operations in them, the forward evaluation not counted."""

    matrix: Float[np.ndarray, "m n"]
    passes: int
    operations: int


def jvp(function: Callable[[Any], Any], x: Values, direction: Values) -> Pushed:
    """Forward mode: J u for one direction u, in one pass with the evaluation; memory does not grow with depth.

    >>> jvp(lambda x: x * x, np.array([1.0, 2.0]), np.array([1.0, 0.0])).tangent.tolist()
    [2.0, 0.0]
    """
    x, direction = np.asarray(x), np.asarray(direction)
    if direction.shape != x.shape:
        raise ValueError(f"The direction has shape {direction.shape}, the input {x.shape}; they must be equal.")
    counter = Operations()
    y = function(Dual(x, direction, counter))
    if not isinstance(y, Dual):  # a constant function
        return Pushed(np.asarray(y, float), np.zeros(np.shape(y)), 0)
    return Pushed(y.value, np.array(y.tangent), counter.total)


def vjp(function: Callable[[Any], Any], x: Values, cotangent: Values) -> Pulled:
    """Reverse mode: Jᵀ c for one cotangent c, by a recorded evaluation and one pass backwards.

    >>> vjp(lambda x: x * x, np.array([1.0, 2.0]), np.array([0.0, 1.0])).adjoint.tolist()
    [0.0, 4.0]
    """
    tape = Tape()
    variable = tape.variable(x)
    y = function(variable)
    if not isinstance(y, Traced):
        return Pulled(np.asarray(y, float), np.zeros_like(variable.value), 0, 0)
    adjoint = tape.gradient(y, variable, np.asarray(cotangent))
    return Pulled(y.value, adjoint, tape.pulled.total, sum(node.value.size for node in tape.nodes))


def forward_jacobian(function: Callable[[Any], Any], x: Values) -> CountedJacobian:
    """The Jacobian, column by column, by one forward pass for each of the n inputs.

    >>> found = forward_jacobian(lambda x: np.sin(x)[:1] * x, np.zeros(3))
    >>> found.matrix.shape, found.passes
    ((3, 3), 3)
    """
    x = np.asarray(x, float)
    passes = [jvp(function, x, unit.reshape(x.shape)) for unit in np.eye(x.size)]
    matrix = np.stack([p.tangent.ravel() for p in passes], axis=1)
    return CountedJacobian(matrix, x.size, sum(p.operations for p in passes))


def reverse_jacobian(function: Callable[[Any], Any], x: Values) -> CountedJacobian:
    """The Jacobian, row by row, by one recording and one backward pass for each of the m outputs.

    >>> found = reverse_jacobian(lambda x: np.sin(x).sum(), np.zeros(3))
    >>> found.matrix.tolist(), found.passes
    ([[1.0, 1.0, 1.0]], 1)
    """
    tape = Tape()
    variable = tape.variable(x)
    y = function(variable)
    if not isinstance(y, Traced):
        return CountedJacobian(np.zeros((np.size(y), variable.size)), 0, 0)
    rows = [tape.gradient(y, variable, unit.reshape(y.shape)).ravel() for unit in np.eye(y.size)]
    return CountedJacobian(np.stack(rows), y.size, tape.pulled.total)
