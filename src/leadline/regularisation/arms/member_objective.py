"""The loss of one of many networks, each with rows, targets and noise of its own."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from leadline.training import RowLosses

from ..layers.modal_objective import ModalObjective


class Places(NamedTuple):
    """Places in the lists of rows that the members have, and 1 for those that are trained on, 0 for those held out."""

    place: Int[Array | np.ndarray, " batch"]
    trained: Float[Array | np.ndarray, " batch"]


class Member(NamedTuple):
    """What one network has for itself; `fit_many` carries it as the objective's state."""

    rows: Int[Array | np.ndarray, " n"]  #: of the pool
    targets: Float[Array | np.ndarray, "n classes"]  #: their probabilities of classes
    shift: Float[Array | np.ndarray, "..."]  #: taken from the inputs,
    scale: Float[Array | np.ndarray, "..."]  #: which are then divided by this
    noise: Float[Array | np.ndarray, ""]  #: standard deviation of what is added to inputs in training
    layers: PyTree  #: the state of the network's own layers


class MemberObjective(ModalObjective):
    """Cross-entropy −Σ_c t_c log p_c of a member's network on places of its list, inputs from a pool that all share."""

    pool: Float[Array, "rows ..."]
    noisy: bool = eqx.field(static=True)  #: whether any member has noise on its inputs

    def __init__(self, pool: Any, *, noisy: bool):
        super().__init__(optax.softmax_cross_entropy)
        self.pool, self.noisy = jnp.asarray(pool), noisy

    def __call__(self, model: Any, sample: Places, key: PRNGKeyArray | None, state: Member) -> tuple[RowLosses, Member]:
        place, trained = sample
        inputs = (self.pool[state.rows[place]] - state.shift) / state.scale
        if self.noisy and key is not None:
            key, own = jax.random.split(key)
            spread = (state.noise * trained).reshape(-1, *[1] * (inputs.ndim - 1))
            inputs = inputs + spread * jax.random.normal(own, inputs.shape, inputs.dtype)
        outputs, layers = self.outputs(model, inputs, key, state.layers)
        targets = state.targets[place]
        right = jnp.argmax(outputs, axis=1) == jnp.argmax(targets, axis=1)
        rows = RowLosses(self.loss(outputs, targets), None, {"accuracy": right.astype(outputs.dtype)})
        return rows, state._replace(layers=layers)
