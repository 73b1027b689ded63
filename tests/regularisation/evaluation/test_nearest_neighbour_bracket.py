"""The bracket of the Bayes error: an inverse pair, and intervals that hold a known Bayes error."""

import numpy as np
import pytest
from scipy.stats import norm

from leadline.regularisation import bayes_error_bracket
from leadline.regularisation.evaluation.nearest_neighbour_bracket import cover_hart_ceiling, cover_hart_floor

RNG = np.random.default_rng(2)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_floor_inverts_ceiling(classes):
    bayes = np.linspace(0, 1 - 1 / classes, 50)
    np.testing.assert_allclose(cover_hart_floor(cover_hart_ceiling(bayes, classes), classes), bayes, atol=1e-7)
    assert np.all(cover_hart_ceiling(bayes, classes) >= bayes - 1e-12)


@pytest.mark.parametrize("distance", [0.5, 2.0, 4.0])
def test_two_gaussians_lie_in_their_bracket(distance):
    y = RNG.integers(0, 2, size=6000)
    x = RNG.normal(size=(6000, 1)) + distance * y[:, None]
    found = bayes_error_bracket(x[:4000], y[:4000], x[4000:], y[4000:], confidence=0.999)
    assert found.low <= norm.cdf(-distance / 2) <= found.high
    assert found.error == pytest.approx(found.mistakes / 2000)


def test_bad_input_is_named():
    x = np.zeros((3, 1))
    with pytest.raises(ValueError, match="one class, 1"):
        bayes_error_bracket(x, np.ones(3, int), x, np.ones(3, int))
    with pytest.raises(ValueError, match=r"error of 0\.7 for 2 classes"):
        cover_hart_ceiling(0.7, 2)
    assert cover_hart_floor(0.7, 2) == 0.5
