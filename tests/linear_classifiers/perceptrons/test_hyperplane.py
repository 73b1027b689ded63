import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from leadline.linear_classifiers import perceptrons
from leadline.linear_classifiers.perceptrons.hyperplane import absorbed_distance, plane_offset

W, B, X = np.array([1.0, -2.0, 0.5]), 0.8, np.array([0.3, 0.4, -1.0])


def test_the_foot_is_the_nearest_point_of_the_plane():
    plane = {"type": "eq", "fun": lambda z: W @ z + B}
    nearest = minimize(lambda z: np.sum((z - X) ** 2), np.zeros(3), constraints=plane, tol=1e-14).x
    assert np.allclose(perceptrons.foot(W, B, X), nearest, atol=1e-6)
    assert abs(perceptrons.signed_distance(W, B, X)) == pytest.approx(np.linalg.norm(nearest - X), abs=1e-6)


def test_the_offset_lies_on_the_plane_along_the_normal():
    point = plane_offset(W, B) * W / np.linalg.norm(W)
    assert W @ np.asarray(point) + B == pytest.approx(0, abs=1e-12)


def test_the_absorbed_distance_is_a_distance_in_one_dimension_more():
    extended = perceptrons.signed_distance(np.append(W, B), 0.0, np.append(X, 1.0))
    assert float(absorbed_distance(W, B, X)) == pytest.approx(float(extended))


def test_distances_can_be_jitted_and_mapped():
    batch = np.stack([X, 2 * X])
    mapped = jax.jit(jax.vmap(perceptrons.signed_distance, (None, None, 0)))(W, B, batch)
    assert np.allclose(mapped, (batch @ W + B) / np.linalg.norm(W))


def test_zero_weights_have_no_hyperplane():
    with pytest.raises(ValueError, match="no hyperplane"):
        perceptrons.signed_distance(jnp.zeros(3), 1.0, X)
