import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.stochastic.noise.gradient_similarity import layer_gradients, mean_pairwise_cosine

KEY = jax.random.key(0)


def test_mean_cosine_is_the_mean_over_pairs_and_its_interval_covers_it():
    g = np.random.default_rng(0).normal(size=(30, 4)) + 1
    unit = g / np.linalg.norm(g, axis=1, keepdims=True)
    pairs = [unit[i] @ unit[j] for i in range(30) for j in range(30) if i != j]
    found = mean_pairwise_cosine(g, key=KEY)
    assert found.value == pytest.approx(np.mean(pairs))
    assert found.low < found.value < found.high


def test_equal_gradients_have_cosine_one_and_balanced_ones_the_least_that_is_possible():
    assert mean_pairwise_cosine(np.ones((5, 2)), key=KEY).low == pytest.approx(1.0)
    angles = 2 * np.pi * np.arange(6) / 6
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert mean_pairwise_cosine(ring, key=KEY).value == pytest.approx(-1 / 5)
    with pytest.raises(ValueError, match="at least 2"):
        mean_pairwise_cosine(np.ones((1, 2)), key=KEY)


def test_layers_of_a_network_hold_weight_and_bias_together():
    rng = np.random.default_rng(0)
    w, b, v, x = (jnp.asarray(rng.normal(size=shape)) for shape in ((4, 3), 4, 4, (5, 3)))
    net = {"first": {"bias": b, "weight": w}, "last": {"weight": v}}

    def loss(net, x):
        return jnp.tanh(net["first"]["weight"] @ x + net["first"]["bias"]) @ net["last"]["weight"]

    parts = layer_gradients(loss, net, x)
    assert list(parts) == ["['first']", "['last']"]
    hidden = np.tanh(np.asarray(x) @ np.asarray(w).T + np.asarray(b))
    assert parts["['last']"] == pytest.approx(hidden)
    back = (1 - hidden**2) * np.asarray(v)
    outer = back[:, :, None] * np.asarray(x)[:, None, :]
    assert parts["['first']"] == pytest.approx(np.concatenate([back, outer.reshape(5, -1)], axis=1))
