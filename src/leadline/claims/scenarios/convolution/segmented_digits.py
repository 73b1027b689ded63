"""Digits on stripes with the label of every pixel, and U-Nets that find them; each trained once and remembered."""

from functools import cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, training
from leadline.convolution import ConvNetwork, unet
from leadline.convolution.augmentation.backgrounds import on_background

SIDE = 16
CHANNELS = (8, 16, 32)
STEPS = 300
BATCH = 64


class Scenes(NamedTuple):
    """Images (n, 16, 16) and where the digit is in each."""

    images: np.ndarray
    masks: np.ndarray


@cache
def digits_on_stripes() -> tuple[Scenes, Scenes]:
    """Scenes to train on (1297) and to test (500), in single precision.

    A digit is enlarged to 14 × 14, cut off at half its brightness and pasted at a random place on noisy stripes of
    random wavelength, direction and contrast: 0 to 0.6 bright, where the digit is 0.5 to 1.
    """
    train, _, test, _ = data.digits_split()
    rng = np.random.default_rng(0)
    return _pasted(train, rng), _pasted(test, rng)


def _pasted(digits: np.ndarray, rng: np.random.Generator) -> Scenes:
    from scipy.ndimage import zoom

    large = zoom(digits.reshape(-1, 8, 8), (1, 1.75, 1.75), order=1)
    n, room = len(large), SIDE - large.shape[-1]
    placed = np.zeros((n, SIDE, SIDE))
    for scene, digit, (i, j) in zip(placed, large, rng.integers(0, room + 1, (n, 2)), strict=True):
        scene[i : SIDE - room + i, j : SIDE - room + j] = digit
    masks = placed >= 0.5
    ends = ((0, np.pi), (2.1, 4), (0, 2 * np.pi), (0.1, 0.3))
    angle, wavelength, phase, contrast = (rng.uniform(*each, (n, 1, 1)) for each in ends)
    row, column = np.mgrid[:SIDE, :SIDE]
    waves = np.cos(2 * np.pi / wavelength * (row * np.cos(angle) + column * np.sin(angle)) + phase)
    stripes = 0.3 + contrast * waves + 0.05 * rng.normal(size=(n, SIDE, SIDE))
    images = jax.vmap(on_background)(jnp.asarray(placed), jnp.asarray(masks), jnp.asarray(stripes))
    return Scenes(np.asarray(images, np.float32), masks)


@cache
def segmenter(skips: bool) -> ConvNetwork:
    """A U-Net of three levels with 8, 16 and 32 channels, or without its skips; Adam at 3e-3, 300 batches of 64."""
    return training.remembered(_trained, _start(skips), skips=skips)


@eqx.filter_jit
def pixel_scores(net: ConvNetwork, images: jax.Array | np.ndarray) -> jax.Array:
    """The scores (n, h, w, classes) of every pixel of images (n, h, w): class 1 is the digit."""
    return jnp.moveaxis(jax.vmap(net)(jnp.asarray(images)[:, None]), 1, -1)


def pixel_loss(net: ConvNetwork, images: jax.Array, masks: jax.Array, weights: jax.Array) -> jax.Array:
    """The mean over pixels of the cross-entropy times the weight of the pixel's class, over the mean weight."""
    labels = masks.astype(int)
    losses = optax.softmax_cross_entropy_with_integer_labels(pixel_scores(net, images), labels)
    return jnp.sum(weights[labels] * losses) / jnp.sum(weights[labels])


def class_weights(masks: np.ndarray) -> np.ndarray:
    """One over the root of each class's share of the pixels."""
    share = masks.mean()
    return np.array([1 - share, share], np.float32) ** -0.5


def _start(skips: bool) -> ConvNetwork:
    return ConvNetwork(unet(2, CHANNELS, skips=skips), (1, SIDE, SIDE), dtype=jnp.float32, key=jax.random.key(0))


def _trained(skips: bool) -> ConvNetwork:
    scenes, _ = digits_on_stripes()
    weights = jnp.asarray(class_weights(scenes.masks))

    def loss(net: ConvNetwork, images: jax.Array, masks: jax.Array) -> jax.Array:
        return pixel_loss(net, images, masks, weights)

    rows = (jnp.asarray(scenes.images), jnp.asarray(scenes.masks))
    rule = optax.adam(optax.cosine_decay_schedule(3e-3, STEPS))
    return training.minimise(loss, _start(skips), rule, STEPS, *rows, batch=BATCH, key=jax.random.key(1))[0]
