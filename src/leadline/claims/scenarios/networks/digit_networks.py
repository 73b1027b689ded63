"""Networks trained on the digits, several seeds at once: what the entries on trained networks begin with."""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, training


def cross_entropy(net: Callable, images: jax.Array, labels: jax.Array) -> jax.Array:
    """The mean cross-entropy of a classifier, the objective of all of them."""
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(jax.vmap(net)(images), labels))


def digits(dtype=jnp.float32) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Training images and labels, test images and labels, on the device."""
    parts = data.digits_split()
    return tuple(jnp.asarray(part, dtype if part.dtype.kind == "f" else None) for part in parts)


def trained(
    widths: Sequence[int],
    key,
    *,
    seeds: int,
    num_steps: int,
    batch: int = 64,
    activation: str = "relu",
    init: str = "he",
    bias: bool = True,
) -> networks.MLP:
    """A stack of `seeds` MLPs in single precision, each from its own start and batches, by Adam at 1e-3."""
    images, labels, *_ = digits()

    def one(key):
        key_start, key_batches = jax.random.split(key)
        start = networks.MLP(widths, activation, init=init, bias=bias, dtype=jnp.float32, key=key_start)
        rule = optax.adam(1e-3)
        return training.minimise(cross_entropy, start, rule, num_steps, images, labels, batch=batch, key=key_batches)[0]

    return eqx.filter_jit(eqx.filter_vmap(one))(jax.random.split(key, seeds))


def member(stack: networks.MLP, index: int, dtype=None) -> networks.MLP:
    """One network of a stack, in another precision if asked for."""
    return jax.tree.map(lambda a: a[index] if dtype is None else a[index].astype(dtype), stack)


def accuracies(stack: networks.MLP, images: jax.Array, labels: jax.Array) -> np.ndarray:
    """The accuracy of each network of a stack."""
    return np.asarray(eqx.filter_vmap(lambda net: networks.accuracy(net, images, labels))(stack))
