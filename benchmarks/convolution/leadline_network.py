"""Leadline's convolutional network, trained as a user trains it."""

import equinox as eqx
import jax
import numpy as np
import optax

from leadline.convolution import ConvNetwork, pyramid
from leadline.training import fit

from ..harness.case import Inputs
from . import BATCH, EPOCHS, RATE


def fitted(inputs: Inputs):
    net = ConvNetwork(pyramid((32, 64), 10), (1, 28, 28), dtype=np.float32, key=jax.random.key(0))
    values = [jax.numpy.asarray(inputs[f"weight{i}"]) for i in range(3)]
    net = eqx.tree_at(lambda n: [n.built[i].weight for i in (0, 2, 4)], net, values)
    settings = {"optimiser": optax.adam(RATE), "epochs": EPOCHS, "batch": BATCH, "key": jax.random.key(1)}
    data = inputs["x"], inputs["y"]
    return lambda: fit(net, data, loss="cross-entropy", **settings).history["loss"]
