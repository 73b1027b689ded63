"""Haiku transforms as functions of their parameters, in inference mode and without randomness."""

import inspect
from collections.abc import Callable
from typing import Any

import equinox as eqx
from jaxtyping import Array, PyTree

from .checks import INFERENCE, Refused, checked_arrays, inference_options, kind_of, refuse_more, required_arguments


class _Haiku(eqx.Module):
    transformed: Callable = eqx.field(static=True)
    options: tuple[tuple[str, bool], ...] = eqx.field(static=True)
    takes_key: bool = eqx.field(static=True)
    stateful: bool = eqx.field(static=True)
    state: PyTree = None

    def __call__(self, params: PyTree, x: Array) -> Array:
        state = (self.state,) if self.stateful else ()
        key = (None,) if self.takes_key else ()
        outputs = self.transformed(params, *state, *key, x, **dict(self.options))
        return outputs[0] if self.stateful else outputs


def open_haiku(network: Any, given: Any) -> tuple[Callable, PyTree]:
    """Of (transform, params) or, where it keeps a state, of (transform, (params, state)).

    A transform's apply takes (params, rng, x), (params, state, rng, x), or these without rng after `without_apply_rng`.
    """
    names = list(inspect.signature(network.apply).parameters)
    stateful = names[1:2] == ["state"]
    takes_key = names[1 + stateful : 2 + stateful] == ["rng"]
    if given is None or (stateful and not (isinstance(given, tuple | list) and len(given) == 2)):
        form = "(transform, (params, state))" if stateful else "(transform, params)"
        raise Refused(f"The network, {kind_of(network)}, is a Haiku transform without all of its values; give {form}.")
    params, state = given if stateful else (given, None)
    before = 2 + stateful + takes_key  # params, state, rng and the inputs
    wanted = [name for name in required_arguments(network.apply) if name in names[before:]]
    refuse_more(network, [name for name in wanted if name not in INFERENCE])
    options = tuple(inference_options(network.apply, before).items())
    return _Haiku(network.apply, options, takes_key, stateful, state), checked_arrays(params)
