"""Noise that objectives inject: where it goes, that it is drawn anew, and that validation is without it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import curvature, networks, regularisation, training
from leadline.regularisation.noise.injected_noise import noisy_labels

KEY = jax.random.key(0)


def rows_of(noise, model, x, y, key=KEY, state=None):
    return np.asarray(noise(model, (x, y), key, state)[0].losses)


def test_without_noise_it_is_the_plain_loss():
    net = networks.MLP((2, 4, 3), "tanh", key=KEY)
    x, y = jax.random.normal(KEY, (10, 2)), jnp.arange(10) % 3
    plain = optax.softmax_cross_entropy_with_integer_labels(jax.vmap(net)(x), y)
    np.testing.assert_allclose(rows_of(regularisation.NoiseInjection(), net, x, y), plain, rtol=1e-6)
    loud = regularisation.NoiseInjection(inputs=1.0, weights=1.0, targets=0.5)
    np.testing.assert_allclose(rows_of(eqx.nn.inference_mode(loud), net, x, y), plain, rtol=1e-6)
    assert not np.allclose(rows_of(loud, net, x, y), plain)


def test_weights_outside_the_group_stay():
    net = eqx.nn.Linear(2, 1, key=KEY)
    x, y = jnp.zeros((3, 2)), jnp.zeros((3, 1))  # the output is the bias alone
    still = rows_of(regularisation.NoiseInjection("squared", weights=1.0), net, x, y)
    np.testing.assert_allclose(still, float(net.bias[0]) ** 2, rtol=1e-6)
    everything = regularisation.NoiseInjection("squared", weights=1.0, group=regularisation.everything)
    moved = rows_of(everything, net, x, y)
    assert np.ptp(moved) == 0
    assert abs(moved[0] - still[0]) > 1e-6


def test_steps_have_their_own_noise_and_a_schedule_counts_them():
    noise = regularisation.NoiseInjection("squared", inputs=lambda t: jnp.where(t < 2, 1.0, 0.0))
    x, y = jnp.ones((4, 1)), jnp.ones((4, 1))
    a, b = (rows_of(noise, lambda row: row, x, y, key, jnp.array(0)) for key in jax.random.split(KEY))
    assert not np.allclose(a, b)
    np.testing.assert_array_equal(rows_of(noise, lambda row: row, x, y, KEY, jnp.array(2)), 0.0)
    assert int(noise(lambda row: row, (x, y), KEY, jnp.array(2))[1]) == 3


def test_validation_of_fit_is_without_noise():
    x = np.linspace(-1, 1, 32, dtype=np.float32)[:, None]
    net = networks.MLP((1, 4, 1), "tanh", dtype=jnp.float32, key=KEY)
    noise = regularisation.NoiseInjection("squared", inputs=2.0, targets=3.0)
    run = training.fit(
        net, (x, x), objective=noise, validation=(x, x), optimiser=optax.sgd(0.01), epochs=2, batch=16, key=KEY
    )
    outputs = np.asarray(jax.vmap(run.model)(x))
    assert run.history["validation_loss"][-1] == pytest.approx(np.mean((outputs - x) ** 2), rel=1e-5)


def test_labels_are_drawn_anew_with_the_probability():
    labels = jnp.zeros(5000, int)
    kept = np.mean(np.asarray(noisy_labels(labels, 0.6, 3, key=KEY)) == 0)
    assert abs(kept - (1 - 0.6 * 2 / 3)) < 4 * np.sqrt(0.24 / 5000)


def test_the_penalty_of_input_noise_is_exact_for_a_quadratic():
    """f = xᵀAx/2 + b·x: E(y − f(x + sξ))² by the moments of ξ, whose part of order s⁴ is E(ξᵀAξ)²/4."""
    a, b, s = np.array([[1.0, 0.5], [0.5, -2.0]]), np.array([0.3, -0.7]), 0.1
    x, y = np.array([[0.4, -1.0]]), np.array([0.8])

    def apply(params, inputs):
        return jnp.einsum("ni,ij,nj->n", inputs, jnp.asarray(a), inputs) / 2 + inputs @ jnp.asarray(b)

    nodes, weights = np.polynomial.hermite_e.hermegauss(6)
    moves = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    mass = np.outer(weights, weights).ravel() / weights.sum() ** 2
    exact = mass @ (y - np.asarray(apply(None, x + s * moves))) ** 2
    fourth = s**4 * (np.trace(a) ** 2 + 2 * np.trace(a @ a)) / 4
    leading = regularisation.input_noise_penalty(apply, None, x, y, s)
    residual = (y - np.asarray(apply(None, x))) ** 2
    np.testing.assert_allclose(residual + np.asarray(leading) + fourth, exact, rtol=1e-5)


def test_pairs_of_draws_have_the_excess_of_the_trace():
    matrix = jnp.diag(jnp.arange(1.0, 6.0))

    def loss(w):
        return w @ matrix @ w / 2 + jnp.sum(w)

    at = jnp.ones(5)
    excess = np.asarray(regularisation.smoothed_losses(loss, at, 0.3, draws=2000, key=KEY)) - float(loss(at))
    trace = float(curvature.trace(curvature.hessian(loss, at), key=KEY, probes=6).value)
    assert abs(excess.mean() - 0.045 * trace) < 4 * excess.std() / np.sqrt(2000)


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match="inputs = -1"):
        regularisation.NoiseInjection(inputs=-1.0)
    with pytest.raises(ValueError, match=r"probability 1\.5 of a new label"):
        rows_of(regularisation.NoiseInjection(targets=1.5), lambda x: jnp.zeros(3), jnp.ones(2), jnp.zeros(2, int))
    with pytest.raises(ValueError, match="no key to draw noise"):
        regularisation.NoiseInjection("squared", inputs=1.0)(lambda x: x, (jnp.ones(2), jnp.ones(2)), None, None)
    with pytest.raises(ValueError, match="a schedule and no state"):
        rows_of(regularisation.NoiseInjection("squared", inputs=lambda t: 1.0), lambda x: x, jnp.ones(2), jnp.ones(2))
    with pytest.raises(ValueError, match="same number of rows"):
        regularisation.input_noise_penalty(lambda p, x: x, None, jnp.ones((2, 2)), jnp.ones(3), 0.1)
