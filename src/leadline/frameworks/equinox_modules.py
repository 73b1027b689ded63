"""Equinox modules as functions of their parameters, in inference mode, with or without a state and keys."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, PyTree

from .checks import (
    INFERENCE,
    Refused,
    inference_options,
    is_floating,
    kind_of,
    refuse_more,
    refuse_no_call,
    required_arguments,
    takes,
)
from .randomness import depends_on_first


class EquinoxFunction(eqx.Module):
    """f(params, x) of one example, in inference mode; `rest` is the network without its parameters."""

    rest: PyTree
    state: eqx.nn.State | None = None
    options: tuple[tuple[str, bool], ...] = eqx.field(static=True, default=())
    keyed: bool = eqx.field(static=True, default=False)  # whether a call takes a key

    def __call__(self, params: PyTree, x: Array) -> Array:
        network = eqx.combine(params, self.rest)
        if not self.keyed:
            return self._call(network, x, {})
        try:
            return self._call(network, x, {"key": None})
        except Exception:  # whatever a call raises that splits its key although nothing is drawn
            key = jax.random.key(0)
            if depends_on_first(lambda k: self._call(network, x, {"key": k}), key):
                raise Refused(
                    f"The network, {kind_of(network)}, draws random numbers from its key in inference mode too; give a "
                    "function f(params, inputs) that passes a fixed key, as (f, params)."
                ) from None
            return self._call(network, x, {"key": key})

    def _call(self, network: Any, x: Array, more: dict[str, Any]) -> Any:
        if self.state is None:
            return network(x, **more, **dict(self.options))
        state = jax.tree.map(lambda leaf: leaf, self.state)  # a copy: a layer that sets its state spoils the given one
        outputs = network(x, state=state, **more, **dict(self.options))
        if not (isinstance(outputs, tuple) and len(outputs) == 2 and isinstance(outputs[1], eqx.nn.State)):
            raise Refused(
                f"The network, {kind_of(network)}, returns {kind_of(outputs)} where a network with a state returns "
                "(outputs, state); return both."
            )
        return outputs[0]


def open_equinox(network: Any, state: eqx.nn.State | None) -> tuple[Callable, PyTree]:
    refuse_no_call(network)
    call = network.__call__
    wanted = required_arguments(call)[1:]
    if state is None and (has_state(network) or "state" in wanted):
        raise Refused(
            f"The network, {kind_of(network)}, has layers with a state, as batch normalisation has; give the pair "
            "(network, state) that eqx.nn.make_with_state returned."
        )
    if state is not None and not takes(call, "state"):
        raise Refused(
            f"The network, {kind_of(network)}, was given with a state, but its call takes no argument named state; "
            "name it so, or give the network alone."
        )
    refuse_more(network, [name for name in wanted if name not in ("state", "key", *INFERENCE)])
    _refuse_complex(network)
    params, rest = eqx.partition(eqx.nn.inference_mode(network), is_floating)
    return EquinoxFunction(rest, state, tuple(_options(call).items()), takes(call, "key")), params


def _options(call: Callable) -> dict[str, bool]:
    """Equinox' own layers take inference=None and then go by their mode, so only what has no default is passed."""
    required = required_arguments(call)
    return {name: value for name, value in inference_options(call).items() if name in required}


def _refuse_complex(network: PyTree) -> None:
    for path, leaf in jax.tree_util.tree_leaves_with_path(network):
        if eqx.is_inexact_array(leaf) and not is_floating(leaf):
            raise Refused(
                f"Parameter {jax.tree_util.keystr(path)} of the network, {kind_of(network)}, is {leaf.dtype}; keep "
                "real and imaginary parts as two arrays."
            )


def has_state(network: PyTree) -> bool:
    """Whether a layer keeps a state, as batch normalisation does."""
    leaves = jax.tree.leaves(network, is_leaf=lambda leaf: isinstance(leaf, eqx.nn.StateIndex))
    return any(isinstance(leaf, eqx.nn.StateIndex) for leaf in leaves)
