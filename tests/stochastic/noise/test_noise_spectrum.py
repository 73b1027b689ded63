"""Gradient noise, its bias and its second moments against dense formulas."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import stochastic
from leadline.stochastic.noise.bias_test import compare_gradients
from leadline.stochastic.noise.noise_spectrum import noise_of_gram

KEY = jax.random.key(0)


def loss(params, x, y):
    return (params["a"] @ jnp.tanh(params["b"] * x) - y) ** 2 / 2


@pytest.fixture(scope="module")
def network():
    rng = np.random.default_rng(0)
    params = {"a": jnp.asarray(rng.normal(size=3)), "b": jnp.asarray(rng.normal(size=3)), "name": "tanh"}
    return params, rng.normal(size=(30, 3)), rng.normal(size=30)


def test_the_gram_route_equals_the_dense_covariance(network):
    params, x, y = network
    noise = stochastic.gradient_noise(loss, params, x, y)
    free = {k: params[k] for k in "ab"}
    each = jax.vmap(jax.grad(loss), (None, 0, 0))(free, x, y)
    flat = np.concatenate([np.asarray(each["a"]), np.asarray(each["b"])], axis=1)
    covariance = np.cov(flat, rowvar=False, bias=True)
    assert np.allclose(noise.spectrum, np.linalg.eigvalsh(covariance)[::-1], atol=1e-12)
    assert noise.trace.value == pytest.approx(np.trace(covariance))
    assert noise.gradient_square.value == pytest.approx(np.sum(flat.mean(0) ** 2))
    assert noise.noise_scale.value == pytest.approx(np.trace(covariance) / np.sum(flat.mean(0) ** 2))
    assert noise.trace.certified
    assert noise.trace.error == 0
    assert (noise.samples, noise.parameters) == (30, 6)
    assert noise.effective_rank == pytest.approx(np.trace(covariance) ** 2 / np.sum(covariance**2))
    assert noise.batch_trace(5) == pytest.approx(np.trace(covariance) / 5)
    assert 1 <= noise.count_above(0.1) <= noise.count_above(1e-6) <= 6


def test_estimates_from_some_rows_are_unbiased_and_their_intervals_hold():
    rng = np.random.default_rng(1)
    g = rng.normal(size=(80, 4)) + 0.5
    exact_trace, exact_square = np.trace(np.cov(g, rowvar=False, bias=True)), np.sum(g.mean(0) ** 2)
    found = []
    for _ in range(150):
        rows = rng.choice(80, 40, replace=False)
        found.append(noise_of_gram(g[rows] @ g[rows].T, 4, seen_share=0.5))
    traces, squares = np.array([f.trace.value for f in found]), np.array([f.gradient_square.value for f in found])
    assert abs(traces.mean() - exact_trace) < 4 * traces.std() / np.sqrt(150)
    assert abs(squares.mean() - exact_square) < 4 * squares.std() / np.sqrt(150)
    assert np.mean([f.trace.holds(float(exact_trace)) for f in found]) > 0.85
    law = noise_of_gram(g @ g.T, 4, seen_share=0.0)
    assert law.trace.low < law.trace.value < law.trace.high
    assert law.noise_scale.low <= law.noise_scale.value <= law.noise_scale.high


def test_a_gradient_that_may_be_zero_has_no_upper_end_of_the_noise_scale():
    g = np.concatenate([np.eye(4), -np.eye(4)])
    found = noise_of_gram(g @ g.T, 4, seen_share=0.0)
    assert found.noise_scale.high == np.inf


def test_bad_input_to_the_noise_is_refused(network):
    params, x, y = network
    with pytest.raises(ValueError, match="rows"):
        stochastic.gradient_noise(loss, params, x, y[:-1])
    with pytest.raises(ValueError, match="key"):
        stochastic.gradient_noise(loss, params, x, y, most=10)
    with pytest.raises(ValueError, match="at least 2"):
        stochastic.gradient_noise(loss, params, x[:1], y[:1])
    with pytest.raises(ValueError, match="not finite"):
        stochastic.gradient_noise(loss, params, x, np.full(30, np.inf))


def batch_loss(params, x, y, weights):
    return jnp.mean(weights * jax.vmap(lambda a, b: loss(params, a, b))(x, y))


def test_loaders_are_told_apart(network):
    params, x, y = network
    params = {k: params[k] for k in "ab"}
    x, y = x + 1.0, y + np.linspace(-3, 3, 30)
    p = np.arange(1.0, 31) / 465
    data = (jnp.asarray(x), jnp.asarray(y), jnp.ones(30))

    def report(rows, weights):
        batches = [(data[0][r], data[1][r], jnp.asarray(c)) for r, c in zip(rows, weights, strict=True)]
        return stochastic.gradient_bias(batch_loss, params, data, batches, key=KEY)

    uniform = stochastic.draw_indices(30, 6, 200, key=KEY)
    skewed = stochastic.draw_indices(30, 6, 200, probabilities=p, key=KEY)
    fair = report(uniform, np.ones(uniform.shape))
    caught = report(skewed, np.ones(skewed.shape))
    assert not fair.biased()
    assert caught.biased()
    assert set(fair.z_scores) == {"a", "b"}
    assert max(abs(z) for z in caught.z_scores.values()) > 3


def test_a_short_last_batch_that_counts_like_the_others_is_caught():
    # 10 examples in order, batches of 3: the last one stands alone and counts three times as much
    values = np.array([0.0] * 9 + [5.0])
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(60, 4))
    means = np.tile([0.0, 0.0, 0.0, 5.0], 60)[:, None] * np.ones(2) + 0.1 * noise.reshape(-1, 1)
    report = compare_gradients({"w": np.full(2, values.mean())}, {"w": means}, key=KEY)
    assert report.biased()


def test_the_bias_test_has_its_level():
    rng = np.random.default_rng(2)
    keys = jax.random.split(KEY, 300)
    p = [compare_gradients(np.zeros(5), rng.normal(size=(40, 5)), key=k).p_value for k in keys]
    assert abs(np.mean(np.array(p) < 0.1) - 0.1) < 4 * np.sqrt(0.09 / 300)


def test_too_few_batches_are_refused():
    with pytest.raises(ValueError, match="too few"):
        compare_gradients(np.zeros(5), np.ones((6, 5)), key=KEY)


def test_second_moments_on_least_squares():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    form, best = stochastic.second_moment_form(x, y), np.linalg.lstsq(x, y, rcond=None)[0]
    v = rng.normal(size=3)
    g = x * (x @ (best + v) - y)[:, None]
    assert form(v) == pytest.approx(np.mean(np.sum(g**2, 1)))
    assert form.gradient_square(v) == pytest.approx(np.sum(g.mean(0) ** 2))
    sigma = 1.3 * form.least_slope
    tight = form.tight_point(sigma)
    assert form(tight) == pytest.approx(form.offset(sigma) + sigma * form.gradient_square(tight))
    with pytest.raises(ValueError, match="exceed"):
        form.offset(form.least_slope)
    assert stochastic.second_moment_envelope(np.ones(2), np.ones(2), 2.0) == 0.0
