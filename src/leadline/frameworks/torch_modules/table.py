"""The table of all operations: by ATen's name with its overload where overloads differ, else by the name alone."""

from collections.abc import Callable

from .operations import (
    activations,
    arithmetic,
    attention,
    convolution,
    creation,
    indexing,
    linear,
    normalisation,
    numbers,
    pooling,
    recurrent,
    reductions,
    resizing,
    shapes,
)

_PARTS = (
    arithmetic,
    activations,
    linear,
    convolution,
    normalisation,
    attention,
    recurrent,
    shapes,
    reductions,
    pooling,
    resizing,
    indexing,
    creation,
    numbers,
)

OPERATIONS: dict[str, Callable] = {name: f for part in _PARTS for name, f in part.OPERATIONS.items()}


def known_name(name: str) -> str | None:
    """The entry for an operation such as `max.dim`: its overload's or its own; None if it is not known.

    >>> known_name("max.dim"), known_name("linear.default"), known_name("fold.default")
    ('max.dim', 'linear', None)
    """
    alone = name.split(".")[0]
    return name if name in OPERATIONS else alone if alone in OPERATIONS else None
