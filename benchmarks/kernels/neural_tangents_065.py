"""neural-tangents 0.6.5 with the same kernels."""

import sys
import types

import jax
import numpy as np
from jax._src import source_info_util

# It needs TensorFlow, and nothing here needs it.
sys.modules["neural_tangents.experimental"] = types.ModuleType("neural_tangents.experimental")
# Names that neural-tangents reads at work and that JAX has moved since.
jax.interpreters.ad.source_info_util = source_info_util
jax.interpreters.ad.config = types.SimpleNamespace(jax_enable_checks=False)

import neural_tangents as nt  # noqa: E402
from neural_tangents import stax  # noqa: E402

from ..harness.case import Inputs  # noqa: E402
from ..relu_network import layers  # noqa: E402
from . import OUTPUTS  # noqa: E402


def dense(inputs: Inputs):
    layers = [layer for _ in range(3) for layer in (stax.Dense(1, 2**0.5, 0.1), stax.Relu())]
    kernel = jax.jit(stax.serial(*layers, stax.Dense(1, 1.0, 0.0))[2], static_argnames="get")
    return lambda: kernel(inputs["x"], get="ntk")


def convolution(inputs: Inputs):
    layers = [layer for _ in range(5) for layer in (stax.Conv(1, (3, 3), padding="SAME", W_std=2**0.5), stax.Relu())]
    kernel = jax.jit(stax.serial(*layers, stax.GlobalAvgPool(), stax.Dense(1))[2], static_argnames="get")
    return lambda: kernel(inputs["x"], get="ntk")


def finite(inputs: Inputs, implementation: str):
    def f(params, x):
        for index, (weight, bias) in enumerate(params):
            x = x @ weight + bias  # the transposed weights: its structured rules know this form only
            x = jax.nn.relu(x) if index + 1 < len(params) else x
        return x

    params = [(jax.numpy.asarray(weight.T), jax.numpy.asarray(bias)) for weight, bias in layers(inputs)]
    chosen = nt.NtkImplementation[implementation]
    kernel = nt.empirical_ntk_fn(f, trace_axes=(), vmap_axes=0, implementation=chosen)
    x, size = inputs["x"], len(inputs["x"]) * OUTPUTS
    compiled = jax.jit(kernel)
    return lambda: compiled(x, None, params), lambda K: np.asarray(K).transpose(0, 2, 1, 3).reshape(size, size)
