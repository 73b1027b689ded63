"""Certificates against their ingredients and exact cases: a linear rule, random labels, a prior that has seen half."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import generalisation
from leadline.generalisation.network_certificates import certify_posterior, split_certificate
from leadline.generalisation.posterior_training import GaussianPosterior


def linear(params, inputs):
    return inputs @ params["w"]


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 5)).astype(np.float32)
    return x[:500], (x[:500, 0] > 0).astype(int), x[500:], (x[500:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def good():
    return {"w": jnp.asarray([[-4.0, 4.0], *[[0.0, 0.0]] * 4], jnp.float32)}


def test_a_rule_that_generalises_is_certified_and_the_ingredients_give_the_value(task, good):
    x, y, *test = task
    found = generalisation.network_certificate(
        linear, good, x, y, test=tuple(test), num_steps=300, draws=2000, key=jax.random.key(0)
    )
    assert not found.vacuous
    assert found.test_error <= found.value < 0.4
    assert found.moved == 0.0
    assert (found.n, found.confidence) == (500, 0.95)
    assert found.draws >= 2000
    assert found.grid_cost == pytest.approx(np.log(1158))
    empirical = generalisation.kl_inverse(found.sampled_error, np.log(1 / 0.025) / found.draws)
    assert found.empirical == pytest.approx(float(empirical))
    budget = (found.kl + found.grid_cost + np.log(2 * np.sqrt(500) / 0.025)) / 500
    assert found.value == pytest.approx(float(generalisation.kl_inverse(found.empirical, budget)))


def test_random_labels_are_never_certified(task, good):
    x, *_ = task
    labels = np.random.default_rng(1).integers(2, size=500)
    for params in (good, jax.tree.map(jnp.zeros_like, good)):
        found = generalisation.network_certificate(
            linear, params, x, labels, num_steps=300, draws=2000, key=jax.random.key(1)
        )
        assert found.vacuous
        assert found.value >= found.chance_error


def test_a_prior_from_half_of_the_rows_is_tighter(task, good):
    x, y, *_ = task
    seen = []

    def train(inputs, labels):
        seen.append(len(labels))
        return jax.tree.map(lambda w: 5 * w, good)

    found = split_certificate(linear, train, x, y, num_steps=300, draws=2000, key=jax.random.key(2))
    assert (seen, found.n) == ([250], 250)
    assert found.value < 0.15
    with pytest.raises(ValueError, match="fewer than 8"):
        split_certificate(linear, train, x, y, share=0.99, key=jax.random.key(2))


def test_one_output_is_a_sign_and_the_divergence_is_exact(task):
    x, y, *_ = task
    mean = {"w": jnp.asarray([[3.0], [0], [0], [0], [0]], jnp.float32)}
    width = {"w": jnp.full((5, 1), np.log(0.5), jnp.float32)}
    posterior = GaussianPosterior(mean, width)
    found = [
        certify_posterior(
            lambda p, x: x @ p["w"], posterior, x, labels, prior_deviation=1.0, draws=1000, key=jax.random.key(3)
        )
        for labels in (y, 2 * y - 1)
    ]
    assert found[0] == found[1]
    assert found[0].grid_cost == 0.0
    assert found[0].kl == pytest.approx(0.5 * (9 + 5 * (0.25 - 1 - np.log(0.25))), rel=1e-6)


def test_the_error_of_the_drawn_networks_is_that_of_the_law(task):
    x, y, *_ = task
    mean = {"w": jnp.asarray([[1.0], [0], [0], [0], [0]], jnp.float32)}
    width = {"w": jnp.full((5, 1), np.log(0.7), jnp.float32)}
    found = certify_posterior(
        lambda p, x: x @ p["w"], GaussianPosterior(mean, width), x, y, draws=4000, key=jax.random.key(4)
    )
    from scipy.stats import norm

    exact = np.mean(norm.cdf(-np.abs(x[:, 0]) / (0.7 * np.linalg.norm(x, axis=1))))  # each row: a Gaussian score
    assert abs(found.sampled_error - exact) < 4 * np.sqrt(exact / 4000)


def test_bad_input_is_told_in_a_sentence(task, good):
    x, y, *_ = task
    key = jax.random.key(0)
    with pytest.raises(ValueError, match="at least 8 rows"):
        generalisation.network_certificate(linear, good, x[:4], y[:4], key=key)
    with pytest.raises(ValueError, match="2 classes"):
        generalisation.network_certificate(linear, good, x, y + 1, key=key)
    with pytest.raises(ValueError, match="shapes"):
        generalisation.network_certificate(linear, good, x, y, prior={"w": jnp.zeros((5, 3))}, key=key)
    with pytest.raises(ValueError, match="confidence"):
        certify_posterior(linear, GaussianPosterior(good, good), x, y, confidence=1.0, key=key)
