import numpy as np
import pytest
from state_space_models import models, series

from leadline.sequences import NOISES, kalman_filter, point_mass_filter


def test_under_normal_noise_it_is_the_kalman_filter():
    model = models()["scalar"]
    xs = series(model, 8, gaps=True)
    found = point_mass_filter(model, xs, np.linspace(-12, 12, 161))
    exact = kalman_filter(model, xs)
    np.testing.assert_allclose(found.means, exact.means[:, 0], atol=1e-9)
    np.testing.assert_allclose(found.variances, exact.covariances[:, 0, 0], atol=1e-9)
    np.testing.assert_allclose(found.log_likelihood, exact.log_likelihood, atol=1e-8)


def test_a_density_may_be_given():
    model, xs, grid = models()["scalar"], np.array([0.5, -1.0]), np.linspace(-9, 9, 201)
    named = point_mass_filter(model, xs, grid, noise="two points")
    given = point_mass_filter(model, xs, grid, noise=NOISES["two points"].log_density)
    np.testing.assert_array_equal(named.densities, given.densities)


@pytest.mark.parametrize(
    ("name", "grid", "message"),
    [("rotation", np.linspace(-1, 1, 9), "scalar model"), ("scalar", np.array([0.0, 1.0, 3.0]), "not even")],
)
def test_bad_input_is_told_in_a_sentence(name, grid, message):
    with pytest.raises(ValueError, match=message):
        point_mass_filter(models()[name], np.zeros(2), grid)
