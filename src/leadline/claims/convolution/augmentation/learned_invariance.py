"""Invariances that networks learn from copies: to backgrounds, and to shifts."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data
from leadline.claims.scenarios.convolution.framed_digits import (
    SIDE,
    accuracy,
    convolutional_network,
    dense_networks,
    framed_digits,
    scores,
)
from leadline.convolution import augmentation as aug
from leadline.convolution.symmetry.image_transformations import shift_images
from leadline.evidence import Int, Real, at_least, at_most, claim, mean
from leadline.presentation import figure

BACKGROUNDS = (1, 2, 8, 32)
SEEDS = 3
SHIFTS = (1, 5, 9, 25)


def _textures(rng, count):
    """Periodic stripes of random direction, width and phase, in [0, 1]."""
    i, j = np.indices((SIDE, SIDE))
    angle, period, phase = rng.uniform(0, np.pi, count), rng.uniform(2.5, 7, count), rng.uniform(0, 2 * np.pi, count)
    across = np.cos(angle)[:, None, None] * i + np.sin(angle)[:, None, None] * j
    return (0.5 + 0.5 * np.sin(2 * np.pi * across / period[:, None, None] + phase[:, None, None])).astype(np.float32)


def _on_new_background(key, layers, state):
    backgrounds, count = state
    return aug.NewBackground(backgrounds[jnp.arange(len(backgrounds)) % count])(key, layers)


@claim(
    sources=("penn",),
    shows=("convolution.augmentation.NewBackground", "convolution.augmentation.gradient_share"),
    empirical=True,
    slow="about 10 seconds",
)
def background_randomisation(key, correlation: Real(0.9, 1.0) = 0.95, epochs: Int(20, 60) = 30):
    r"""Random backgrounds make a classifier look at the foreground.

    If the background goes with the class, a classifier uses it, and fails on new backgrounds. Pasting the foreground
    on random backgrounds makes it invariant to these, the more so the more there are: its accuracy on backgrounds
    that it never saw rises, and the share of its gradient on the background falls.

    $$x = m \odot x_{\mathrm{fg}} + (1 - m) \odot b, \qquad b \sim \mathrm{Unif}\{b_1, \dots, b_B\}$$

    Assumes: the mask of the foreground is known.

    Check: Digits on striped textures. One texture for each class, at the given correlation, or B textures drawn evenly
    (B = 1, 2, 8, 32); dense networks with 64 units in two layers, 3 seeds; 500 test digits on 64 other textures.
    """
    split = framed_digits()
    used = 600
    digits, labels = split.train_images[:used], split.train_labels[:used]
    rng = data.generator(key)
    textures = [_textures(rng, 32) for _ in range(SEEDS)]
    rows, pasted = [np.stack([digits, _mask(digits)], axis=1)], []
    for known in textures:  # one texture for each class, baked in: the mask is then 1 everywhere
        kinds = np.where(rng.uniform(size=used) < correlation, labels, rng.integers(10, size=used))
        pasted.append(_paste(digits, known[kinds]))
        rows.append(np.stack([pasted[-1], np.ones_like(digits)], axis=1))
    chosen = [np.arange(used) + used * (1 + s) for s in range(SEEDS)] + [np.arange(used)] * (SEEDS * len(BACKGROUNDS))
    states = [(jnp.asarray(known), jnp.array(1)) for known in textures]
    states += [(jnp.asarray(known), jnp.array(b)) for b in BACKGROUNDS for known in textures]
    nets = dense_networks(
        np.concatenate(rows),
        np.tile(labels, 1 + SEEDS),
        _on_new_background,
        states,
        epochs=epochs,
        rows=np.array(chosen),
        key=key,
    )
    test, names = split.test_images, split.test_labels
    new = _paste(test, _textures(rng, 64)[rng.integers(64, size=len(names))])
    seen = [accuracy(net, pasted[s], labels) for s, net in enumerate(nets[:SEEDS])]
    right = np.array([accuracy(net, new, names) for net in nets]).reshape(-1, SEEDS)  # (class textures, B...)
    behind = 1 - _mask(test)
    mass = [float(np.mean(aug.gradient_share(scores, net, jnp.asarray(new), names, behind))) for net in nets]
    mass = np.reshape(mass, right.shape)
    what = "textures that go with the class: accuracy on these less that on new ones"
    yield mean(np.array(seen) - right[0], 0.2, what, side="at least", confidence=0.95).as_empirical()
    what = "accuracy on new backgrounds: 32 training textures less those that go with the class"
    yield at_least((right[-1] - right[0]).min(), 0.0, what).as_empirical()
    for index, (few, many) in enumerate(itertools.pairwise(BACKGROUNDS), 1):
        what = f"accuracy on new backgrounds: {many} training textures less {few}, falls by no more than noise"
        yield mean(right[index + 1] - right[index], 0.0, what, side="at least").as_empirical()
        what = f"gradient on the background: {few} training textures less {many}, rises by no more than noise"
        yield mean(mass[index] - mass[index + 1], 0.0, what, side="at least").as_empirical()
    yield at_least(
        (right[-1] - right[1]).min(), 0.0, "accuracy on new backgrounds: 32 less 1, every seed"
    ).as_empirical()
    yield at_least((mass[1] - mass[-1]).min(), 0.0, "gradient on the background: 1 less 32, every seed").as_empirical()
    title = (
        f"New backgrounds: {right[0].mean():.0%} right with class textures, {right[-1].mean():.0%} with 32 random ones"
    )
    panels = [
        figure.curves(
            f"{name}: mean and range of {SEEDS} seeds",
            "training backgrounds",
            axis,
            points={"random backgrounds": _with_range(BACKGROUNDS, values[1:])},
            rules={"textures of the class": ("y", float(values[0].mean()))},
            log="x",
        )
        for name, axis, values in (
            ("accuracy on new backgrounds", "accuracy", right),
            ("gradient on the background", "share of |gradient|", mass),
        )
    ]
    yield figure.beside(title, *panels)


def _with_range(xs, values):
    """Points (x, mean, least, largest) of values (x, seeds)."""
    return xs, values.mean(axis=1), values.min(axis=1), values.max(axis=1)


def _mask(images):
    return (images > 0.2).astype(np.float32)


def _paste(images, backgrounds):
    mask = _mask(images)
    return mask * images + (1 - mask) * backgrounds


def _by_one_of(key, image, state):
    shifts, count = state
    down, right = shifts[jax.random.randint(key, (), 0, count)]
    return jnp.roll(image, (down, right), (0, 1))


@claim(sources=("penn",), empirical=True, slow="about 10 seconds, the first time half a minute")
def dense_net_learns_shifts(key, epochs: Int(20, 80) = 40, width: Int(64, 256) = 64):
    r"""A dense network learns shifts from copies.

    A dense network that was trained on centred images fails on shifted ones. Trained on copies under K shifts it
    becomes tolerant of them, at a cost in samples and width; a convolutional network with a global maximum has that
    for nothing.

    $$\max_{|d| \le 2} \Pr[\hat c(T_d x) \ne y]$$

    Assumes: the images keep within their frame, so that shifts lose nothing.

    Check: Digits in a frame of 12 x 12, shifted by two pixels in one of eight directions. Dense networks with two
    layers, 3 seeds each, on K = 1, 5, 9, 25 shifts by up to two pixels, the last also at a quarter of the width; a
    convolutional network of about 3,000 weights on the images as they are.
    """
    split = framed_digits()
    by = sorted(
        ((i, j) for i in range(-2, 3) for j in range(-2, 3)), key=lambda d: (max(map(abs, d)), d[0] ** 2 + d[1] ** 2)
    )
    order = np.array(by)
    far = [d for d in by if max(map(abs, d)) == 2 and (0 in d or abs(d[0]) == abs(d[1]))]
    moved = np.concatenate([shift_images(split.test_images, *d) for d in far])
    names = np.tile(split.test_labels, len(far))
    states = [(jnp.asarray(order), jnp.array(k)) for k in SHIFTS for _ in range(SEEDS)]
    found = {}
    for wide, some in ((width // 4, states[-SEEDS:]), (width, states)):
        nets = dense_networks(
            split.train_images, split.train_labels, _by_one_of, some, epochs=epochs, width=wide, key=key
        )
        found[wide] = np.reshape([accuracy(net, moved, names) for net in nets], (-1, SEEDS))
    net = convolutional_network()
    conv = accuracy(net, moved[:, None], names)
    upright = accuracy(net, split.test_images[:, None], split.test_labels)
    yield at_least(
        conv, upright - 1e-9, "convolutional network: accuracy on shifted images, against that on images as they are"
    )
    yield at_least(conv, 0.95, "convolutional network: accuracy on images shifted by two pixels").as_empirical()
    right = found[width]
    what = "dense network on centred images alone: accuracy on shifted ones, below one half"
    yield at_most(right[0].max(), 0.5, what).as_empirical()
    for index, (few, many) in enumerate(itertools.pairwise(SHIFTS)):
        what = f"dense network: accuracy with {many} shifts less that with {few}, falls by no more than noise"
        yield mean(right[index + 1] - right[index], 0.0, what, side="at least").as_empirical()
    what = "convolutional network less dense network with 25 shifts: accuracy, least over the seeds"
    yield at_least(conv - right[-1].max(), 0.0, what).as_empirical()
    what = f"accuracy at 25 shifts: width {width} less width {width // 4}"
    yield at_least(right[-1].mean() - found[width // 4][-1].mean(), 0.0, what).as_empirical()
    size = sum(leaf.size for leaf in jax.tree.leaves(net) if hasattr(leaf, "size"))
    points = {f"dense, width {w}": _with_range(SHIFTS[-len(r) :], r) for w, r in found.items()}
    rules = {f"convolutional, {size} weights, no copies": ("y", conv)}
    enough = [f"K = {k} at width {width}" for k, r in zip(SHIFTS, right, strict=True) if r.mean() >= conv - 0.05]
    title = (
        f"Shifted by two pixels: {right[0].mean():.0%} right without copies, {right[-1].mean():.0%} with 25 shifts; "
        f"within 5 points of the convolutional network: {(enough or ['none of these'])[0]}"
    )
    yield figure.curves(
        title, "shifts K in training", "accuracy on shifted digits", points=points, rules=rules, log="x"
    )
