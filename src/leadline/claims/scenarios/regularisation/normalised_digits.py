"""Networks with a normalisation on part of the digits, several seeds at once: what the trained entries begin with."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, regularisation, training

from .stateful_layers import on_batch


class DigitPart(NamedTuple):
    """Training and test images and labels, in single precision."""

    x: jax.Array
    y: jax.Array
    test_x: jax.Array
    test_y: jax.Array


def digit_part(rows: int = 400, *, images: bool = False) -> DigitPart:
    """The first `rows` training digits and the 500 of the test part; with `images`, of shape (1, 8, 8)."""
    x, y, test_x, test_y = data.digits_split()
    shape = (-1, 1, 8, 8) if images else (-1, 64)
    x, test_x = (jnp.asarray(part.reshape(shape), jnp.float32) for part in (x[:rows], test_x))
    return DigitPart(x, jnp.asarray(y[:rows]), test_x, jnp.asarray(test_y))


class Trained(NamedTuple):
    """A stack of networks, of their states, and what was measured at each step."""

    nets: Any
    states: Any
    measured: Any


def trained(
    key,
    make: Callable,
    part: DigitPart,
    *,
    seeds: int,
    num_steps: int,
    rate: float = 0.1,
    batch: int = 32,
    optimiser: Callable = optax.sgd,
    wrap: Callable = lambda net, key: net,
    measure: Callable = lambda seen: seen.loss,
    starts: tuple | None = None,
) -> Trained:
    """`seeds` networks make(key) -> (net, state), each from its own start and batches; `wrap` the net of every step.

    With `starts`, a stack of networks and states, training goes on from these.
    """
    plain = regularisation.ModalObjective()

    def objective(net, batch, key, state):
        key_wrap, key_net = jax.random.split(key)
        return plain(wrap(net, key_wrap), batch, key_net, state)

    def one(key, rate, x, y, starts):
        key_start, key_batches, key_steps = jax.random.split(key, 3)
        net, state = make(key_start) if starts is None else starts
        rows = data.batch_sequence(len(x), batch, num_steps, key=key_batches)
        ran = training.scan_steps(
            objective,
            net,
            optimiser(rate),
            rows,
            fetch=lambda chosen: (x[chosen], y[chosen]),
            key=key_steps,
            state=state,
            measure=measure,
        )
        return Trained(ran.model, ran.state, ran.measured)

    over = eqx.filter_vmap(one, in_axes=(0, None, None, None, eqx.if_array(0)))
    keys = jax.random.split(key, seeds)
    return eqx.filter_jit(over)(keys, jnp.asarray(rate, jnp.float32), part.x, part.y, starts)


def dense_maker(widths=(64, 48, 48, 10), **options) -> Callable:
    """make(key) of a fully connected network in single precision, with the options of `RegularisedMLP`."""

    def make(key):
        return eqx.nn.make_with_state(regularisation.RegularisedMLP)(widths, dtype=jnp.float32, key=key, **options)

    return make


def affine_parts(net) -> list:
    """Gain and shift of each normalisation of a `RegularisedMLP`, in turn."""
    return [part for layer in net.normalisations for part in (layer.weight, layer.bias)]


class NormalisedConv(eqx.Module):
    """Twice a 3 x 3 convolution, a normalisation, ReLU and 2 x 2 mean pooling, then a linear layer.

    The convolution is a product with patches, which many networks at once do faster on CPUs.
    """

    kernels: tuple[jax.Array, jax.Array]
    norms: tuple[Any, Any]
    head: eqx.nn.Linear

    def __init__(self, normalisation: str, *, key, channels: int = 8):
        keys = jax.random.split(key, 3)
        sizes = ((channels, 9), (2 * channels, 9 * channels))
        self.kernels = tuple(
            jax.random.normal(k, size, jnp.float32) * (2 / size[1]) ** 0.5 for k, size in zip(keys, sizes, strict=False)
        )
        self.norms = tuple(
            regularisation.normalisation(normalisation, size[0], groups=4, dtype=jnp.float32) for size in sizes
        )
        self.head = eqx.nn.Linear(2 * channels * 4, 10, dtype=jnp.float32, key=keys[2])

    def __call__(self, x, state, *, key=None):
        for kernel, norm in zip(self.kernels, self.norms, strict=True):
            x = jnp.einsum("ok,khw->ohw", kernel, _patches(x))
            x, state = norm(x, state) if isinstance(norm, eqx.nn.BatchNorm) else (norm(x), state)
            c, h, w = x.shape
            x = jnp.mean(jax.nn.relu(x).reshape(c, h // 2, 2, w // 2, 2), axis=(2, 4))
        return self.head(x.ravel()), state


def _patches(x):
    """The nine neighbours of each pixel, with 0 outside: (9 channels, height, width)."""
    _, h, w = x.shape
    padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1)))
    return jnp.concatenate([padded[:, i : i + h, j : j + w] for i in range(3) for j in range(3)])


def conv_maker(normalisation: str) -> Callable:
    """make(key) of a `NormalisedConv`."""

    def make(key):
        return eqx.nn.make_with_state(NormalisedConv)(normalisation, key=key)

    return make


@eqx.filter_jit
def logits(nets, states, x, *, inference: bool = True):
    """Outputs (nets, rows, classes) of a stack, with its buffers or with the statistics of the rows."""
    return eqx.filter_vmap(lambda net, state: on_batch(net, state, x, inference=inference)[0])(nets, states)


def accuracy(outputs, labels) -> np.ndarray:
    """The share of right rows for each network."""
    return np.asarray(jnp.mean(jnp.argmax(outputs, axis=2) == labels, axis=1))


def cross_entropy(outputs, labels) -> np.ndarray:
    """The mean cross-entropy of each network."""
    each = jnp.broadcast_to(labels, outputs.shape[:2])
    return np.asarray(jnp.mean(optax.softmax_cross_entropy_with_integer_labels(outputs, each), axis=1))


@eqx.filter_jit
def recalibrated(nets, states, x):
    """The states of a stack with buffers of these rows."""
    return eqx.filter_vmap(lambda net, state: regularisation.recalibrate(net, state, x))(nets, states)


def hidden_layers(net, buffers, x):
    """Of a `RegularisedMLP` in evaluation, written out: what goes into each normalisation, and each layer's outputs."""
    inputs, outputs, h = [], [], x
    *inner, _ = net.dense.affine()
    for (w, b), norm, (mean, variance) in zip(inner, net.normalisations, buffers, strict=True):
        a = h @ w.T + b
        inputs.append(a)
        h = jnp.maximum((a - mean) / jnp.sqrt(variance + norm.eps) * norm.weight + norm.bias, 0.0)
        outputs.append(h)
    return inputs, outputs
