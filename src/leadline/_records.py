"""Records that a run leaves: lines of JSON, each on the disk before the next begins, checked when they are read."""

import os
import types
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ._files import is_regular
from ._messages import BadInput, brief

Record = TypeVar("Record")

# What reading a line of another program, or of none, may raise; RecursionError for thousands of nested brackets.
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def read_lines(file: Path, loads: Callable[[str], Record]) -> tuple[list[Record], int]:
    """Every line of a file that `loads` can read, in order, and how many it could not; none where there is no file."""
    found, damaged = [], 0
    if not is_regular(file):
        return [], 0
    for line in file.read_bytes().split(b"\n"):
        if line.strip():
            try:
                found.append(loads(line.decode()))
            except UNREADABLE:
                damaged += 1
    return found, damaged


def append_line(file: Path, text: str) -> None:
    """Add a line and wait until it is on the disk; a write that fails (a full disk) leaves the file as it was."""
    line = text.encode() + b"\n"
    is_regular(file)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line  # the line before was torn by a kill
        try:
            if os.write(descriptor, line) != len(line):
                raise OSError(28, "No space left on device")
            os.fsync(descriptor)
        except OSError as error:
            os.ftruncate(descriptor, size)
            raise BadInput(
                f"Cannot write to {file} ({error.strerror}); make room and run the same command to go on."
            ) from None
    finally:
        os.close(descriptor)


def fitting(record: Record) -> Record:
    """A dataclass or named tuple as it is, if every field has the type that it declares; ValueError names one if not.

    >>> from typing import NamedTuple
    >>> Row = NamedTuple("Row", [("name", str), ("values", tuple[float, ...])])
    >>> fitting(Row("a", (1, 2.5))).name
    'a'
    >>> fitting(Row("a", (1, "2")))
    Traceback (most recent call last):
    ValueError: values of Row is (1, '2'), not of type tuple[float, ...].
    """
    for name, kind in _fields(type(record)).items():
        value = getattr(record, name)
        if not _is(value, kind):
            shown = getattr(kind, "__name__", str(kind)) if isinstance(kind, type) else str(kind)
            raise ValueError(f"{name} of {type(record).__name__} is {brief(repr(value))}, not of type {shown}.")
    return record


@cache
def _fields(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _is(value: Any, kind: Any) -> bool:
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(_is(value, one) for one in inner)
    if origin is dict:
        return isinstance(value, dict) and all(_is(k, inner[0]) and _is(v, inner[1]) for k, v in value.items())
    if origin is tuple and inner[1:] == (Ellipsis,):
        return isinstance(value, tuple) and all(_is(v, inner[0]) for v in value)
    if origin is tuple:
        return isinstance(value, tuple) and len(value) == len(inner) and all(map(_is, value, inner))
    if kind in (int, float):
        return isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
    return isinstance(value, kind)
