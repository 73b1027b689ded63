"""Digits and their quarter turns, and networks of about 14 100 weights that saw them upright or turned; remembered."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import convolution, networks, training

from .framed_digits import framed_digits

Route = Literal["dense", "plain", "augmented", "p4"]
ROUTES: tuple[Route, ...] = ("dense", "plain", "augmented", "p4")
BATCH = 64


def untrained(route: Route, seed: int = 0) -> eqx.Module:
    """The network of a route at its start: 14 090 weights (dense), 14 378 (plain, augmented) or 14 106 (p4)."""
    key = jax.random.key(seed)
    if route == "dense":
        dense = networks.MLP((144, 64, 64, 10), "relu", init="he", dtype=jnp.float32, key=key)
        return eqx.nn.Sequential([eqx.nn.Lambda(jnp.ravel), eqx.nn.Lambda(dense)])
    group, channels = ("p4", (8, 16, 16)) if route == "p4" else ("p1", (16, 32, 32))
    return convolution.GroupNetwork(channels, 10, group=group, pools=(1, 2, 1), key=key)


@cache
def trained(route: Route, num_steps: int = 400, seed: int = 0, images: int = 1297) -> Any:
    """After so many steps of Adam in batches of 64 on upright digits; "augmented" sees all four quarter turns."""
    options = {"route": route, "num_steps": num_steps, "seed": seed, "images": images}
    return training.remembered(_training, untrained(route, seed), **options)


def _training(route: Route, num_steps: int, seed: int, images: int) -> eqx.Module:
    x, y, *_ = framed_digits()
    x, y = x[:images], y[:images]
    if route == "augmented":
        x, y = np.concatenate([np.rot90(x, k, axes=(1, 2)) for k in range(4)]), np.tile(y, 4)
    return fitted(untrained(route, seed), x, y, num_steps, jax.random.key(seed))


def fitted(net: eqx.Module, x: np.ndarray, y: np.ndarray, num_steps: int, key: jax.Array) -> eqx.Module:
    """`training.fit` for so many steps of Adam, from 3e-3 along half a cosine to 0."""
    batch = min(BATCH, len(y))
    epochs = max(1, round(num_steps / (len(y) // batch)))
    rule = optax.adam(optax.cosine_decay_schedule(3e-3, epochs * (len(y) // batch)))
    return training.fit(net, (x, y), optimiser=rule, epochs=epochs, batch=batch, key=key).model


@eqx.filter_jit
def scores(net: Callable, images: jax.Array | np.ndarray) -> jax.Array:
    """The scores of a batch."""
    return jax.lax.map(net, jnp.asarray(images), batch_size=min(250, len(images)))


def right_at_turns(net: Callable, images: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """How many decisions are right at 0, 90, 180 and 270 degrees."""
    turned = partial(np.rot90, images, axes=(1, 2))
    return np.array([int((np.asarray(scores(net, turned(k))).argmax(1) == labels).sum()) for k in range(4)])
