"""Flax modules, NNX and Linen, and training states as functions of their parameters, in inference mode."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
from jaxtyping import Array, PyTree

from .checks import (
    INFERENCE,
    Refused,
    checked_arrays,
    inference_options,
    kind_of,
    refuse_more,
    refuse_no_call,
    required_arguments,
)


class _Nnx(eqx.Module):
    graph: Any = eqx.field(static=True)
    rest: PyTree
    options: tuple[tuple[str, bool | None], ...] = eqx.field(static=True, default=())

    def __call__(self, params: PyTree, x: Array) -> Array:
        from flax import nnx

        return nnx.merge(self.graph, params, self.rest, copy=True)(x, **dict(self.options))


def open_nnx(network: Any, state: Any = None) -> tuple[Callable, PyTree]:
    """Of a module, or of the two that nnx.split made of one."""
    from flax import nnx

    if isinstance(network, nnx.GraphDef):
        if state is None:
            raise Refused("A Flax NNX GraphDef has no parameters; give the pair (graphdef, state), or the module.")
        network, state = nnx.merge(network, state), None
    if state is not None:
        raise Refused("A Flax NNX module holds its own state; give the module alone.")
    refuse_no_call(network)
    wanted = required_arguments(network.__call__)[1:]
    refuse_more(network, [name for name in wanted if name not in ("rngs", *INFERENCE)])
    options = inference_options(network.__call__) | ({"rngs": None} if "rngs" in wanted else {})
    copy = nnx.clone(network)
    copy.eval()
    graph, params, rest = nnx.split(copy, nnx.Param, ...)
    return _Nnx(graph, rest, tuple(options.items())), checked_arrays(nnx.to_pure_dict(params))


class _Linen(eqx.Module):
    module: Any = eqx.field(static=True)
    rest: PyTree
    options: tuple[tuple[str, bool], ...] = eqx.field(static=True)

    def __call__(self, params: PyTree, x: Array) -> Array:
        return self.module.apply({**self.rest, "params": params}, x, **dict(self.options))


def open_linen(network: Any, variables: Any) -> tuple[Callable, PyTree]:
    """Of a bound module, or of a module with the variables that its init returned."""
    if variables is None and network.scope is not None:
        network, variables = network.unbind()
    if not isinstance(variables, Mapping) or "params" not in variables:
        raise Refused(
            f"The network, {kind_of(network)}, is a Flax Linen module without its variables; give the pair "
            "(module, variables), where variables is what init returned, with its 'params'."
        )
    wanted = required_arguments(network.__call__)[1:]
    refuse_more(network, [name for name in wanted if name not in INFERENCE])
    rest = {name: _plain(part) for name, part in variables.items() if name != "params"}
    options = tuple(inference_options(network.__call__).items())
    return _Linen(network, rest, options), checked_arrays(_plain(variables["params"]))


class _AppliedFunction(eqx.Module):
    function: Callable = eqx.field(static=True)
    rest: PyTree

    def __call__(self, params: PyTree, x: Array) -> Array:
        return self.function({**self.rest, "params": params}, x)


def open_train_state(state: Any) -> tuple[Callable, PyTree]:
    """Of a TrainState: its apply_fn, as a rule the method of a Linen module, with its params and collections."""
    from flax import linen

    own = {"step", "apply_fn", "params", "tx", "opt_state"}
    extra = {f.name: getattr(state, f.name) for f in dataclasses.fields(state) if f.name not in own}
    rest = {name: part for name, part in extra.items() if isinstance(part, Mapping)}
    params = state.params
    variables = {**rest, **params} if isinstance(params.get("params"), Mapping) else {**rest, "params": params}
    module = getattr(state.apply_fn, "__self__", None)
    if isinstance(module, linen.Module):
        return open_linen(module, variables)
    rest = {name: _plain(part) for name, part in variables.items() if name != "params"}
    return _AppliedFunction(state.apply_fn, rest), checked_arrays(_plain(variables["params"]))


def _plain(tree: PyTree) -> PyTree:
    """Without the boxes of partitioned parameters, and as plain dictionaries."""
    from flax.core import meta, unfreeze

    return meta.unbox(unfreeze(tree))
