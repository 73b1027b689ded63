"""Which layers keep running statistics, and whether they have any yet."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax import core
from jaxtyping import PyTree


def kept(state: eqx.nn.State, index: Any) -> Any:
    """What the state has at an index of a layer, which Equinox's types call optional.

    >>> layer, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(3, "batch", mode="batch")
    >>> int(kept(state, layer.batch_counter))
    0
    """
    return state.get(index)


def batch_norms(network: PyTree) -> dict[str, eqx.nn.BatchNorm]:
    """The batch normalisations of an Equinox network by their places in it.

    >>> net = eqx.nn.Sequential([eqx.nn.Identity(), eqx.nn.BatchNorm(3, "batch", mode="batch")])
    >>> list(batch_norms(net))
    ['layers[1]']
    """
    found = jax.tree_util.tree_leaves_with_path(network, is_leaf=lambda m: isinstance(m, eqx.nn.BatchNorm))
    return {
        jax.tree_util.keystr(path).lstrip("."): layer for path, layer in found if isinstance(layer, eqx.nn.BatchNorm)
    }


def empty_statistics(network: PyTree, state: eqx.nn.State) -> list[str]:
    """The places of the batch normalisations that have seen no batch.

    >>> net, state = eqx.nn.make_with_state(eqx.nn.Sequential)([eqx.nn.BatchNorm(3, "batch", mode="batch")])
    >>> empty_statistics(net, state)
    ['layers[0]']
    """
    return [name for name, layer in batch_norms(network).items() if _is_empty(layer, state)]


def require_statistics(network: PyTree, state: eqx.nn.State) -> None:
    """ValueError if the network is in use (inference mode) and a layer of it has seen no batch.

    Inside a compiled function the state has no numbers yet, and nothing is said.
    """
    for name, layer in batch_norms(network).items():
        if layer.inference and _is_empty(layer, state):
            raise ValueError(
                f"The layer {name} of {type(network).__name__} has seen no batch, so that its running statistics are "
                "empty; train the network before it is used, or keep the state that training returned."
            )


def _is_empty(layer: eqx.nn.BatchNorm, state: eqx.nn.State) -> bool:
    if layer.mode == "ema":
        flag, empty = layer.ema_first_time_index, True
    else:
        flag, empty = layer.batch_counter, 0
    seen = kept(state, flag)
    return not isinstance(seen, core.Tracer) and bool(np.asarray(seen) == empty)
