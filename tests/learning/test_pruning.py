import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.learning import apply_mask, magnitude_mask, random_mask, train_masked
from leadline.learning.pruning import train_with_fresh_masks
from leadline.training import minimise

X = np.random.default_rng(0).standard_normal((30, 6))
Y = X @ np.arange(6.0)
RULE = optax.adam(0.05)


def loss(model, x, y):
    return jnp.mean((x @ model["w"][0] + model["b"][0] - y) ** 2)


START = {"w": jnp.ones((1, 6)), "b": jnp.zeros(1)}


def test_random_masks_are_nested_keep_biases_and_have_the_stated_share():
    model = {"w": jnp.ones((100, 100)), "b": jnp.ones(100)}
    masks = [random_mask(model, share, key=jax.random.key(0)) for share in (0.0, 0.3, 0.8)]
    assert float(masks[0]["w"].min()) == 1.0
    assert float(masks[1]["w"].mean()) == pytest.approx(0.7, abs=5 * 0.46 / 100)
    assert bool(jnp.all(masks[2]["w"] <= masks[1]["w"]))
    assert float(masks[2]["b"].min()) == 1.0


def test_magnitude_masks_remove_the_smallest_weights_of_the_whole_model():
    model = {"first": jnp.array([[5.0, -0.1], [0.3, 2.0]]), "second": jnp.array([[-0.2, 4.0]]), "bias": jnp.zeros(2)}
    mask = magnitude_mask(model, 0.5)
    assert mask["first"].tolist() == [[1, 0], [0, 1]]
    assert mask["second"].tolist() == [[0, 1]]
    assert mask["bias"].tolist() == [1, 1]
    tied = magnitude_mask({"w": jnp.ones((2, 2))}, 0.25)["w"]
    assert int(tied.sum()) == 3  # the share is kept to where sizes are equal


def test_removed_weights_stay_0_and_the_rest_is_the_smaller_regression():
    mask = {"w": jnp.array([[1.0, 0, 1, 0, 1, 1]]), "b": jnp.ones(1)}
    end, losses = train_masked(loss, START, mask, RULE, 800, X, Y)
    kept = np.flatnonzero(mask["w"][0])
    design = np.column_stack([X[:, kept], np.ones(30)])
    solution = np.linalg.lstsq(design, Y)[0]
    assert np.asarray(end["w"])[0, [1, 3]].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(np.asarray(end["w"])[0, kept], solution[:-1], atol=0.05)
    assert losses.shape == (800,)


def test_share_0_is_the_dense_run():
    dense, _ = minimise(loss, START, RULE, 50, X, Y)
    masked, _ = train_masked(loss, START, jax.tree.map(jnp.ones_like, START), RULE, 50, X, Y)
    fresh, _ = train_with_fresh_masks(loss, START, 0.0, RULE, 50, X, Y, key=jax.random.key(0))
    np.testing.assert_allclose(masked["w"], dense["w"], atol=1e-12)
    np.testing.assert_allclose(fresh["w"], dense["w"], atol=1e-12)


def test_fresh_masks_on_a_linear_model_converge_to_ridge_in_the_mean():
    # E over masks of the squared loss is the loss plus share/(1 - share) Σ_j w_j² mean(x_j²).
    share = 0.5
    end, _ = train_with_fresh_masks(loss, START, share, optax.sgd(0.002), 4000, X, Y, key=jax.random.key(0))
    centred, target = X - X.mean(axis=0), Y - Y.mean()
    penalty = np.diag(np.mean(X**2, axis=0)) * share / (1 - share)
    ridge = np.linalg.solve(centred.T @ centred / 30 + penalty, centred.T @ target / 30)
    assert np.linalg.norm(np.asarray(end["w"])[0] - ridge) < 0.35 * np.linalg.norm(ridge)


def test_a_mask_of_zeros_silences_the_model():
    assert float(jnp.abs(apply_mask(START, jax.tree.map(jnp.zeros_like, START))["w"]).max()) == 0.0
    with pytest.raises(ValueError, match="nothing to remove"):
        magnitude_mask({"b": jnp.ones(3)}, 0.5)
