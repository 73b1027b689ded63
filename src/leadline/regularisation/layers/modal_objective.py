"""The objective of `training.fit` for networks with modes: keys for dropout, a state for batch statistics."""

from typing import Any

import equinox as eqx
from jaxtyping import Array, Num, PRNGKeyArray, PyTree

from leadline.training.objectives import Loss, Supervised, loss_called

from .modal_calls import modal_outputs
from .running_statistics import require_statistics


class ModalObjective(Supervised):
    """objective(model, (inputs, targets), key, state) -> (losses of rows, state), for any Equinox network.

    A network of one example may take a `key` (dropout), a `state` (batch normalisation), both or none of them, in
    Equinox's convention; with a state it returns (output, state). Each example has a key of its own, and the axis of
    the batch has the name that the network's normalisations ask for. Give the state to `fit` beside it. Validation in
    `fit` is in inference mode, with the running statistics.

    >>> import jax, numpy as np, optax
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
        if isinstance(state, eqx.nn.State):
            require_statistics(model, state)
        return modal_outputs(model, inputs, key, state)
