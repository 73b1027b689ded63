"""How much invariance: the range of augmentation against the range that is met."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline.claims.scenarios.convolution.framed_digits import accuracy, dense_networks, framed_digits
from leadline.convolution import augmentation as aug
from leadline.evidence import Int, OneOf, at_least, at_most, claim, mean
from leadline.presentation import figure

ANGLES = {"3": (0, 60, 180), "6": (0, 15, 30, 60, 90, 180)}
SEEDS = 3


def _turned(key, image, degrees):
    return aug.AffineWarp(degrees=degrees)(key, image)


@claim(sources=("penn",), shows=("convolution.augmentation.AffineWarp",), empirical=True, slow="about 15 seconds")
def invariance_range_match(key, angles: OneOf("3", "6") = "3", epochs: Int(20, 60) = 30):
    r"""Invariance should match what is met.

    Networks that are trained on rotations by up to a and tested on rotations by up to b err least near a = b: too
    little fails on what is met, too much costs capacity and, where the rotation tells something (6 and 9), it costs
    information. Where the label is the orientation, full rotation leaves only a guess.

    $$a^*(b) = \mathrm{argmin}_a \mathrm{err}(a, b) \approx b$$

    Check: Digits in a frame of 12 x 12, dense networks with 64 units in two layers, 3 seeds, angles uniform in ±a and
    ±b from 0, 60, 180 degrees (or six from 0 to 180); four draws of each test digit. The toy task: which quarter turn
    of one digit is it?
    """
    grid = ANGLES[angles]
    split = framed_digits()
    states = [jnp.asarray(a, jnp.float32) for a in grid for _ in range(SEEDS)]
    nets = dense_networks(split.train_images, split.train_labels, _turned, states, epochs=epochs, key=key)
    names = np.tile(split.test_labels, 4)
    errors = np.empty((len(grid), len(grid), SEEDS))  # (a, b, seed)
    for column, b in enumerate(grid):
        step = aug.AffineWarp(degrees=jnp.asarray(b, jnp.float32))
        met = aug.augment(step, np.tile(split.test_images, (4, 1, 1)), key=jax.random.fold_in(key, 1))
        errors[:, column] = np.reshape([1 - accuracy(net, met, names) for net in nets], (len(grid), SEEDS))
    middle = errors.mean(axis=2)
    best = middle.argmin(axis=0)
    near = int(np.sum(np.abs(best - np.arange(len(grid))) <= 1))
    what = "test ranges b for which the best training range a lies within one step of b"
    yield at_least(near, len(grid) - (len(grid) > 5), what).as_empirical()
    for column in range(len(grid)):
        match = errors[column, column]
        for row in {0, len(grid) - 1} - {column}:
            what = f"error at b = {grid[column]}°: trained with a = {grid[row]}° less a = b"
            yield mean(errors[row, column] - match, 0.0, what, side="at least").as_empirical()
    what = "upright digits: error after full rotation less that without, smallest of the seeds"
    yield at_least((errors[-1, 0] - errors[0, 0]).min(), 0.0, what).as_empirical()
    yield from _orientation(key, split, epochs)
    title = (
        f"Upright error {middle[0, 0]:.1%} without rotation, {middle[-1, 0]:.1%} with all; error is least near a = b"
    )
    options = {"xs": [f"{b}°" for b in grid], "ys": [f"{a}°" for a in grid], "colour": "error", "text": True}
    yield figure.heatmap(title, "test range ±b", "training range ±a", values=np.round(middle, 3), **options)


def _orientation(key, split, epochs):
    """Quarter turns of the digits 4 and 7 as four classes: learned without rotation, a guess with all of it."""
    parts = []
    for images, labels in ((split.train_images, split.train_labels), (split.test_images, split.test_labels)):
        chosen = images[np.isin(labels, (4, 7))]
        turned = np.concatenate([np.rot90(chosen, k, axes=(1, 2)) for k in range(4)])
        parts.append((turned, np.repeat(np.arange(4), len(chosen))))
    (seen, turns), (new, names) = parts
    states = [jnp.asarray(a, jnp.float32) for a in (0.0, 180.0) for _ in range(SEEDS)]
    nets = dense_networks(seen, turns, _turned, states, epochs=epochs, classes=4, key=key)
    right = np.reshape([accuracy(net, new, names) for net in nets], (2, SEEDS))
    yield at_least(right[0].min(), 0.9, "which quarter turn: accuracy without rotation, every seed").as_empirical()
    what = "which quarter turn: accuracy after full rotation, against twice that of a guess"
    yield at_most(right[1].mean(), 0.5, what).as_empirical()
