import jax.numpy as jnp
import numpy as np
import pytest
from state_space_models import TURN

from leadline.sequences import kalman_filter, linear_gaussian, riccati_path, steady_state


@pytest.mark.parametrize("a", [-0.9, 0.0, 0.5, 1.0, 1.05])
def test_a_scalar_settles_at_the_root_of_its_quadratic(a):
    Q, R = 0.2, 0.7
    found = steady_state(linear_gaussian(a, 1.0, Q, R, 0.0, 1.0))
    c = Q + (a**2 - 1) * R
    np.testing.assert_allclose(found.predicted, (c + np.sqrt(c**2 + 4 * Q * R)) / 2, rtol=1e-10)
    np.testing.assert_allclose(found.contraction, (a * (1 - found.gain.item())) ** 2, atol=1e-12)


def test_the_filter_of_a_vector_ends_there():
    model = linear_gaussian(TURN, np.array([[1.0, 0.0]]), np.diag([0.2, 0.1]), 0.5)
    found, filtered = steady_state(model), kalman_filter(model, np.zeros(300))
    np.testing.assert_allclose(filtered.predicted_covariances[-1], found.predicted, rtol=1e-9)
    np.testing.assert_allclose(filtered.covariances[-1], found.posterior, rtol=1e-9)
    np.testing.assert_allclose(filtered.gains[-1], found.gain, rtol=1e-9)
    start = filtered.predicted_covariances[0]
    np.testing.assert_allclose(riccati_path(model, start, 299), filtered.predicted_covariances, rtol=1e-9)


def test_what_has_no_steady_state_is_said():
    with pytest.warns(UserWarning, match="not observable"):
        blind = linear_gaussian(np.diag([1.1, 0.5]), np.array([[0.0, 1.0]]), np.eye(2), 1.0, np.zeros(2), np.eye(2))
    with pytest.raises(ValueError, match="no steady state"):
        steady_state(blind)
    with pytest.raises(ValueError, match="R with the eigenvalue 0"):
        steady_state(linear_gaussian(0.5, 1.0, 1.0, 0.0))
    with pytest.raises(ValueError, match="start with the eigenvalue -1"):
        riccati_path(linear_gaussian(0.5, 1.0, 1.0, 1.0), jnp.array([[-1.0]]), 3)
