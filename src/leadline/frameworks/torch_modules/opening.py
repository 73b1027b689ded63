"""PyTorch modules as functions of their parameters, in evaluation mode."""

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from ..checks import Refused, kind_of
from .exporting import copied, example_rows, exported
from .program import TorchFunction
from .reading import changed_buffers, only_rows, read_program
from .refusals import check_module, refuse_changes
from .weights import with_weights


def open_torch(network: Any, given: Any, example: Any, batched: bool = True) -> tuple[Callable, dict[str, Array]]:
    """function(params, x) of a PyTorch module, and its parameters under PyTorch's names.

    A parameter that is used under several names has the first; all of `module.parameters()` are parameters here, also
    those with requires_grad=False, and buffers are constants. Double precision stays so if JAX has 64-bit numbers.
    """
    network = _unwrapped(network)
    check_module(network)
    if given is not None and not isinstance(given, Mapping):
        raise Refused(
            "A PyTorch module comes alone or with a state_dict, (module, state_dict); here it is with "
            f"{kind_of(given)}."
        )
    if example is None:
        raise Refused(
            f"The network, {kind_of(network)}, is a PyTorch module, which is read by tracing it; give a batch of its "
            "inputs too, as_apply(module, example)."
        )
    own = copied(network if given is None else with_weights(network, given))
    few, whole = example_rows(example, own, batched)
    program, insists = exported(own, few, whole, batched)
    refuse_changes(list(changed_buffers(program)))
    first = {id(p): name for name, p in own.named_parameters()}
    names = {name: first[id(p)] for name, p in own.named_parameters(remove_duplicate=False)}
    rows = len(whole) if insists or not batched else only_rows(program)
    read = read_program(program, names, (rows, *whole.shape[1:]))
    values = {**program.state_dict, **program.constants}
    constants = {name: _array(values[name]) for _, name in read.constants}
    params = {name: _array(p) for name, p in own.named_parameters() if p.dtype.is_floating_point}
    return TorchFunction(read, constants), params


def _unwrapped(network: Any) -> Any:
    """The module inside what torch.compile and the parallel wrappers make of it."""
    import torch

    if isinstance(network, torch.nn.DataParallel | torch.nn.parallel.DistributedDataParallel):
        return _unwrapped(network.module)
    return getattr(network, "_orig_mod", network)


def _array(tensor: Any) -> Array:
    return jnp.array(tensor.detach().numpy())
