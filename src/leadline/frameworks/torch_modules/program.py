"""A network as a list of operations on numbered slots: plain data, equal for equal networks, run in JAX."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.dtypes import canonicalize_dtype
from jaxtyping import Array

from .table import OPERATIONS


@dataclass(frozen=True)
class Slot:
    """The value that an operation has left, a parameter, a constant or the input."""

    number: int


@dataclass(frozen=True)
class Kind:
    """A type of numbers by name; single precision stands for double where JAX has no 64-bit numbers."""

    name: str


@dataclass(frozen=True)
class Record:
    """A named tuple or a dictionary (`fields` are its keys) among the outputs."""

    form: type
    fields: tuple[Any, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Operation:
    """result = name(*arguments, **options), converted to `kind` where PyTorch makes floats of other numbers."""

    name: str
    arguments: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...]
    result: Slot
    kind: Kind | None = None
    free: tuple[Slot, ...] = ()  #: what nobody reads afterwards


@dataclass(frozen=True, eq=False)
class Program:
    """The operations of a network, where its parameters and constants go, and what it returns.

    `shape` is that of the inputs, with None for any number of rows. Two programs are equal if they are written alike.
    """

    operations: tuple[Operation, ...]
    parameters: tuple[tuple[Slot, str], ...]
    constants: tuple[tuple[Slot, str], ...]
    input: Slot
    outputs: Any
    shape: tuple[int | None, ...]
    digest: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        written = repr((self.operations, self.parameters, self.constants, self.input, self.outputs, self.shape))
        object.__setattr__(self, "digest", hashlib.sha256(written.encode()).hexdigest())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


class TorchFunction(eqx.Module):
    """function(params, x) of a batch: a PyTorch network without PyTorch."""

    program: Program = eqx.field(static=True)
    constants: dict[str, Array]

    def __call__(self, params: dict[str, Array], x: Array | np.ndarray) -> Any:
        program = self.program
        x = jnp.asarray(x)
        self._check(x.shape)
        values: dict[Slot, Any] = {slot: params[name] for slot, name in program.parameters}
        values.update({slot: self.constants[name] for slot, name in program.constants})
        values[program.input] = x
        for operation in program.operations:
            arguments = (_resolved(a, values) for a in operation.arguments)
            options = {name: _resolved(value, values) for name, value in operation.options}
            result = OPERATIONS[operation.name](*arguments, **options)
            values[operation.result] = result if operation.kind is None else result.astype(_dtype(operation.kind))
            for slot in operation.free:
                del values[slot]
        return _resolved(program.outputs, values)

    def _check(self, shape: tuple[int, ...]) -> None:
        wanted = self.program.shape
        if len(shape) != len(wanted) or shape[1:] != wanted[1:]:
            raise ValueError(
                f"The PyTorch network was opened with inputs of shape {_written(wanted)}, and these are of shape "
                f"{shape}; open it again with an example of them."
            )
        if wanted and wanted[0] is not None and shape[0] != wanted[0]:
            raise ValueError(
                f"The forward pass of the PyTorch network takes {wanted[0]} rows only, and {shape[0]} were given; let "
                f"the sizes in it follow its input (x.shape[0]), or give {wanted[0]}."
            )


def _written(shape: tuple[int | None, ...]) -> str:
    return f"({', '.join('n' if side is None else str(side) for side in shape)})"


def _dtype(kind: Kind) -> Any:
    return canonicalize_dtype(kind.name)


def _resolved(value: Any, values: dict[Slot, Any]) -> Any:
    if isinstance(value, Slot):
        return values[value]
    if isinstance(value, Kind):
        return _dtype(value)
    if isinstance(value, tuple):
        return tuple(_resolved(part, values) for part in value)
    if isinstance(value, Record):
        parts = [_resolved(part, values) for part in value.values]
        return dict(zip(value.fields, parts, strict=True)) if value.form is dict else value.form(*parts)
    return value
