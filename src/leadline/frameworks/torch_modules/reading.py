"""An exported program of PyTorch read as our `Program`: names of operations, slots, plain arguments."""

import operator
from collections.abc import Iterator
from typing import Any

from .names import name_of
from .program import Kind, Operation, Program, Record, Slot
from .refusals import check_operation, layer_of, refuse_unknown
from .table import known_name

_WITHOUT_EFFECT = ("layout", "device", "pin_memory", "memory_format", "non_blocking", "generator", "implicit")
_ASSERTIONS = ("_assert_tensor_metadata", "_assert_scalar", "_assert_async", "sym_constrain_range_for_size")
_FIRST_ONLY = ("_with_indices", "adaptive_max_pool", "native_layer_norm", "native_group_norm", "_native_batch_norm")
_FIRST_ONLY += ("rrelu_with_noise",)


def read_program(exported: Any, names: dict[str, str], shape: tuple[int | None, ...]) -> Program:
    """The program of an export; `names` gives the first name of every parameter, tied ones having several.

    `shape` is that of the inputs, with None for any number of rows.
    """
    from torch.export.graph_signature import InputKind

    graph = exported.graph
    slots = {node: Slot(number) for number, node in enumerate(graph.nodes)}
    last_use = {reader: n for n, node in enumerate(graph.nodes) for reader in node.all_input_nodes}
    placeholders = {node.name: slots[node] for node in graph.nodes if node.op == "placeholder"}
    parameters, constants, inputs = [], [], []
    for spec in exported.graph_signature.input_specs:
        slot = placeholders[spec.arg.name]
        if spec.kind == InputKind.PARAMETER:
            parameters.append((slot, names[str(spec.target)]))
        elif spec.kind == InputKind.USER_INPUT:
            inputs.append(slot)
        else:
            constants.append((slot, str(spec.target)))
    operations, unknown = [], {}
    for number, node in enumerate(graph.nodes):
        if node.op in ("placeholder", "output") or not node.users:  # nothing is written in place
            continue
        name = name_of(node)
        if name.split(".")[0] in _ASSERTIONS:
            continue
        known = known_name(name) if node.op == "call_function" else None
        check_operation(node, name)
        if known is None or _misses_results(node, name):
            unknown.setdefault(name, layer_of(node))
            continue
        free = tuple(slots[i] for i in node.all_input_nodes if last_use[i] == number)
        operations.append(_operation(node, known, slots, free))
    refuse_unknown(unknown)
    return Program(tuple(operations), tuple(parameters), tuple(constants), inputs[0], _outputs(exported, slots), shape)


def _misses_results(node: Any, name: str) -> bool:
    """Whether the network reads a result that our operation does not give, such as the indices of a pooling."""
    if not any(mark in name for mark in _FIRST_ONLY):
        return False
    return any(user.target is not operator.getitem or (user.args[1] != 0 and user.users) for user in node.users)


def _operation(node: Any, name: str, slots: dict[Any, Slot], free: tuple[Slot, ...]) -> Operation:
    arguments = tuple(_plain(a, slots) for a in node.args)
    options = {k: v for k, v in node.kwargs.items() if k not in _WITHOUT_EFFECT}
    if name.startswith("squeeze"):  # which axes have length 1 whatever the batch is
        arguments, options = (arguments[0], _squeezed(node)), {}
    plain = tuple((k, _plain(v, slots)) for k, v in sorted(options.items()))
    return Operation(name, arguments, plain, slots[node], _made_float(node), free)


def _squeezed(node: Any) -> tuple[int, ...]:
    before = node.args[0].meta["val"].shape
    dims = node.args[1] if len(node.args) > 1 else range(len(before))
    dims = [dims] if isinstance(dims, int) else dims
    return tuple(sorted({d % len(before) for d in dims if isinstance(before[d], int) and before[d] == 1}))


def _made_float(node: Any) -> Kind | None:
    """The type of a result that is floating while nothing was that it was made of."""
    import torch

    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or not value.dtype.is_floating_point:
        return None
    given = (i.meta.get("val") for i in node.all_input_nodes)
    if any(_is_floating(v) for v in given):
        return None
    return Kind(str(value.dtype).removeprefix("torch."))


def _is_floating(value: Any) -> bool:
    import torch

    if isinstance(value, list | tuple):
        return any(_is_floating(part) for part in value)
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point


def _plain(value: Any, slots: dict[Any, Slot]) -> Any:
    import torch

    if isinstance(value, torch.fx.Node):
        return slots[value]
    if isinstance(value, list | tuple):
        return tuple(_plain(part, slots) for part in value)
    if isinstance(value, torch.dtype):
        return Kind(str(value).removeprefix("torch."))
    if isinstance(value, torch.device | torch.layout | torch.memory_format):
        return None
    return value


def _outputs(exported: Any, slots: dict[Any, Slot]) -> Any:
    """What the network returns, in its structure, with slots for arrays."""
    from torch.export.graph_signature import OutputKind
    from torch.utils import _pytree

    by_name = {node.name: slot for node, slot in slots.items()}
    flat = [
        by_name[spec.arg.name] if hasattr(spec.arg, "name") and spec.arg.name in by_name else _constant(spec.arg)
        for spec in exported.graph_signature.output_specs
        if spec.kind == OutputKind.USER_OUTPUT
    ]
    return _frozen(_pytree.tree_unflatten(flat, exported.call_spec.out_spec))


def _constant(argument: Any) -> Any:
    return getattr(argument, "value", None)


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(dict, tuple(value), tuple(_frozen(part) for part in value.values()))
    fields = getattr(value, "_fields", None)
    if isinstance(value, tuple) and fields is not None:
        return Record(type(value), fields, tuple(_frozen(part) for part in value))
    if isinstance(value, list | tuple):
        return tuple(_frozen(part) for part in value)
    return value


def only_rows(exported: Any) -> int | None:
    """The batch size that the forward pass insists on, if it does."""
    name = next(iter(exported.graph_signature.user_inputs))
    rows = next(n for n in exported.graph.nodes if n.name == name).meta["val"].shape[0]
    return rows if isinstance(rows, int) else rows.node.maybe_as_int()


def changed_buffers(exported: Any) -> Iterator[str]:
    """Buffers that the forward pass writes."""
    from torch.export.graph_signature import OutputKind

    for spec in exported.graph_signature.output_specs:
        if spec.kind == OutputKind.BUFFER_MUTATION:
            yield str(spec.target)
