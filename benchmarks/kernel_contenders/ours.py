"""Leadline's own kernels, called as a user calls them."""

import sys

import jax
from protocol import EXAMPLES, WIDTHS, images, points, serve, weights

from leadline import infinite_width as wide
from leadline import networks, tangent


def dense(count=None):
    net = wide.dense_stack(3, "relu", W_std=2**0.5, b_std=0.1, last_W_std=1.0, last_b_std=0.0)
    x = points(count) if count else points()
    return lambda: net.kernel_fn(x[:8], get="ntk"), lambda: net.kernel_fn(x, get="ntk")


def convolution(count):
    layers = [layer for _ in range(5) for layer in (wide.Conv(1, (3, 3), padding="SAME", W_std=2**0.5), wide.Relu())]
    net = wide.serial(*layers, wide.GlobalAvgPool(), wide.Dense(1))
    x = images(count)
    return lambda: net.kernel_fn(x[:2], get="ntk"), lambda: net.kernel_fn(x, get="ntk")


def empirical():
    net = networks.MLP(WIDTHS, key=jax.random.key(0), dtype=jax.numpy.float32)
    import equinox as eqx

    values = [jax.numpy.asarray(array) for pair in weights() for array in pair]
    net = eqx.tree_at(lambda m: [a for layer in m.layers for a in (layer.weight, layer.bias)], net, values)
    f, params = tangent.as_function(net)
    x = points(EXAMPLES)
    return lambda: tangent.empirical_ntk(f, params, x[:2]), lambda: tangent.empirical_ntk(f, params, x)


sizes = {f"dense {n}": (lambda n=n: dense(n)) for n in (2000, 4000, 8000)}
if __name__ == "__main__":
    serve(
        {
            "dense": dense,
            "convolution 4": lambda: convolution(4),
            "convolution 200": lambda: convolution(200),
            "empirical": empirical,
            **sizes,
        }
    )
    sys.exit(0)
