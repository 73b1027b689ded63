"""The last layer of a network, where attack, certificate and closed form must agree."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from leadline import as_apply, networks, robustness
from leadline.networks.dissection import dissect

X = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)


def test_deepfool_and_interval_bounds_are_exact_on_the_last_layer_of_a_network():
    apply, params = as_apply(networks.MLP((4, 8, 3), "relu", key=jax.random.key(0)))
    found = robustness.check_head(dissect(apply, params, X).chain, X)
    assert found is not None
    assert not found.whole
    np.testing.assert_allclose(found.deepfool, found.exact, rtol=1e-4, atol=found.rounding)
    np.testing.assert_allclose(found.certified_box, found.exact_box, rtol=1e-4, atol=found.rounding)


def test_of_scores_that_are_inputs_the_distances_are_gaps_between_them():
    found = robustness.check_head(dissect(lambda w, x: x @ w, jnp.eye(4), X).chain, X)
    first, second = -np.sort(-X, axis=1)[:, :2].T
    assert found is not None
    assert found.whole
    np.testing.assert_allclose(found.exact, (first - second) / math.sqrt(2), rtol=1e-5)
    np.testing.assert_allclose(found.deepfool, (first - second) / math.sqrt(2), rtol=1e-4, atol=found.rounding)
    np.testing.assert_allclose(found.certified_box, (first - second) / 2, rtol=1e-4, atol=found.rounding)


def test_the_head_of_a_network_without_chain_is_none():
    assert robustness.check_head(None, np.zeros((2, 3))) is None
