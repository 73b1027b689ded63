"""Dropout switched on in a network that is in use: one sub-network, drawn by a key, in place of the whole."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, PRNGKeyArray, PyTree

from .equinox_modules import EquinoxFunction, has_state
from .network import Apply


def dropout_layers(apply: Apply) -> list[Any]:
    """The layers of an opened Equinox network that drop something in training: a switch `inference`, and no state.

    Rates of 0 do not count, and normalisations, which keep a state, stay as in use.

    >>> from leadline import as_apply
    >>> net = eqx.nn.Sequential([eqx.nn.Linear(3, 4, key=jax.random.key(0)), eqx.nn.Dropout(0.2), eqx.nn.Dropout(0.0)])
    >>> [layer.p for layer in dropout_layers(as_apply(net).apply)]
    [0.2]
    """
    found = [layer for opened in _opened(apply) if not opened.options for layer in _switched(opened.rest)]
    return [layer for layer in found if not _is_zero(getattr(layer, "p", None))]


def with_dropout(apply: Apply, key: PRNGKeyArray) -> Apply:
    """The network of one draw of masks, the same for all rows; see `dropout_layers`."""
    return jax.tree.map(lambda node: _Masked(node, key) if _is_opened(node) else node, apply, is_leaf=_is_opened)


class _Masked(eqx.Module):
    opened: EquinoxFunction
    key: PRNGKeyArray

    def __call__(self, params: PyTree, x: Array) -> Array:
        rest = eqx.tree_at(
            lambda tree: [layer.inference for layer in _switched(tree)], self.opened.rest, replace_fn=lambda _: False
        )
        network, state = eqx.combine(params, rest), self.opened.state
        if state is None:
            return network(x, key=self.key)
        state = jax.tree.map(lambda leaf: leaf, state)  # a copy: a layer that sets its state spoils the given one
        return network(x, state=state, key=self.key)[0]


def _opened(apply: Apply) -> list[EquinoxFunction]:
    return [node for node in jax.tree.leaves(apply, is_leaf=_is_opened) if _is_opened(node)]


def _is_opened(node: Any) -> bool:
    return isinstance(node, EquinoxFunction)


def _switched(network: PyTree) -> list[Any]:
    """Modules with a switch and without a state, at any depth."""
    inner = jax.tree.leaves(network, is_leaf=lambda node: node is not network and hasattr(node, "inference"))
    found = [layer for node in inner if hasattr(node, "inference") for layer in _switched(node)]
    if hasattr(network, "inference") and not has_state(network):
        found.append(network)
    return found


def _is_zero(rate: Any) -> bool:
    return isinstance(rate, int | float) and rate == 0
