"""Leadline's attacks, called as a user calls them."""

import jax
import jax.numpy as jnp

from leadline import robustness

from ..harness.case import Inputs
from ..relu_network import layers
from . import EPS, STEP, STEPS


def one_step(inputs: Inputs):
    arguments = _attacked(inputs)
    return lambda: robustness.fgsm(*arguments, EPS, box=robustness.Box(0.0, 1.0)).mean(axis=1)


def many_steps(inputs: Inputs):
    arguments = _attacked(inputs)
    return lambda: robustness.pgd(
        *arguments, EPS, num_steps=STEPS, step_size=STEP, box=robustness.Box(0.0, 1.0)
    ).fooled.mean()


def _scores(params, x):
    for index, (weight, bias) in enumerate(params):
        x = x @ weight.T + bias
        x = jax.nn.relu(x) if index + 1 < len(params) else x
    return x


def _attacked(inputs: Inputs):
    params = [(jnp.asarray(weight), jnp.asarray(bias)) for weight, bias in layers(inputs)]
    return _scores, params, jnp.asarray(inputs["x"]), jnp.asarray(inputs["y"])
