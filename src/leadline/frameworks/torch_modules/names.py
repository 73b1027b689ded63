"""The names of the operations in an exported graph."""

from typing import Any

_OF_PYTHON = ("_operator", "operator", "math", "torch", "builtins")


def overload_name(operation: Any) -> str:
    """`linear.default`, `max.dim`: ATen's name with the overload; those of other libraries keep their prefix."""
    name = operation.name().removeprefix("aten::")
    return name if "." in name else f"{name}.default"


def name_of(node: Any) -> str:
    """The name of a node's operation: `linear.default`, or `number.mul` for one on sizes."""
    from torch._ops import OpOverload

    if isinstance(node.target, OpOverload):
        return overload_name(node.target)
    if node.op == "call_function" and getattr(node.target, "__module__", "") in _OF_PYTHON:
        return f"number.{node.target.__name__}"
    return str(node.target)
