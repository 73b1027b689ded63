"""Leadline's training, called as a user calls it."""

import equinox as eqx
import jax
import numpy as np
import optax

from leadline.networks import MLP
from leadline.regularisation import ModalObjective, RegularisedMLP
from leadline.training import fit, fit_many

from ..harness.case import Inputs
from . import BATCH, RATE

KEY = jax.random.key(0)


def fitted(inputs: Inputs, widths: list[int], loss: str, epochs: int, networks: int, normalised: bool):
    """`fit`, or `fit_many`; models, data and rule are made once, so that only the first call compiles."""
    nets = [_network(inputs, widths, index) for index in range(networks)]
    settings = {"optimiser": optax.adam(RATE), "epochs": epochs, "batch": BATCH, "loss": loss, "key": jax.random.key(1)}
    data = inputs["x"], inputs["y"]
    if normalised:
        return _with_modes(nets, data, settings)
    if networks == 1:
        return lambda: fit(nets[0], data, **settings).history["loss"][None]
    return lambda: np.stack([run.history["loss"] for run in fit_many(nets, data, **settings)])


def _with_modes(nets: list[MLP], data: tuple, settings: dict):
    """The same with batch normalisation after each hidden layer: a state, and the objective that carries it."""
    del settings["loss"]
    modal = [
        eqx.nn.make_with_state(RegularisedMLP)(n.widths, normalisation="batch", dtype=np.float32, key=KEY) for n in nets
    ]
    made = [eqx.tree_at(lambda m: m.dense, net, dense) for (net, _), dense in zip(modal, nets, strict=True)]
    states = [state for _, state in modal]
    objective = ModalObjective()
    if len(nets) == 1:
        return lambda: fit(made[0], data, objective=objective, state=states[0], **settings).history["loss"][None]
    return lambda: np.stack(
        [run.history["loss"] for run in fit_many(made, data, objective=objective, states=states, **settings)]
    )


def _network(inputs: Inputs, widths: list[int], index: int) -> MLP:
    net = MLP(tuple(widths), key=jax.random.key(0), dtype=np.float32)
    layers = range(len(widths) - 1)
    values = [jax.numpy.asarray(inputs[f"{part}{i}"][index]) for i in layers for part in ("weight", "bias")]
    return eqx.tree_at(lambda m: [a for layer in m.layers for a in (layer.weight, layer.bias)], net, values)
