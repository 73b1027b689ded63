"""A linear classifier on scattering coefficients, fitted in one pass over the images."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, Real

from leadline._checks import require_counts, require_rows

from .scattering_2d import Scattering2D

_FLAT = 1e-6  # a standard deviation below this share of the largest is that of a constant


class ScatteringClassifier(NamedTuple):
    """Scores of classes, linear in the standardised coefficients of a scattering transform."""

    scattering: Scattering2D
    centre: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]
    weights: Float[np.ndarray, "d k"]
    bias: Float[np.ndarray, " k"]
    batch: int

    def scores(self, images: Real[Array | np.ndarray, "n h w"]) -> Float[np.ndarray, "n k"]:
        """One row of scores an image; the largest is the class."""
        weights = (self.weights / self.scale[:, None]).astype(np.float32)
        bias = self.bias - (self.centre / self.scale) @ self.weights
        rows = (_features(self.scattering, images[i : i + self.batch]) for i in range(0, len(images), self.batch))
        return np.concatenate([features @ weights for features in rows]) + bias

    def predict(self, images: Real[Array | np.ndarray, "n h w"]) -> Int[np.ndarray, " n"]:
        return self.scores(images).argmax(1)


def fit_scattering_classifier(
    images: Real[Array | np.ndarray, "n h w"],
    labels: Int[Array | np.ndarray, " n"],
    *,
    scales: int = 3,
    angles: int = 8,
    penalty: float = 1e-3,
    batch: int = 1000,
    notice: Callable[[int], None] = lambda done: None,
) -> ScatteringClassifier:
    r"""Ridge regression of the classes (1 and -1) on standardised scattering coefficients z, in single precision.

    $$\min_{W, b} \frac1n \sum_i \Vert W^\top z_i + b - y_i \Vert^2 + \text{penalty} \Vert W \Vert^2$$

    from moments that are summed over batches, so that memory does not grow with n (Bruna and Mallat 2013 classify
    scattering coefficients). After each batch `notice` is told how many images are done.

    >>> rng = np.random.default_rng(0)
    >>> stripes = np.sin(np.arange(16) * 2.0 + rng.uniform(0, 6, (40, 1, 1))) * np.ones((16, 1))
    >>> images = np.concatenate([stripes, stripes.swapaxes(1, 2)]) + 0.1 * rng.normal(size=(80, 16, 16))
    >>> labels = np.repeat([0, 1], 40)
    >>> classifier = fit_scattering_classifier(images[::2], labels[::2], scales=2)
    >>> float((classifier.predict(images[1::2]) == labels[1::2]).mean())
    1.0
    """
    require_rows("fit_scattering_classifier", images=images, labels=labels)
    require_counts("fit_scattering_classifier", batch=batch)
    labels = np.asarray(labels)
    if not penalty > 0:
        raise ValueError(f"fit_scattering_classifier got penalty = {penalty}; give a number above 0.")
    if labels.min() < 0 or len(np.unique(labels)) < 2:
        raise ValueError(
            f"fit_scattering_classifier got labels from {labels.min()} to {labels.max()}; give two classes or more, "
            "numbered from 0."
        )
    scattering = Scattering2D((np.shape(images)[1], np.shape(images)[2]), scales, angles)
    targets = np.where(labels[:, None] == np.arange(labels.max() + 1), 1.0, -1.0)
    first = _features(scattering, images[:batch])
    origin, n = first.mean(0), len(labels)
    total, second, cross = (
        np.zeros(len(origin)),
        np.zeros((len(origin),) * 2),
        np.zeros((len(origin), targets.shape[1])),
    )
    for start in range(0, n, batch):
        rows = first if start == 0 else _features(scattering, images[start : start + batch])
        rows = rows - origin  # without it single precision would lose the variance of far rows
        total += rows.sum(0)
        second += rows.T @ rows
        cross += rows.T @ targets[start : start + batch].astype(np.float32)
        notice(min(start + batch, n))
    return ScatteringClassifier(
        scattering, *_ridge(total / n, second / n, cross / n, targets.mean(0), origin, penalty), batch
    )


def _ridge(mean, second, cross, target, origin, penalty):
    from scipy.linalg import solve

    covariance = second - np.outer(mean, mean)
    spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.where(spread > _FLAT * spread.max(), spread, np.inf)
    gram = covariance / np.outer(scale, scale)
    gram[np.diag_indices_from(gram)] += penalty
    weights = solve(gram, (cross - np.outer(mean, target)) / scale[:, None], assume_a="pos")
    return origin + mean, scale, weights, target


def _features(scattering: Scattering2D, images) -> Float[np.ndarray, "n d"]:
    return np.asarray(scattering(np.asarray(images, np.float32))).reshape(len(images), -1)
