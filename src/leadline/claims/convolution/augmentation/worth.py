"""How many real examples augmented copies are worth."""

import jax
import numpy as np

from leadline import data
from leadline.convolution import augmentation as aug
from leadline.evidence import Int, Real, at_least, at_most, close, instrument
from leadline.learning.risk.bayes_risk import nearest_neighbours_mean
from leadline.presentation import figure

REPEATS, HELD = 12, 400
COPIES = (1, 4, 16, 64)


@instrument(sources=("penn",), shows=("convolution.augmentation.effective_training_size",), empirical=True)
def augmentation_effective_size(key, samples: Int(20, 60) = 40, reach: Real(0.5, 1.5) = 1.0):
    r"""Effective sample size of augmentation.

    The test error against the number of real examples, inverted at the error that n real examples with m copies of
    each reach, is the number of real examples that these are worth. Copies share information with their originals,
    so that the gain saturates in m.

    $$n_{\mathrm{eff}}(m) = e^{-1}\big(e_{\mathrm{aug}}(n, m)\big)$$

    Check: The nearest neighbour on the digits, 12 draws of the training images, 400 held-out ones. Copies by the
    identity, which must be worth nothing, and copies shifted by up to a pixel, between pixels bilinearly.
    """
    x, y = data.digits()
    sizes = samples * 2 ** np.arange(5)
    errors = np.zeros((len(sizes), REPEATS))
    reached = np.zeros((1 + len(COPIES), REPEATS))  # the identity first
    step = aug.AffineWarp(shift=reach)
    for repeat in range(REPEATS):
        own = jax.random.fold_in(key, repeat)
        order = data.generator(own).permutation(len(y))
        held, rows = order[-HELD:], order[:samples]

        def error(images, labels, held=held):
            said = nearest_neighbours_mean(images.reshape(len(labels), -1), labels.astype(float), 1)(x[held])
            return float(np.mean(said != y[held]))

        errors[:, repeat] = [error(x[order[:size]], y[order[:size]]) for size in sizes]
        images = x[rows].reshape(-1, 8, 8)
        same = aug.augmented_copies(aug.Shift(0), images, y[rows], COPIES[-1], key=own)
        made = aug.augmented_copies(step, images, y[rows], COPIES[-1], key=own)
        reached[0, repeat] = error(same.examples, same.labels)
        for index, copies in enumerate(COPIES):
            kept = samples * (copies + 1)
            reached[1 + index, repeat] = error(made.examples[:kept], made.labels[:kept])
    worth = [aug.effective_training_size(sizes, errors, one, key=key) for one in reached]
    yield close(worth[0].size, samples, "64 identical copies of each: effective number of examples", rtol=1e-9)
    what = f"{COPIES[-1]} shifted copies of each of {samples}: effective number, lower end of the 95% interval"
    yield at_least(worth[-1].low, samples, what).as_empirical()
    gains = np.log([w.size for w in worth[1:]]) - np.log(samples)
    yield at_most(
        worth[-1].size, samples * (COPIES[-1] + 1), "effective number, against one for each copy"
    ).as_empirical()
    what = "logarithm of the gain from 16 to 64 copies, against that of the first copy and from 1 to 4"
    yield at_most(gains[3] - gains[2], max(gains[0], gains[1] - gains[0]), what).as_empirical()
    points = {"shifted copies": (COPIES, *np.array([(w.size, w.low, w.high) for w in worth[1:]]).T)}
    lines = {
        "identical copies": (COPIES, np.full(len(COPIES), worth[0].size)),
        "a new example each": (COPIES[:2], samples * (1 + np.array(COPIES[:2]))),
    }
    title = f"{samples} digits with 64 shifted copies each are worth {worth[-1].size:.0f}: the gain saturates"
    left = figure.curves("95% intervals", "copies m of each", "effective n", lines=lines, points=points, log="xy")
    curve = {"error of real digits": (sizes, errors.mean(axis=1))}
    right = figure.curves("the curve that is inverted", "real digits", "test error", lines=curve, log="xy")
    yield figure.beside(title, left, right)
