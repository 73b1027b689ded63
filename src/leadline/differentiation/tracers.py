"""Arrays that are watched: plain NumPy code runs on them, and each operation goes through its local rule."""

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .local_rules import RULES

_IN_PLACE = (
    "An array under differentiation cannot be changed in place, since its old value is needed for derivatives; "
    "make a new array instead: x = x + y for x += y."
)


class Operations:
    """A counter of scalar operations: `products` are multiply-adds of matrix products, `entries` everything else."""

    def __init__(self) -> None:
        self.products = 0
        self.entries = 0

    @property
    def total(self) -> int:
        return self.products + self.entries

    def add(self, name: str, xs: tuple[np.ndarray, ...], y: np.ndarray) -> None:
        """Count one evaluation, push-forward or pull-back of the operation `name`."""
        rule = RULES[name]
        if rule.product:
            self.products += rule.cost(xs, y)
        else:
            self.entries += rule.cost(xs, y)


class Tracer(NDArrayOperatorsMixin):
    """What a recorded array and a dual number have in common: NumPy's functions and operators work on both."""

    value: np.ndarray

    def __hash__(self) -> int:
        return object.__hash__(self)  # == compares entries, so that equality of objects is identity

    def apply(self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> "Tracer":
        raise NotImplementedError

    def __array_ufunc__(self, ufunc: np.ufunc, how: str, *arguments: Any, **options: Any) -> "Tracer":
        if options.get("out") is not None:
            raise ValueError(_IN_PLACE)
        if how != "__call__" or ufunc.__name__ not in RULES or options:
            raise ValueError(_unknown(ufunc.__name__))
        return self.apply(ufunc.__name__, arguments, {})

    def __array_function__(self, function: Any, types: Any, arguments: tuple, options: dict) -> "Tracer":
        if options.get("out") is not None:
            raise ValueError(_IN_PLACE)
        named = {"sum": ("axis",), "mean": ("axis",), "reshape": ("shape",), "transpose": ("axes",)}
        if function.__name__ not in named:
            raise ValueError(_unknown(function.__name__))
        x, *rest = arguments
        options = dict(zip(named[function.__name__], rest, strict=False)) | options
        return self.apply(function.__name__, (x,), options)

    def sum(self, axis: Any = None, keepdims: bool = False) -> "Tracer":
        return self.apply("sum", (self,), {"axis": axis, "keepdims": keepdims})

    def mean(self, axis: Any = None, keepdims: bool = False) -> "Tracer":
        return self.apply("mean", (self,), {"axis": axis, "keepdims": keepdims})

    def reshape(self, *shape: Any) -> "Tracer":
        return self.apply("reshape", (self,), {"shape": shape[0] if len(shape) == 1 else shape})

    @property
    def T(self) -> "Tracer":
        return self.apply("transpose", (self,), {})

    def __getitem__(self, index: Any) -> "Tracer":
        return self.apply("item", (self,), {"index": index})

    def __setitem__(self, index: Any, value: Any) -> None:
        raise ValueError(_IN_PLACE)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise ValueError(
            "An array under differentiation was turned into a plain array, which would lose its derivative; "
            "use NumPy's functions on it directly, or its .value if no derivative is wanted."
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def size(self) -> int:
        return self.value.size


def frozen(array: Any, like: np.ndarray | None = None) -> np.ndarray:
    """A read-only copy in floating point: what later happens to the original does not reach it.

    A plain number takes the precision of `like`, as it does in NumPy.
    """
    copy = np.array(array, like.dtype if like is not None and isinstance(array, int | float) else None)
    copy = copy if np.issubdtype(copy.dtype, np.inexact) else copy.astype(float)
    copy.flags.writeable = False
    return copy


def _unknown(name: str) -> str:
    return f"There is no rule for differentiating numpy.{name}; the operations with one are {', '.join(RULES)}."
