import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

from leadline.linear_classifiers import margins
from leadline.linear_classifiers.margins.labelled import signed_sample

RNG = np.random.default_rng(0)


def test_a_point_margin_is_the_distance_to_the_nearest_point_of_the_plane():
    w, b, x = np.array([1.0, -2.0, 0.5]), 0.7, np.array([0.3, 1.1, -0.4])
    nearest = minimize(
        lambda z: ((z - x) ** 2).sum(), x, constraints={"type": "eq", "fun": lambda z: w @ z + b}, tol=1e-12
    )
    y = -1.0  # w.x + b < 0 here
    found = margins.point_margins(w, b, x[None], np.array([y]))
    np.testing.assert_allclose(found, [np.sqrt(nearest.fun)], rtol=1e-6)


@given(scale=st.floats(1e-200, 1e200), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_margins_do_not_change_when_weights_and_bias_are_scaled_together(scale, seed):
    rng = np.random.default_rng(seed)
    w, b, x = rng.normal(size=4), rng.normal(), rng.normal(size=(7, 4))
    y = np.where(rng.normal(size=7) > 0, 1.0, -1.0)
    plain = margins.point_margins(w, b, x, y)
    np.testing.assert_allclose(margins.point_margins(scale * w, scale * b, x, y), plain, rtol=1e-10, atol=1e-12)


def test_zero_weights_are_an_error_and_not_nan():
    x, y = np.ones((2, 3)), np.array([1.0, -1.0])
    with pytest.raises(ValueError, match="weight vector is zero"):
        margins.point_margins(np.zeros(3), 1.0, x, y)
    with pytest.raises(ValueError, match="NaN"):
        margins.point_margins(np.array([1.0, np.nan, 0.0]), 1.0, x, y)
    with pytest.raises(ValueError, match="weight vector is zero"):
        margins.data_margin(np.zeros(3), 1.0, x, y)
    with pytest.raises(ValueError, match="weight vector is zero"):
        margins.network_margins(lambda z: z.sum(), x, y, last_weights=np.zeros(3))


def test_zero_weights_are_an_error_inside_jit_too():
    x, y = jnp.ones((2, 3)), jnp.array([1.0, -1.0])
    jitted = jax.jit(margins.point_margins)
    np.testing.assert_allclose(jitted(jnp.array([0.0, 0.0, 2.0]), 0.0, x, y), [1.0, -1.0])
    with pytest.raises(Exception, match="weight vector is zero"):
        jax.block_until_ready(jitted(jnp.zeros(3), 0.0, x, y))


def test_the_data_margin_reports_radius_difficulty_and_support():
    x = np.array([[2.0, 0.0], [1.0, 5.0], [-1.0, 0.0]])
    found = margins.data_margin(np.array([2.0, 0.0]), 0.0, x, np.array([1.0, 1.0, -1.0]))
    assert found.margin == 1.0
    assert found.separates
    assert found.radius == pytest.approx(np.sqrt(26))
    assert found.difficulty == pytest.approx(26)
    assert found.support.tolist() == [False, True, True]


def test_a_plane_that_does_not_separate_has_infinite_difficulty():
    found = margins.data_margin(np.array([1.0]), 0.0, np.array([[1.0], [2.0]]), np.array([1.0, -1.0]))
    assert found.margin == -2.0
    assert not found.separates
    assert found.difficulty == np.inf


@pytest.mark.parametrize("labels", [np.array([0.0, 1.0]), np.array([1.0, np.nan])])
def test_labels_other_than_plus_and_minus_one_are_refused(labels):
    with pytest.raises(ValueError, match="expected -1 and"):
        margins.data_margin(np.ones(3), 0.0, np.ones((2, 3)), labels)


def test_inputs_that_are_not_finite_or_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="1 of 2 inputs contain NaN"):
        signed_sample(np.array([[1.0], [np.nan]]), np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match="n >= 1"):
        signed_sample(np.zeros((0, 2)), np.zeros(0))


def test_the_last_layers_margin_is_the_point_margin_in_feature_space():
    network = eqx.nn.MLP(3, "scalar", 8, 2, key=jax.random.key(0))
    x = jnp.asarray(RNG.normal(size=(6, 3)))
    y = jnp.where(x[:, 0] > 0, 1.0, -1.0)

    def features(z):
        for layer in network.layers[:-1]:
            z = jax.nn.relu(layer(z))
        return z

    head = network.layers[-1]
    reference = margins.point_margins(head.weight[0], head.bias[0], jax.vmap(features)(x), y)
    np.testing.assert_allclose(margins.network_margins(network, x, y, last_weights=head.weight), reference, rtol=1e-6)
    np.testing.assert_allclose(margins.network_margins(network, x, y), y * jax.vmap(network)(x))


def test_a_network_with_several_outputs_has_no_scalar_margin():
    with pytest.raises(ValueError, match=r"output has shape \(2,\)"):
        margins.network_margins(lambda z: z[:2], jnp.ones((4, 3)), jnp.ones(4))
