"""neural-tangents 0.6.5 with the same kernels; runs in an environment of its own."""

import types

import jax
from jax._src import source_info_util

# Names that neural-tangents reads at work and that JAX has moved since.
jax.interpreters.ad.source_info_util = source_info_util
jax.interpreters.ad.config = types.SimpleNamespace(jax_enable_checks=False)

import neural_tangents as nt  # noqa: E402
from neural_tangents import stax  # noqa: E402
from protocol import EXAMPLES, images, points, serve, weights  # noqa: E402


def dense(count=None):
    layers = [layer for _ in range(3) for layer in (stax.Dense(1, 2**0.5, 0.1), stax.Relu())]
    kernel = jax.jit(stax.serial(*layers, stax.Dense(1, 1.0, 0.0))[2], static_argnames="get")
    x = points(count) if count else points()
    return lambda: kernel(x[:8], get="ntk"), lambda: kernel(x, get="ntk")


def convolution(count):
    layers = [layer for _ in range(5) for layer in (stax.Conv(1, (3, 3), padding="SAME", W_std=2**0.5), stax.Relu())]
    kernel = stax.serial(*layers, stax.GlobalAvgPool(), stax.Dense(1))[2]
    batched = nt.batch(jax.jit(kernel, static_argnames="get"), batch_size=4, store_on_device=False)
    x = images(count)
    return lambda: batched(x[:4], get="ntk"), lambda: batched(x, get="ntk")


def empirical(implementation):
    def f(params, x):
        for index, (weight, bias) in enumerate(params):
            x = x @ weight + bias  # the transposed weights: its structured rules know this form only
            x = jax.nn.relu(x) if index + 1 < len(params) else x
        return x

    params, x = [(jax.numpy.asarray(w.T), jax.numpy.asarray(b)) for w, b in weights()], points(EXAMPLES)
    kernel = nt.empirical_ntk_fn(f, trace_axes=(), vmap_axes=0, implementation=implementation)
    compiled = jax.jit(kernel)
    return lambda: compiled(x[:2], None, params), lambda: compiled(x, None, params)


serve(
    {
        "dense": dense,
        "convolution 4": lambda: convolution(4),
        "convolution 200": lambda: convolution(200),
        "empirical structured": lambda: empirical(nt.NtkImplementation.STRUCTURED_DERIVATIVES),
        "empirical products": lambda: empirical(nt.NtkImplementation.NTK_VECTOR_PRODUCTS),
        "empirical jacobian": lambda: empirical(nt.NtkImplementation.JACOBIAN_CONTRACTION),
    }
)
