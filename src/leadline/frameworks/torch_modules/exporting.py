"""torch.export with a batch of any size: what has a name in our table stays whole, all else is decomposed."""

import copy
import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..checks import Refused
from .names import name_of, overload_name
from .refusals import first_line, refuse_example, refuse_export
from .table import known_name

_UNWRITTEN = SimpleNamespace(is_mutable=False)  # arithmetic on sizes has no schema
_ROWS = 7  # of the batch that is traced: more than one, and no size that a network is likely to have in it


def copied(network: Any) -> Any:
    """A copy of its own in evaluation mode; tensors that were computed, as by weight_norm, are copied as values."""
    import torch

    memo: dict[int, Any] = {}
    for module in network.modules():
        for value in vars(module).values():
            if isinstance(value, torch.Tensor) and not value.is_leaf:
                memo[id(value)] = value.detach().clone()
    try:
        return copy.deepcopy(network, memo).eval()
    except Exception as error:
        raise Refused(
            f"The PyTorch network cannot be copied ({first_line(error)}); give one that copy.deepcopy takes."
        ) from error


def example_rows(example: Any, network: Any, batched: bool) -> tuple[Any, Any]:
    """A few rows to trace with and the example as it is, in the network's precision."""
    import torch

    given = example.detach().cpu().numpy() if isinstance(example, torch.Tensor) else np.asarray(example)
    if given.ndim == 0 or not len(given):
        raise ValueError(f"The example has shape {given.shape}; give a batch of inputs, with at least one row.")
    if not (np.issubdtype(given.dtype, np.number) or given.dtype == bool):
        raise ValueError(f"The example holds {given.dtype}; give a batch of numbers as the network takes them.")
    whole = torch.from_numpy(np.array(given))
    if whole.is_floating_point():
        dtype = next(p.dtype for p in network.parameters() if p.dtype.is_floating_point)
        whole = whole.to(dtype)
    if not batched:
        return whole[0], whole[0]
    return whole[torch.arange(_ROWS) % len(whole)], whole


def exported(network: Any, few: Any, whole: Any, batched: bool) -> tuple[Any, bool]:
    """The program of the network (a copy of the user's), decomposed to what our table knows; and whether it takes the
    rows of the whole example only."""
    from torch.export import Dim, export

    with _quietly():
        rows = _accepted(network, few, whole)
        shapes = ({0: Dim.AUTO} if batched else None,)
        try:
            program = export(network, (rows,), dynamic_shapes=shapes, strict=False)
            if not _is_known(program.graph):
                program = program.run_decompositions(_decompositions())
            return program, rows is not few
        except Exception as error:  # torch.export raises whatever the forward pass runs into
            raise refuse_export(network, error) from error


def _accepted(network: Any, few: Any, whole: Any) -> Any:
    """A batch that the network takes: a few rows, or all of the example where it insists on their number."""
    import torch

    with torch.no_grad():
        try:
            network(few)
            return few
        except Exception as error:
            if len(few) == len(whole):
                raise refuse_example(network, whole, error) from error
        try:
            network(whole)
            return whole
        except Exception as error:
            raise refuse_example(network, whole, error) from error


def _is_known(graph: Any) -> bool:
    """Whether every operation is in our table and writes nothing in place, so that there is nothing to decompose."""
    nodes = (node for node in graph.nodes if node.op not in ("placeholder", "output"))
    return all(known_name(name_of(n)) and not getattr(n.target, "_schema", _UNWRITTEN).is_mutable for n in nodes)


def _decompositions() -> Any:
    """PyTorch's own, but for what our table has."""
    from torch.export import default_decompositions

    table = default_decompositions()
    for operation in list(table):
        if known_name(overload_name(operation)):
            table.pop(operation)
    return table


@contextmanager
def _quietly() -> Iterator[None]:
    """No fused kernels, no warnings, log lines or graphs on stderr, and the state of PyTorch left as it was."""
    import torch

    fast = torch.backends.mha.get_fastpath_enabled()
    disabled = logging.root.manager.disable
    try:
        torch.backends.mha.set_fastpath_enabled(False)
        logging.disable(logging.ERROR)
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        logging.disable(disabled)
