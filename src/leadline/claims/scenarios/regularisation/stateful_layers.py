"""Layers and networks with a state, on a batch: what the entries on normalisation call."""

import equinox as eqx
import jax

from leadline import regularisation


def on_batch(layer, state, x, *, inference=None):
    """Outputs of all rows and the new state; with `inference` the layer is switched to that mode first."""
    if inference is not None:
        layer = eqx.nn.inference_mode(layer, inference)
    return jax.vmap(layer, in_axes=(0, None), out_axes=(0, None), axis_name="batch")(x, state)


def batch_norm(channels, *, epsilon=1e-5, decay=0.99):
    """Batch normalisation over the axis "batch", with its first state."""
    return eqx.nn.make_with_state(regularisation.BatchNorm)(channels, eps=epsilon, momentum=decay)
