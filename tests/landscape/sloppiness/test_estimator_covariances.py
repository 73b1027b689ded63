"""Repeated fits against SciPy's, the bound against closed forms."""

import numpy as np
import pytest

from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.estimator_covariances import loewner_margin
from leadline.landscape.sloppiness.models.kepler_orbits import KeplerOrbit


def test_repeated_fits_are_those_of_scipy():
    rng = np.random.default_rng(0)
    model = sloppiness.sum_of_exponentials(np.linspace(0, 4, 15), 2)
    truth = np.array([0.4, 2.0])
    data = model.predict(truth) + 0.02 * rng.normal(size=(6, 15))
    found = sloppiness.repeated_fits(model, data, np.array([0.7, 1.5]))
    single = np.stack([model.fit(y, truth).weights for y in data])
    assert found.converged.all()
    np.testing.assert_allclose(found.weights, single, rtol=1e-6)
    np.testing.assert_allclose(
        found.squares, [np.sum((y - model.predict(w)) ** 2) for y, w in zip(data, single, strict=True)]
    )


def test_fixed_weights_stay_and_the_others_are_fitted():
    model = sloppiness.polynomial_model(np.linspace(-1, 1, 8), 2)
    y = np.exp(model.inputs)
    found = sloppiness.repeated_fits(model, y[None], np.array([0.0, 5.0, 0.0]), fixed=np.array([False, True, False]))
    A = model.jacobian(np.zeros(3))
    rest = np.linalg.lstsq(A[:, [0, 2]], y - 5 * A[:, 1], rcond=None)[0]
    np.testing.assert_allclose(found.weights[0], [rest[0], 5.0, rest[1]], atol=1e-8)


def test_the_bound_of_a_line_is_the_covariance_of_least_squares():
    rng = np.random.default_rng(1)
    A = np.stack([np.ones(20), rng.normal(size=20)], 1)
    bound = sloppiness.cramer_rao_bound(sloppiness.gaussian_root_jacobian(A, 0.3), 20)
    np.testing.assert_allclose(bound.matrix, 0.09 * np.linalg.inv(A.T @ A), rtol=1e-10)
    assert bound.undetermined.shape == (0, 2)
    assert loewner_margin(2 * bound.matrix, bound.matrix) == pytest.approx(1.0)


def test_scales_of_parameters_do_not_decide_what_is_determined():
    A = np.stack([np.ones(5), 1e-9 * np.arange(5.0)], 1)
    assert len(sloppiness.cramer_rao_bound(A, 5).undetermined) == 0


def test_a_singular_information_bounds_its_range_only():
    x = np.linspace(1, 2, 10)
    bound = sloppiness.cramer_rao_bound(np.stack([x, -2 * x, np.ones(10)], 1), 1)
    assert np.abs(bound.undetermined @ np.array([2.0, 1.0, 0.0])) == pytest.approx(np.sqrt(5))
    assert bound.variance(np.array([2.0, 1.0, 0.0])) == np.inf
    line = np.stack([x, np.ones(10)], 1)
    assert bound.variance(np.array([1.0, -2.0, 0.0])) == pytest.approx(np.linalg.inv(line.T @ line)[0, 0])


def test_eigenvalues_of_random_covariances_stay_within_the_edges():
    rng = np.random.default_rng(2)
    low, high = sloppiness.wishart_edges(200, 3)
    for _ in range(50):
        z = rng.normal(size=(200, 3))
        values = np.linalg.eigvalsh(z.T @ z / 200)
        assert low < values[0]
        assert values[-1] < high


def test_bad_input():
    with pytest.raises(ValueError, match="positive definite"):
        loewner_margin(np.eye(2), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="at least one sample"):
        sloppiness.cramer_rao_bound(np.eye(2), 0)
    model = KeplerOrbit(np.linspace(0, 1, 5))
    with pytest.raises(ValueError, match="not finite at the start"):
        sloppiness.repeated_fits(model, np.zeros((1, 10)), np.array([0, 0, 1, 2.0, 0, 0, 1]))
