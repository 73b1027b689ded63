"""A network of one example with a key, a state, both or none, called on a batch."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Num, PRNGKeyArray, PyTree

from leadline.frameworks.checks import kind_of, required_arguments, takes

from .running_statistics import batch_norms


def modal_outputs(
    model: Any, inputs: Num[Array, "batch ..."], key: PRNGKeyArray | None, state: PyTree, **options: Any
) -> tuple[Num[Array, "batch ..."], PyTree]:
    """The outputs of a batch and the new state, by `jax.vmap` with the axis name that the normalisations ask for.

    Each example has a key of its own where the network takes one, and all share the state; `options` are passed on.

    >>> layer, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(1, "rows", mode="batch")
    >>> modal_outputs(layer, jax.numpy.array([[1.0], [3.0]]), None, state)[0].ravel().round(3).tolist()
    [-1.0, 1.0]
    """
    if state is None and ("state" in required_arguments(model.__call__) or batch_norms(model)):
        raise ValueError(
            f"The network, {kind_of(model)}, has layers with a state and was given none; give the one that "
            "eqx.nn.make_with_state returned (state=)."
        )
    stateful = state is not None and takes(model.__call__, "state")
    keyed = takes(model.__call__, "key") and key is not None
    keys = None if key is None or not keyed else jax.random.split(key, len(inputs))

    def one(x: Array, state: PyTree, key: PRNGKeyArray | None) -> Any:
        more = ({"state": state} if stateful else {}) | ({"key": key} if keyed else {})
        found = model(x, **more, **options)
        if not stateful:
            return found, state
        if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], eqx.nn.State)):
            told = "an array" if isinstance(found, jax.Array) else kind_of(found)
            raise ValueError(
                f"The network, {kind_of(model)}, returns {told} and drops its state; return (output, state)."
            )
        return found

    over = (0, None, 0 if keyed else None)
    return jax.vmap(one, axis_name=batch_axis(model), in_axes=over, out_axes=(0, None))(inputs, state, keys)


def batch_axis(model: PyTree) -> Any:
    """The name that the batch's axis has in the network's normalisations; ValueError where they have several."""
    names = {name: _hashable(layer.axis_name) for name, layer in batch_norms(model).items()}
    if len(set(names.values())) > 1:
        told = ", ".join(f"{axis!r} in {layer}" for layer, axis in names.items())
        raise ValueError(f"The batch normalisations are over different axes, {told}; give all of them one name.")
    return next(iter(names.values()), "batch")


def _hashable(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis
