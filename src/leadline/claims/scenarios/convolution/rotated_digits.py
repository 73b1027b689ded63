"""Digits enlarged to 20x20 and rotated by any angle, and the four networks that meet them; remembered."""

from functools import cache
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import convolution, data, training

from .framed_digits import framed_digits
from .turned_digits import BATCH, fitted, untrained

Route = Literal["plain", "log-polar", "p4", "augmented"]
ANGLES = np.arange(0, 360, 15)
TESTED = 200


@cache
def enlarged_digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """1297 digits to train on and 200 to test: 8x8 enlarged to 14x14 linearly, in a frame of 20x20."""
    from scipy.ndimage import zoom

    train, labels, test, test_labels = data.digits_split()
    large = [
        np.pad(zoom(x.reshape(-1, 8, 8), (1, 1.75, 1.75), order=1), ((0, 0), (3, 3), (3, 3))).astype(np.float32)
        for x in (train, test[:TESTED])
    ]
    return large[0], labels, large[1], test_labels[:TESTED]


def network(route: Route, seed: int) -> convolution.GroupNetwork:
    """Three convolutions with pooling, 3 600 to 3 700 weights: p4 with 4-8-8 channels, the others with 8-16-16."""
    group, channels = ("p4", (4, 8, 8)) if route == "p4" else ("p1", (8, 16, 16))
    options = {"pools": (2, 2, 1), "wrap": route == "log-polar", "key": jax.random.key(seed)}
    return convolution.GroupNetwork(channels, 10, group=group, **options)


def seen_by(route: Route, images: np.ndarray) -> np.ndarray:
    """What a route's network is shown: the images, or their log-polar form (16 radii, 32 angles)."""
    if route != "log-polar":
        return images
    return np.asarray(jax.jit(lambda x: convolution.log_polar(x, 32, 16, least=1.0))(jnp.asarray(images)))


@cache
def trained(route: Route, seeds: int, num_steps: int) -> list[convolution.GroupNetwork]:
    """One network a seed, trained at once by Adam in batches of 64."""
    like = [network(route, seed) for seed in range(seeds)]
    return training.remembered(_training, like, route=route, seeds=seeds, num_steps=num_steps)


def _training(route: Route, seeds: int, num_steps: int) -> list[convolution.GroupNetwork]:
    x, y, *_ = enlarged_digits()
    if route == "augmented":
        angles = np.random.default_rng(0).uniform(0, 360, (4, 36))
        parts = [rotated_in_groups(x, row) for row in angles]
        x, y = np.concatenate([x, *parts]), np.tile(y, 5)
    nets = [network(route, seed) for seed in range(seeds)]
    epochs = max(1, round(num_steps / (len(y) // BATCH)))
    rule = optax.adam(optax.cosine_decay_schedule(5e-3, epochs * (len(y) // BATCH)))
    options = {"optimiser": rule, "epochs": epochs, "batch": BATCH}
    runs = training.fit_many(nets, (seen_by(route, x), y), key=jax.random.key(0), **options)
    return [run.model for run in runs]


def rotated_in_groups(images: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Every image by one of the angles, in turn."""
    turned = np.empty_like(images)
    for k, t in enumerate(convolution.rotations(angles)):
        turned[k :: len(angles)] = t(images[k :: len(angles)])
    return turned


@cache
def accuracies_by_angle(route: Route, seeds: int, num_steps: int) -> np.ndarray:
    """The accuracy of each network (rows) on the test digits rotated by each angle (columns)."""
    *_, test, labels = enlarged_digits()
    shown = np.concatenate([seen_by(route, t(test)) for t in convolution.rotations(ANGLES)])
    rows = []
    for net in trained(route, seeds, num_steps):
        decided = np.asarray(_decided(net, jnp.asarray(shown)))
        rows.append((decided.reshape(len(ANGLES), -1) == labels).mean(1))
    return np.array(rows)


@eqx.filter_jit
def _decided(net, images):
    return jax.lax.map(lambda x: net(x).argmax(), images, batch_size=100)


def rotated_digits(copies: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The framed digits, 12x12, each rotated by `copies` angles to train on and by one angle to test."""
    x, y, test, test_labels = framed_digits()
    angles = np.random.default_rng(1).uniform(0, 360, (copies + 1, 60))
    train = np.concatenate([rotated_in_groups(x, row) for row in angles[:-1]])
    return train, np.tile(y, copies), rotated_in_groups(test, angles[-1]), test_labels


def trained_on_rotations(route: Literal["plain", "p4"], num_steps: int, seed: int = 0) -> Any:
    """A network of about 14 100 weights (`turned_digits.untrained`) that saw digits at all angles."""
    return training.remembered(_rotation_training, untrained(route, seed), route=route, num_steps=num_steps, seed=seed)


def _rotation_training(route: Literal["plain", "p4"], num_steps: int, seed: int) -> eqx.Module:
    x, y, *_ = rotated_digits()
    return fitted(untrained(route, seed), x, y, num_steps, jax.random.key(seed))
