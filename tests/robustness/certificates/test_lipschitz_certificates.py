import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.networks.dissection import dissect
from leadline.robustness import lipschitz_bracket, lipschitz_radii
from leadline.robustness.certificates import lipschitz_certificates as module
from leadline.robustness.certificates.lipschitz_certificates import step_norm

KEY = jax.random.key(0)


def perceptron(params, x):
    return jnp.maximum(x @ params[0], 0) @ params[1] + params[2]


@pytest.fixture(scope="module")
def network():
    rng = np.random.default_rng(0)
    params = tuple(jnp.asarray(a) for a in (rng.normal(size=(6, 12)), rng.normal(size=(12, 3)), rng.normal(size=3)))
    return params, rng.normal(size=(40, 6))


def test_the_bracket_of_a_perceptron_is_the_product_above_and_a_jacobian_below(network):
    params, x = network
    found = lipschitz_bracket(dissect(perceptron, params, x[:4]).chain, perceptron, params, x, key=KEY)
    norms = [np.linalg.norm(params[i], 2) for i in (0, 1)]
    assert found.upper == pytest.approx(norms[0] * norms[1], rel=1e-9)
    slope = jax.jacobian(lambda one: perceptron(params, one[None])[0])(jnp.asarray(found.where))
    assert found.lower == pytest.approx(np.linalg.norm(slope, 2), rel=1e-9)
    jacobians = jax.vmap(jax.jacobian(lambda one: perceptron(params, one[None])[0]))(x)
    assert np.linalg.norm(jacobians, 2, axis=(1, 2)).max() <= found.lower * (1 + 1e-12)
    assert found.lower <= found.upper
    pair = np.linalg.norm(np.asarray(params[1])[:, 0] - np.asarray(params[1])[:, 2]) * norms[0]
    assert found.pairs[0, 2] == pytest.approx(pair, rel=1e-4)
    assert found.pairs[0, 2] >= pair


def test_without_a_chain_there_is_a_reason_and_a_lower_end(network):
    params, x = network
    found = lipschitz_bracket(None, perceptron, params, x, key=KEY, why="it has a loop", rounds=0)
    assert (found.upper, found.why) == (None, "it has a loop")
    assert found.lower > 0


def test_the_iterated_norm_of_a_convolution_is_just_above_the_exact_one(monkeypatch):
    def convolution(w, x):
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME").reshape(len(x), -1)

    w = jax.random.normal(KEY, (2, 1, 3, 3))
    chain = dissect(convolution, w, jnp.ones((2, 1, 10, 10))).chain
    (step,) = chain.affine
    exact = np.linalg.norm(step.matrix(), 2)
    assert step_norm(step, KEY) == pytest.approx(exact, rel=1e-4)
    monkeypatch.setattr(module, "DENSE_ENTRIES", 0)
    assert exact <= step_norm(step, KEY) <= 1.03 * exact


def test_radii_of_a_linear_model_are_its_distances():
    rng = np.random.default_rng(1)
    weight, x = rng.normal(size=(4, 5)), rng.normal(size=(20, 5))
    scores = x @ weight.T
    pairs = np.linalg.norm(weight[:, None] - weight, axis=2)
    y = scores.argmax(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        distances = (scores[np.arange(20), y][:, None] - scores) / pairs[y]
    upper = float(np.linalg.norm(weight, 2))
    sharp = lipschitz_radii(scores, upper, pairs=pairs)
    np.testing.assert_allclose(sharp, np.nanmin(distances, axis=1), rtol=1e-12)
    assert np.all(lipschitz_radii(scores, upper) <= sharp * (1 + 1e-12))


def test_wrong_predictions_have_radius_zero_and_a_constant_function_an_infinite_one():
    scores = np.array([[2.0, 1.0], [0.0, 1.0]])
    np.testing.assert_allclose(lipschitz_radii(scores, 1.0, np.array([0, 0])), [1 / math.sqrt(2), 0.0])
    assert lipschitz_radii(scores, 0.0)[0] == math.inf
    with pytest.raises(ValueError, match="not negative"):
        lipschitz_radii(scores, -1.0)
