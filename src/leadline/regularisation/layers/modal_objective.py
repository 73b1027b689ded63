"""The objective of `training.fit` for networks with modes: keys for dropout, a state for batch statistics."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Num, PRNGKeyArray, PyTree

from leadline.frameworks.checks import kind_of, takes
from leadline.training.objectives import Loss, Supervised, loss_called

from .running_statistics import batch_norms, require_statistics


class ModalObjective(Supervised):
    """objective(model, (inputs, targets), key, state) -> (losses of rows, state), for any Equinox network.

    A network of one example may take a `key` (dropout), a `state` (batch normalisation), both or none of them, in
    Equinox's convention; with a state it returns (output, state). Each example has a key of its own, and the axis of
    the batch has the name that the network's normalisations ask for. Give the state to `fit` beside it. Validation in
    `fit` is in inference mode, with the running statistics.

    >>> import numpy as np, optax
    >>> from leadline import training
    >>> from leadline.regularisation import RegularisedMLP
    >>> x = np.random.default_rng(0).normal(size=(64, 2)).astype("float32")
    >>> net, state = eqx.nn.make_with_state(RegularisedMLP)((2, 16, 2), normalisation="batch", key=jax.random.key(0))
    >>> run = training.fit(net, (x, (x[:, 0] > 0).astype(int)), objective=ModalObjective(), state=state,
    ...                    optimiser=optax.adam(0.01), epochs=20, batch=16, key=jax.random.key(1))
    >>> bool(run.history["accuracy"][-1] > 0.9)
    True
    """

    def __init__(self, loss: str | Loss = "cross-entropy"):
        self.loss = loss_called(loss)

    def outputs(
        self, model: Any, inputs: Num[Array, "batch ..."], key: PRNGKeyArray | None, state: PyTree
    ) -> tuple[Num[Array, "batch ..."], PyTree]:
        """The outputs of a batch and the new state."""
        stateful = takes(model.__call__, "state")
        if state is None and (stateful or batch_norms(model)):
            raise ValueError(
                f"The network, {kind_of(model)}, has layers with a state and training was given none; give state=, "
                "the one that eqx.nn.make_with_state returned."
            )
        if stateful:
            require_statistics(model, state)
        keyed = takes(model.__call__, "key") and key is not None
        keys = jax.random.split(key, len(inputs)) if keyed else None

        def one(x: Array, state: PyTree, key: PRNGKeyArray | None) -> Any:
            more = ({"state": state} if stateful else {}) | ({"key": key} if keyed else {})
            found = model(x, **more)
            if not stateful:
                return found, state
            if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], eqx.nn.State)):
                raise ValueError(
                    f"The network, {kind_of(model)}, returns {kind_of(found)} and drops its state; return "
                    "(output, state)."
                )
            return found

        over = (0, None, 0 if keyed else None)
        return jax.vmap(one, axis_name=_axis(model), in_axes=over, out_axes=(0, None))(inputs, state, keys)


def _axis(model: PyTree) -> Any:
    """The name that the batch's axis has in the network's normalisations."""
    names = {
        layer.axis_name if not isinstance(layer.axis_name, list) else tuple(layer.axis_name)
        for layer in batch_norms(model).values()
    }
    if len(names) > 1:
        raise ValueError(f"The batch normalisations name {len(names)} axes, {names}; give all of them one name.")
    return names.pop() if names else "batch"
