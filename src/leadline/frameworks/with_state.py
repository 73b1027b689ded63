"""An Equinox network with the state that belongs to it, as one network in use."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array

from .checks import takes


class WithState(eqx.Module):
    """A network and its state as one module, called with one example, in inference mode: what a file of weights holds.

    `as_apply` takes it as the pair that it is, so that running statistics are no parameters.

    >>> import jax.numpy as jnp
    >>> layer, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(2, "batch", mode="batch")
    >>> WithState(layer, state)(jnp.ones(2)).round(2).tolist()
    [1.0, 1.0]
    """

    network: Any
    state: eqx.nn.State

    def __call__(self, x: Array) -> Array:
        state = jax.tree.map(lambda leaf: leaf, self.state)  # a copy: a layer that sets its state spoils the given one
        network = eqx.nn.inference_mode(self.network)
        if takes(network.__call__, "state"):
            return network(x, state=state)[0]
        return network(x)
