"""Pretext tasks, probes on few labels and contrastive coding, against NumPy and closed forms."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import regularisation, training
from leadline.regularisation.pretraining.contrastive_coding import autoregression, autoregression_information
from leadline.regularisation.pretraining.pretext_tasks import PLACES, PatchComparer

IMAGES = np.random.default_rng(0).random((40, 8, 8)).astype(np.float32)


def test_images_are_turned_as_numpy_turns_them():
    turned, labels = regularisation.RotationTask()(jnp.asarray(IMAGES), key=jax.random.key(0))
    for image, answer, k in zip(IMAGES, turned, labels, strict=True):
        assert np.array_equal(answer, np.rot90(image, int(k)))
    assert len(set(labels.tolist())) == 4


def test_the_disc_has_no_corners_and_keeps_the_middle():
    seen = np.asarray(regularisation.RotationTask(disc=True).seen(jnp.ones((1, 8, 8))))[0]
    assert seen[0, 0] == seen[0, -1] == seen[-1, 0] == seen[-1, -1] == 0
    assert (seen[2:6, 2:6] == 1).all()
    assert np.array_equal(seen, np.rot90(seen))


def test_turning_needs_square_images():
    with pytest.raises(ValueError, match="square"):
        regularisation.RotationTask()(jnp.ones((2, 8, 6)), key=jax.random.key(0))


def test_patches_lie_where_their_label_says():
    task = regularisation.PatchTask(2, gap=1)
    pairs, labels = task(jnp.asarray(IMAGES), key=jax.random.key(1))
    for image, (middle, other), k in zip(IMAGES, np.asarray(pairs), labels, strict=True):
        row, column = (3 * step for step in PLACES[int(k)])
        assert np.array_equal(middle, image[3:5, 3:5])
        assert np.array_equal(other, image[row : row + 2, column : column + 2])
    grid = np.asarray(task.grid(jnp.asarray(IMAGES)))
    assert np.array_equal(grid[:, 4], IMAGES[:, 3:5, 3:5])
    assert np.array_equal(grid[:, 8], IMAGES[:, 6:8, 6:8])


def test_jitter_moves_patches_by_at_most_its_size():
    ramp = jnp.asarray(np.broadcast_to(100 * np.arange(14)[:, None] + np.arange(14), (300, 14, 14)), jnp.float32)
    pairs, _ = regularisation.PatchTask(2, gap=2, jitter=1)(ramp, key=jax.random.key(2))
    corners = np.asarray(pairs)[:, 0, 0, 0]
    rows, columns = corners // 100 - 6, corners % 100 - 6
    assert set(rows) == set(columns) == {-1, 0, 1}


def test_patches_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="need 11 pixels"):
        regularisation.PatchTask(3, gap=1)(jnp.ones((1, 8, 8)), key=jax.random.key(0))


def test_a_network_learns_where_a_patch_lies():
    ramp = np.add.outer(4 * np.arange(8.0), 10 * np.arange(8.0)).astype(np.float32) / 40
    images = jnp.asarray(ramp + np.random.default_rng(1).normal(size=(256, 1, 1)).astype(np.float32))
    encoder = eqx.nn.MLP(4, 8, 32, 1, key=jax.random.key(0))
    net = PatchComparer(encoder, 8, key=jax.random.key(1))
    objective = regularisation.Pretext(regularisation.PatchTask(2, gap=1))
    run = training.fit(
        net, images, objective=objective, optimiser=optax.adam(0.01), epochs=40, batch=64, key=jax.random.key(2)
    )
    assert run.history["accuracy"][-1] > 0.4  # chance is 0.125
    features = jax.vmap(run.model.features)(objective.task.grid(images))
    assert features.shape == (256, 72)


def test_probes_see_balanced_rows_and_the_same_for_every_kind():
    labels = np.repeat([0, 1, 2], [60, 30, 10])
    clear = np.eye(3)[labels]
    found = regularisation.label_efficiency(
        {"a": clear, "b": clear}, labels, {"a": clear, "b": clear}, labels, (3, 12), draws=2, key=jax.random.key(0)
    )
    assert (found.accuracy["a"] == 1).all()  # three rows are one of each class, in spite of the shares
    assert np.array_equal(found.accuracy["a"], found.accuracy["b"])


@pytest.mark.parametrize("counts", [(1,), (200,)])
def test_counts_of_labels_must_be_there(counts):
    x, y = np.eye(2)[np.arange(10) % 2], np.arange(10) % 2
    with pytest.raises(ValueError, match="from 2 to all rows"):
        regularisation.label_efficiency({"x": x}, y, {"x": x}, y, counts, key=jax.random.key(0))


def test_info_nce_is_a_cross_entropy_of_candidates():
    from scipy.special import logsumexp

    scores = np.random.default_rng(2).normal(size=(5, 7))
    expected = logsumexp(scores, axis=1) - scores[np.arange(5), [3, 0, 6, 1, 2]]
    found = regularisation.info_nce(jnp.asarray(scores), jnp.array([3, 0, 6, 1, 2]))
    assert np.allclose(found, expected, rtol=1e-5)


def coder(ahead=2):
    encoder = eqx.nn.MLP(1, 3, 4, 1, key=jax.random.key(0))
    return regularisation.ContrastiveCoder(encoder, 3, 5, ahead, key=jax.random.key(1))


def test_scores_are_the_bilinear_form_entry_by_entry():
    net, batch = coder(), jax.random.normal(jax.random.key(2), (2, 4, 1))
    scores = np.asarray(net.scores(batch))
    codes = [net(series) for series in batch]
    for i, k, t, j in np.ndindex(scores.shape):
        expected = codes[j][0][t + k + 1] @ net.predictors[k] @ codes[i][1][t]
        assert np.isclose(scores[i, k, t, j], expected, rtol=1e-4, atol=1e-5)


def test_a_context_does_not_know_the_future():
    net, series = coder(), jax.random.normal(jax.random.key(3), (8, 1))
    other = series.at[5:].set(0.0)
    assert np.array_equal(net(series)[1][:5], net(other)[1][:5])


def test_series_too_short_for_the_horizon_are_refused():
    with pytest.raises(ValueError, match="give longer ones"):
        coder(ahead=4).scores(jnp.zeros((2, 4, 1)))


def test_the_autoregression_has_its_correlations_and_information():
    series = np.asarray(autoregression(40000, 4, 0.7, key=jax.random.key(4)))
    assert np.allclose(series.var(axis=0), 1, atol=0.05)
    for k in (1, 2, 3):
        r = np.corrcoef(series[:, 0], series[:, k])[0, 1]
        assert abs(r - 0.7**k) < 0.03
        joint = np.array([[1, 0.7**k], [0.7**k, 1]])
        assert np.isclose(autoregression_information(0.7, k), -np.log(np.linalg.det(joint)) / 2)


def test_the_estimate_of_equal_scores_is_no_information():
    losses = regularisation.InfoNCE()(coder(), jnp.zeros((6, 5, 1)), None, None)[0].losses
    assert losses.shape == (6, 2, 3)
    assert np.allclose(losses, np.log(6), atol=1e-5)


def test_features_without_their_other_part_and_correlations_of_one_are_told():
    labels = np.arange(6) % 2
    with pytest.raises(ValueError, match=r"train features \['a'\] and test features \['b'\]"):
        regularisation.label_efficiency({"a": np.eye(6)}, labels, {"b": np.eye(6)}, labels, (2,), key=jax.random.key(0))
    with pytest.raises(ValueError, match="positive candidate 3 of 3"):
        regularisation.info_nce(jnp.zeros((2, 3)), 3)
    with pytest.raises(ValueError, match="ρ up to 1"):
        autoregression_information(1.0)
