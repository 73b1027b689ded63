"""Numbers beside the arrays: sizes of axes, which depend on the batch, and what is computed with them."""

import math
import operator
from collections.abc import Callable
from typing import Any

OPERATIONS: dict[str, Callable] = {
    "sym_size.int": lambda x, dim: x.shape[dim],
    "sym_numel": lambda x: math.prod(x.shape),
    "number.getitem": operator.getitem,
    "number.add": operator.add,
    "number.sub": operator.sub,
    "number.mul": operator.mul,
    "number.truediv": operator.truediv,
    "number.floordiv": operator.floordiv,
    "number.mod": operator.mod,
    "number.pow": operator.pow,
    "number.neg": operator.neg,
    "number.eq": operator.eq,
    "number.ne": operator.ne,
    "number.lt": operator.lt,
    "number.le": operator.le,
    "number.gt": operator.gt,
    "number.ge": operator.ge,
    "number.and_": operator.and_,
    "number.or_": operator.or_,
    "number.ceil": math.ceil,
    "number.floor": math.floor,
    "number.trunc": math.trunc,
    "number.sym_max": max,
    "number.sym_min": min,
    "number.sym_float": float,
    "number.sym_int": int,
    "number.sym_not": operator.not_,
    "number.sym_sqrt": math.sqrt,
}


def chosen(condition: Any, yes: Any, no: Any) -> Any:
    return yes if condition else no


OPERATIONS["number.sym_ite"] = chosen
