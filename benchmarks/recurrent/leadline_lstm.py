"""Leadline's LSTM, trained as a user trains it: on labels of sequences, and on the next character."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from leadline import sequences
from leadline.training import fit

from ..harness.case import Inputs
from . import BATCH, EPOCHS, INPUTS, RATE, UNITS


def classifier(inputs: Inputs):
    net = _network(inputs, reading="last")
    data = inputs["x"], inputs["y"]
    return lambda: fit(net, data, loss="cross-entropy", **_settings()).history["loss"]


def character_model(inputs: Inputs):
    net = _network(inputs, vocabulary=len(inputs["table"]))
    net = eqx.tree_at(lambda n: n.encoder.weight, net, jnp.asarray(inputs["table"]))
    data = sequences.Sequences(inputs["x"], inputs["y"])
    return lambda: fit(net, data, objective=sequences.SequenceObjective(), **_settings()).history["loss"]


def _network(inputs: Inputs, **options) -> sequences.SequenceNetwork:
    """Without biases: PyTorch has two at each gate."""
    cell = sequences.LSTM(INPUTS, UNITS, bias=False, dtype=jnp.float32, key=jax.random.key(0))
    net = sequences.SequenceNetwork(cell, len(inputs["head"]), bias=False, key=jax.random.key(0), **options)
    values = [jnp.asarray(inputs[name]) for name in ("weight_ih", "weight_hh", "head")]
    return eqx.tree_at(lambda n: (n.cell.weight_ih, n.cell.weight_hh, n.head.weight), net, values)


def _settings() -> dict:
    return {"optimiser": optax.adam(RATE), "epochs": EPOCHS, "batch": BATCH, "key": jax.random.key(1)}
