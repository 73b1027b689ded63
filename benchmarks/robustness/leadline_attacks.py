"""Leadline's attacks, called as a user calls them."""

import jax
import jax.numpy as jnp

from leadline import robustness

from ..harness.case import Inputs
from . import EPS, STEP, STEPS, WIDTHS


def one_step(inputs: Inputs):
    arguments = _attacked(inputs)
    return lambda: robustness.fgsm(*arguments, EPS, low=0.0, high=1.0).mean(axis=1)


def many_steps(inputs: Inputs):
    arguments = _attacked(inputs)
    return lambda: robustness.pgd(*arguments, EPS, steps=STEPS, step=STEP, low=0.0, high=1.0).fooled.mean()


def _scores(params, x):
    for index, (weight, bias) in enumerate(params):
        x = x @ weight.T + bias
        x = jax.nn.relu(x) if index + 1 < len(params) else x
    return x


def _attacked(inputs: Inputs):
    layers = range(len(WIDTHS) - 1)
    params = [(jnp.asarray(inputs[f"weight{i}"]), jnp.asarray(inputs[f"bias{i}"])) for i in layers]
    return _scores, params, jnp.asarray(inputs["x"]), jnp.asarray(inputs["y"])
