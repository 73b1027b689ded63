"""Least squares on more and more random features: through the interpolation peak, with and without a ridge."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Real

from leadline._checks import require, require_rows
from leadline.learning.regression.random_features import RandomFeatures

from .filtered_fits import filtered_fits
from .spectral_filters import RidgeFilter


class FeatureSweep(NamedTuple):
    """Errors of the readout of the first p features, one row for each p, one column for each ridge.

    Squared errors are ‖f(x) − y‖², the mean over rows; `mistakes` the share of test rows whose largest output is not
    that of the target (nan for a single output). `smallest` is the smallest singular value of the features, n × p.
    """

    counts: Int[np.ndarray, " p"]
    train: Float[np.ndarray, "p k"]
    test: Float[np.ndarray, "p k"]
    mistakes: Float[np.ndarray, "p k"]
    smallest: Float[np.ndarray, " p"]


def feature_sweep(
    features: RandomFeatures,
    x: Real[np.ndarray, "n d"],
    y: Real[np.ndarray, "n c"],
    test_x: Real[np.ndarray, "m d"],
    test_y: Real[np.ndarray, "m c"],
    counts: Sequence[int],
    *,
    alphas: Sequence[float] = (0.0,),
) -> FeatureSweep:
    """argmin ‖ΦW − Y‖² + α‖W‖² on the first p random features Φ for every p and α; α = 0 has the least ‖W‖.

    Without a ridge the test error peaks at p = n, where Φ is square and its smallest singular value least, and falls
    again beyond: double descent (Belkin et al. 2019). One decomposition for each p serves all α.

    >>> import jax
    >>> from leadline.learning import draw_features
    >>> x = np.linspace(-1, 1, 8)[:, None]
    >>> phi = draw_features(1, 64, "relu", key=jax.random.key(0))
    >>> sweep = feature_sweep(phi, x[::2], x[::2] ** 2, x, x**2, (2, 64), alphas=(0.0, 1.0))
    >>> sweep.test.shape, bool(sweep.train[1, 0] < 1e-20 < sweep.train[0, 0])
    ((2, 2), True)
    """
    require("feature_sweep", axes=2, x=x, y=y, test_x=test_x, test_y=test_y)
    require_rows("feature_sweep", x=x, y=y)
    require_rows("feature_sweep", test_x=test_x, test_y=test_y)
    if not counts or not 1 <= min(counts) <= max(counts) <= len(features.biases) or not alphas:
        raise ValueError(
            f"feature_sweep got counts {tuple(counts)}, {len(features.biases)} features and {len(alphas)} ridges; give "
            "counts from 1 to the number of features and at least one ridge."
        )
    phi, test_phi = features(np.asarray(x, float)), features(np.asarray(test_x, float))
    filters = [RidgeFilter(alpha / len(x)) for alpha in alphas]
    rows = []
    for p in counts:
        fits = filtered_fits(phi[:, :p], y, filters, intercept=False)
        said = fits.predict(test_phi[:, :p])  # (alphas, m, c)
        wrong = (said.argmax(axis=2) != np.argmax(test_y, axis=1)).mean(axis=1)
        rows.append(
            (
                ((fits.predict(phi[:, :p]) - y) ** 2).sum(axis=2).mean(axis=1),
                ((said - test_y) ** 2).sum(axis=2).mean(axis=1),
                wrong if np.shape(y)[1] > 1 else np.full(len(alphas), np.nan),
                fits.singular_values[-1],
            )
        )
    train, test, mistakes, smallest = (np.array(column) for column in zip(*rows, strict=True))
    return FeatureSweep(np.asarray(counts), train, test, mistakes, smallest)
