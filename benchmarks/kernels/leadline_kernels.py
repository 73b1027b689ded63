"""Leadline's kernels, called as a user calls them."""

import equinox as eqx
import jax
import jax.numpy as jnp

from leadline import as_apply, infinite_width as wide, kernels, networks, tangent
from leadline.kernels import machines

from ..harness.case import Inputs
from . import WIDTHS


def dense(inputs: Inputs):
    net = wide.dense_stack(3, "relu", W_std=2**0.5, b_std=0.1, last_W_std=1.0, last_b_std=0.0)
    return lambda: net.kernel_fn(inputs["x"], get="ntk")


def convolution(inputs: Inputs):
    layers = [layer for _ in range(5) for layer in (wide.Conv(1, (3, 3), padding="SAME", W_std=2**0.5), wide.Relu())]
    net = wide.serial(*layers, wide.GlobalAvgPool(), wide.Dense(1))
    return lambda: net.kernel_fn(inputs["x"], get="ntk")


def finite(inputs: Inputs):
    net = networks.MLP(WIDTHS, key=jax.random.key(0), dtype=jnp.float32)
    values = [jnp.asarray(inputs[f"{part}{i}"]) for i in range(len(WIDTHS) - 1) for part in ("weight", "bias")]
    net = eqx.tree_at(lambda m: [a for layer in m.layers for a in (layer.weight, layer.bias)], net, values)
    apply, params = as_apply(net)
    return lambda: tangent.empirical_ntk(apply, params, inputs["x"])


def evidence(inputs: Inputs):
    """Value, and gradient in the logarithms of length, amplitude and noise, in double precision."""
    jax.config.update("jax_enable_x64", True)
    x, y = jnp.asarray(inputs["x"]), jnp.asarray(inputs["y"])

    @jax.jit
    def both(logs, x, y):
        def value(logs):
            length, amplitude, noise = jnp.exp(logs)
            return machines.log_evidence(kernels.Gaussian(length) * amplitude, x, y, noise)

        value, gradient = jax.value_and_grad(value)(logs)
        return jnp.concatenate([value[None], gradient])

    logs = jnp.log(jnp.array([1.5, 0.8, 0.02]))
    return lambda: both(logs, x, y)
