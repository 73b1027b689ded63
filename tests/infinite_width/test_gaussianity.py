"""The energy distance against the mean over all pairs of points."""

import numpy as np
import pytest

from leadline.infinite_width import energy_to_gaussian


def test_it_is_the_distance_over_all_pairs():
    rng = np.random.default_rng(0)
    covariance = np.array([[2.0, 0.6], [0.6, 1.0]])
    x = rng.laplace(size=(400, 2)) + 1.0
    z = rng.standard_normal((4000, 2))
    white = np.linalg.solve(np.linalg.cholesky(covariance), x.T).T

    def between(a, b):
        return np.linalg.norm(a[:, None] - b, axis=2)

    pairs = 2 * between(white, z).mean() - between(white, white).sum() / (400 * 399) - np.sqrt(np.pi)
    assert abs(energy_to_gaussian(x, covariance) - pairs) < 0.05
    gaussian = z[:2000] @ np.linalg.cholesky(covariance).T
    assert abs(energy_to_gaussian(gaussian, covariance)) < 4e-3
    with pytest.raises(ValueError, match="at least 2"):
        energy_to_gaussian(x[:1], covariance)
