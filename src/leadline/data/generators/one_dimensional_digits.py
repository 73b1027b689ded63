"""MNIST-1D: digits as curves of 40 numbers, made by a program (Greydanus and Kobak 2024)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

_TEMPLATES = (
    (5, 6, 6.5, 6.75, 7, 7, 7, 7, 6.75, 6.5, 6, 5),
    (5, 3, 3, 3.4, 3.8, 4.2, 4.6, 5, 5.4, 5.8, 5, 5),
    (5, 6, 6.5, 6.5, 6, 5.25, 4.75, 4, 3.5, 3.5, 4, 5),
    (5, 6, 6.5, 6.5, 6, 5, 5, 6, 6.5, 6.5, 6, 5),
    (5, 4.4, 3.8, 3.2, 2.6, 2.6, 5, 5, 5, 5, 5, 5),
    (5, 3, 3, 3, 3, 5, 6, 6.5, 6.5, 6, 4.5, 5),
    (5, 4, 3.5, 3.25, 3, 3, 3, 3, 3.25, 3.5, 4, 5),
    (5, 7, 7, 6.6, 6.2, 5.8, 5.4, 5, 4.6, 4.2, 5, 5),
    (5, 4, 3.5, 3.5, 4, 5, 5, 4, 3.5, 3.5, 4, 5),
    (5, 4, 3.5, 3.5, 4, 5, 5, 5, 5, 4.7, 4.3, 5),
)
_LENGTH, _PADDING, _STEPS = 12, (36, 60), 40  # of a template, what is added to it, what is left of both
_NOT_ZERO = 1e-8  # added to the templates, by which noise tells them from the padding


class CurveDigits(NamedTuple):
    """Curves (n, 40, 1) of mean 0 and standard deviation 1 over all, and which digit each is."""

    train_inputs: Float[np.ndarray, "train 40 1"]
    train_labels: Int[np.ndarray, " train"]
    test_inputs: Float[np.ndarray, "test 40 1"]
    test_labels: Int[np.ndarray, " test"]


def mnist_1d(rows: int = 5000, *, seed: int = 42) -> CurveDigits:
    """The dataset MNIST-1D as its authors' program makes it: with their seed, their 4000 and 1000 curves.

    Each of ten templates is padded, scaled, moved, noised, sheared and sampled at 40 points, `rows`/10 times; four
    fifths of the shuffled curves are for training.

    >>> made = mnist_1d(100)
    >>> made.train_inputs.shape, made.test_labels.shape
    ((80, 40, 1), (20,))
    """
    if rows < 10 or rows % 10:
        raise ValueError(f"mnist_1d got {rows} rows; give a multiple of 10, as many for each digit.")
    rng = np.random.RandomState(seed)  # the generator of the authors' program
    curves = np.stack([_changed(template, rng) for template in _templates() for _ in range(rows // 10)])
    order = rng.permutation(rows)
    curves, labels = curves[order], np.repeat(np.arange(10), rows // 10)[order]
    curves = ((curves - curves.mean()) / curves.std())[..., None]
    split = int(rows * 0.8)
    return CurveDigits(curves[:split], labels[:split], curves[split:], labels[split:])


def _templates() -> Float[np.ndarray, "10 12"]:
    x = np.array(_TEMPLATES, float)
    x = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)
    return (x - x[:, :1]) / 6


def _changed(template: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    from scipy.ndimage import gaussian_filter

    low, high = _PADDING
    x = np.concatenate([template + _NOT_ZERO, np.zeros(low + int(rng.rand() * (high - low + 1)))])
    x = _sampled(x, _LENGTH + high) * (1 + 0.4 * (rng.rand() - 0.5))
    x = np.roll(x, rng.choice(48))
    drawn = x != 0
    x = drawn * x + ~drawn * gaussian_filter(0.25 * rng.randn(len(x)), 2) + 0.02 * rng.randn(len(x))
    x = x - 0.75 * (rng.rand() - 0.5) * np.linspace(-0.5, 0.5, len(x))
    return _sampled(x, _STEPS)


def _sampled(x: np.ndarray, points: int) -> np.ndarray:
    return np.interp(np.linspace(0, 1, points), np.linspace(0, 1, len(x)), x)
