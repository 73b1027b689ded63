"""Leadline's own work at several sizes."""

import os

import numpy as np

from ..harness.case import Inputs

BATCH, STEPS, PRODUCTS = 128, 8, 4


def wide_kernel(inputs: Inputs, count: int):
    from ..kernels.leadline_kernels import dense

    return dense(inputs)


def finite_kernel(inputs: Inputs, count: int):
    from ..kernels.leadline_kernels import finite

    return finite(inputs)


def step_of_width(inputs: Inputs, width: int):
    return _steps((width, width, width))


def step_of_depth(inputs: Inputs, depth: int):
    return _steps((256,) * (depth + 1))


def product_of_rows(inputs: Inputs, rows: int):
    return _products((64, 64, 64, 10), rows)


def product_of_depth(inputs: Inputs, depth: int):
    return _products((64,) * depth + (10,), 2000)


def devices(inputs: Inputs, count: int):
    """As many devices as cores, each with a core of its own, on which its block stays.

    JAX must not have been imported before.
    """
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={count}"
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])
    from leadline import infinite_width, kernels

    from ..kernels import points

    net = infinite_width.dense_stack(3, "relu", W_std=2**0.5, b_std=0.1, last_W_std=1.0, last_b_std=0.0)
    x = points(8192)["x"]
    kernel = lambda a, b: net.kernel_fn(a, b, get="ntk")  # noqa: E731
    return lambda: kernels.sharded_gram(kernel, x).blocks.block_until_ready().shape


def _steps(widths: tuple[int, ...]):
    """Some steps of Adam by `fit`, squared loss, batches of 128."""
    import jax
    import optax

    from leadline.networks import MLP
    from leadline.training import fit

    rng = np.random.default_rng(0)
    x = rng.normal(size=(STEPS * BATCH, widths[0])).astype(np.float32)
    y = rng.normal(size=(STEPS * BATCH, widths[-1])).astype(np.float32)
    net = MLP(widths, key=jax.random.key(0), dtype=np.float32)
    settings = {"optimiser": optax.adam(1e-3), "epochs": 1, "batch": BATCH, "loss": "squared"}
    return lambda: fit(net, (x, y), key=jax.random.key(1), **settings).history["loss"]


def _products(widths: tuple[int, ...], rows: int):
    """Some Hessian products of the cross-entropy of a network of tangents."""
    import jax
    import optax

    from leadline import curvature
    from leadline.networks import MLP

    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, widths[0])).astype(np.float32)
    y = rng.integers(0, widths[-1], rows)
    net = MLP(widths, "tanh", key=jax.random.key(0), dtype=np.float32)

    def losses(net, x, y):
        return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(net)(x), y)

    operator = curvature.hessian(losses, net, x, y)
    direction = jax.numpy.ones(operator.size, jax.numpy.float32)

    def run():
        for _ in range(PRODUCTS):
            result = jax.block_until_ready(operator(direction))
        return result

    return run
