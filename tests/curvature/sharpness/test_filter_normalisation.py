"""Filters, their norms, and directions scaled to them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import curvature
from leadline.curvature.sharpness.filter_normalisation import filter_variances


@pytest.fixture
def params():
    rng = np.random.default_rng(0)
    return {
        "kernel": jnp.asarray(rng.normal(size=(2, 3, 2, 2))),
        "bias": jnp.asarray(rng.normal(size=2)),
        "name": "net",
    }


def test_a_filter_of_a_convolution_is_all_that_makes_one_output(params):
    norms = curvature.filter_norms(params)
    by_hand = np.linalg.norm(np.asarray(params["kernel"]).reshape(2, -1), axis=1)
    np.testing.assert_allclose(norms["kernel"][:, 0, 0, 0], by_hand)
    np.testing.assert_array_equal(norms["bias"], 0.0)


def test_biases_are_one_filter_on_request(params):
    norms = curvature.filter_norms(params, biases="normalise")
    np.testing.assert_allclose(norms["bias"], np.linalg.norm(params["bias"]))


def test_a_direction_that_is_zero_in_a_filter_stays_zero(params):
    direction = {"kernel": jnp.zeros((2, 3, 2, 2)).at[1, 0, 0, 0].set(-2.0), "bias": jnp.ones(2), "name": None}
    scaled = curvature.normalise_filters(direction, params)
    assert float(jnp.abs(scaled["kernel"][0]).max()) == 0.0
    np.testing.assert_allclose(scaled["kernel"][1, 0, 0, 0], -np.linalg.norm(params["kernel"][1]))


def test_random_directions_have_the_variances_that_are_said(params):
    drawn = curvature.random_filter_directions(params, 4000, key=jax.random.key(0), biases="normalise")
    variances = filter_variances(params, biases="normalise")
    for name in ("kernel", "bias"):
        measured = np.asarray(drawn[name]).reshape(4000, -1)
        said = np.asarray(variances[name]).ravel()
        np.testing.assert_allclose(measured.var(axis=0), said, rtol=0.12)  # 3.5 standard errors of a variance at most
        correlation = np.corrcoef(measured.T) - np.eye(len(said))
        if name == "kernel":
            assert np.abs(correlation).max() < 5 / np.sqrt(4000)


def test_bad_input():
    with pytest.raises(ValueError, match="'hold' or 'normalise'"):
        curvature.filter_norms({"w": jnp.ones((2, 2))}, biases="keep")
    with pytest.raises(ValueError, match="no floating-point array"):
        curvature.filter_norms({"w": jnp.ones((2, 2), int)})
