"""Random transformations: what they keep, which can be undone, and why the split comes first."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data
from leadline.convolution import augmentation as aug
from leadline.convolution.augmentation.sounds import stretched
from leadline.convolution.symmetry.image_transformations import shift_images
from leadline.evidence import Int, Real, at_least, at_most, exactly, frequency, method
from leadline.learning.risk.bayes_risk import nearest_neighbours_mean
from leadline.presentation import figure

CLASSES = 10


def _image_steps(strength):
    pixels = max(round(2 * strength), 1)
    return {
        "shift": aug.Shift(pixels),
        "crop": aug.Crop(8, padding=pixels),
        "flip left-right": aug.Flip("left-right", 1.0),
        "flip up-down": aug.Flip("up-down", 1.0),
        "rotation": aug.AffineWarp(degrees=40.0 * strength),
        "zoom": aug.AffineWarp(zoom=0.5 * strength),
        "perspective": aug.PerspectiveWarp(0.3 * strength),
        "elastic": aug.ElasticWarp(1.2 * strength, 2.0),
        "brightness": aug.Brightness(0.6 * strength),
        "contrast": aug.Contrast(2.0 * strength),
        "threshold": aug.Threshold(0.2, 0.2 + 0.6 * strength),
        "cutout": aug.Cutout(1 + pixels),
        "noise": aug.Noise(0.3 * strength, bounds=(0.0, 1.0)),
    }


@method(
    sources=("eth", "penn"), shows=("convolution.augmentation.augment", "convolution.augmentation.augmented_copies")
)
def augmentation_pipeline(key, strength: Real(0.2, 1.0) = 0.5, samples: Int(60, 200) = 100, copies: Int(2, 6) = 4):
    r"""Augmentation pipeline.

    Every training pair is replaced by, or joined with, (Tx, y) for random transformations T that keep the label; n
    pairs and K copies of each are (K + 1) n. Each T is a function of a key, keeps the shape and the range of values,
    and can be chained. Some can be undone, most lose something. Copies of one example on both sides of a split leak:
    the split comes first.

    $$D \cup \{(T_k x_i, y_i) : i \le n,\ k \le K\}$$

    Assumes: T keeps the label.

    Check: Thirteen transformations of digits, four of texts, five of sounds. For the leak: labels drawn at random, so
    that no honest validation can be better than 1/10, and the nearest neighbour as the classifier.
    """
    x, _ = data.digits()
    images = jnp.asarray(x[:samples].reshape(-1, 8, 8))
    steps = _image_steps(strength)
    text = jnp.asarray(data.generator(key).integers(1, 50, (samples, 12)))
    words = {
        "token dropout": aug.TokenDropout(strength / 2, padding=0),
        "token masking": aug.TokenMasking(strength / 2, mask=0),
        "word order": aug.WordOrderNoise(max(round(4 * strength), 1)),
        "synonyms": aug.SynonymSwap(np.tile(np.arange(50)[::-1, None], (1, 2)), strength / 2),
    }
    sounds = {
        "time shift": aug.TimeShift(3),
        "gain": aug.Gain(12.0 * strength),
        "time stretch": aug.TimeStretch(strength),
        "time mask": aug.AxisMask("time", 3),
        "frequency mask": aug.AxisMask("frequency", 3),
    }
    groups = ((steps, images), (words, text), (sounds, images))

    @jax.jit
    def run(key):
        named = [(name, step, rows) for group, rows in groups for name, step in group.items()]
        keys = jax.random.split(key, len(named))
        return {n: (aug.augment(step, rows, key=k), rows) for k, (n, step, rows) in zip(keys, named, strict=True)}

    first, again, other = run(key), run(key), run(jax.random.fold_in(key, 1))
    shapes = [made.shape == rows.shape and made.dtype == rows.dtype for made, rows in first.values()]
    yield exactly(shapes, True, f"{len(shapes)} transformations: shape and type are kept")
    yield exactly(
        [bool((a == again[n][0]).all()) for n, (a, _) in first.items()], True, "the same key, the same copies"
    )
    drawn = [n for n in first if not n.startswith("flip")]
    yield exactly([bool((first[n][0] != other[n][0]).any()) for n in drawn], True, "another key, other copies")
    ranged = np.stack([first[name][0] for name in steps])
    yield at_least(
        ranged.min(axis=(1, 2, 3)), 0.0, "images: least value of a pixel, of each transformation", atol=1e-12
    )
    yield at_most(
        ranged.max(axis=(1, 2, 3)), 1.0, "images: largest value of a pixel, of each transformation", atol=1e-12
    )
    kept, lost = _undone(np.asarray(images), key)
    yield at_most(list(kept.values()), 1e-12, "flips and circular shifts, undone: relative distance from the original")
    yield at_least(list(lost.values()), 1e-3, "zero shifts, rotations, cutouts, stretches: what undoing leaves missing")
    yield from _leak(key, images, copies)
    shown = [("original", images[2]), *((name, first[name][0][2]) for name in steps)]
    worst = max(lost, key=lost.get)
    title = f"Thirteen copies of one digit; what can be undone is kept exactly, {worst} loses {lost[worst]:.0%}"
    yield figure.images(title, images=[(name, np.asarray(image)) for name, image in shown], columns=7)


def _undone(images, key):
    """‖T⁻¹Tx − x‖/‖x‖ for transformations with their inverses, and for those whose nearest to an inverse loses."""
    warped = jax.jit(lambda x, a: aug.affine_warp(aug.affine_warp(x, degrees=a), degrees=-a))
    mirror = aug.Flip("left-right", 1.0)
    kept = {
        "flip": np.asarray(aug.augment(aug.Pipeline(mirror, mirror), images, key=key)),
        "circular shift": shift_images(shift_images(images, 2, 1), -2, -1),
    }
    lost = {
        "zero shift": shift_images(shift_images(images, 2, 1, wrap=False), -2, -1, wrap=False),
        "rotation": np.asarray(warped(images, 20.0)),
        "cutout": np.asarray(aug.augment(aug.Cutout(3), images, key=key)),
        "time stretch": np.asarray(stretched(stretched(jnp.asarray(images), 1.25), 0.8)),
    }
    size = np.linalg.norm(images)
    away = [{name: float(np.linalg.norm(back - images) / size) for name, back in part.items()} for part in (kept, lost)]
    return away[0], away[1]


def _leak(key, images, copies):
    """Random labels: the validation accuracy of the nearest neighbour, split before and after the copies are made."""
    rng, n = data.generator(key), len(images)
    labels = rng.integers(CLASSES, size=n)
    made = aug.augmented_copies(aug.Shift(1), np.asarray(images), labels, copies, key=key)
    yield exactly(len(made.labels), (copies + 1) * n, "examples after augmentation: (K + 1) n")
    flat, half = made.examples.reshape(len(made.labels), -1), rng.permutation(n) < n // 2
    honest = half[made.origin]
    leaky = rng.permutation(len(made.labels)) < len(made.labels) // 2

    def right(seen, held):
        said = nearest_neighbours_mean(flat[seen], made.labels[seen].astype(float), 1)(flat[held])
        return said == made.labels[held]

    originals = made.origin[:n]
    honestly = right(honest, np.flatnonzero(~half[originals]))
    what = "random labels, split before copying: validation accuracy against that of a guess"
    yield frequency(int(honestly.sum()), len(honestly), 1 / CLASSES, what)
    leaked = right(leaky, np.flatnonzero(~leaky))
    origins = made.origin[~leaky]
    by_origin = np.array([leaked[origins == i].any() for i in np.unique(origins)])
    what = "random labels, split after copying: share of examples with a copy that is named right"
    yield frequency(int(by_origin.sum()), len(by_origin), 0.5, what, side="at least")
