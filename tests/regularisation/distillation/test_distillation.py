"""Soft targets and students, against SciPy, PyTorch's definition by hand, and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.special import log_softmax, softmax

from leadline import learning, networks, regularisation
from leadline.regularisation.distillation.soft_targets import label_posterior


def test_soft_targets_of_a_uniform_matrix_are_smoothed_labels():
    labels, matrix = np.array([0, 3, 2]), 0.9 * np.eye(4) + 0.1 / 4
    expected = learning.smooth_labels(labels, 4, 0.1, convention="all")
    assert np.allclose(regularisation.soft_targets(labels, matrix), expected, atol=1e-7)


def test_label_posterior_finds_the_noise():
    rng = np.random.default_rng(0)
    true = rng.integers(0, 3, 30000)
    given = np.where(rng.random(30000) < 0.2, (true + 1) % 3, true)
    expected = 0.8 * np.eye(3) + 0.2 * np.roll(np.eye(3), -1, axis=0)
    assert np.allclose(label_posterior(given, true, 3), expected, atol=0.02)


@pytest.mark.parametrize("matrix", [np.ones((2, 2)), np.eye(3)[:2], np.array([[1.5, 0], [-0.5, 1]])])
def test_a_matrix_that_is_not_column_stochastic_is_refused(matrix):
    with pytest.raises(ValueError, match="columns sum to 1"):
        regularisation.soft_targets(np.array([0]), matrix)


def test_labels_beyond_the_matrix_are_refused():
    with pytest.raises(ValueError, match="one label from 0 to 1"):
        regularisation.soft_targets(np.array([2]), np.eye(2))


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_the_loss_is_the_tempered_cross_entropy_times_t_squared(temperature):
    rng = np.random.default_rng(1)
    G, F = rng.normal(size=(2, 5, 4))
    by_hand = -(temperature**2) * (softmax(F / temperature, axis=1) * log_softmax(G / temperature, axis=1)).sum(1)
    assert np.allclose(regularisation.distillation_loss(G, F, temperature), by_hand, rtol=1e-5)


def test_hard_labels_enter_with_their_share():
    rng = np.random.default_rng(2)
    x, F = rng.normal(size=(2, 6, 3)).astype(np.float32)
    rows = {"inputs": jnp.asarray(x), "teacher": jnp.asarray(F), "labels": jnp.array([0, 1, 2, 0, 1, 2])}
    found = regularisation.Distilled(2.0, hard=0.3)(lambda x: x, rows, None, None)[0]
    soft = regularisation.distillation_loss(x, F, 2.0)
    assert np.allclose(found.losses, 0.7 * soft + 0.3 * learning.cross_entropy(x, rows["labels"]), rtol=1e-5)
    assert np.array_equal(found.aux["agreement"], x.argmax(1) == F.argmax(1))


def test_a_linear_student_finds_a_linear_teacher_without_labels():
    teacher, student = (networks.MLP((3, 4), key=jax.random.key(k)) for k in (0, 1))
    x = np.random.default_rng(3).normal(size=(256, 3)).astype(np.float32)
    run = regularisation.distil(
        student, x, teacher, temperature=3.0, optimiser=optax.adam(0.05), epochs=60, batch=64, key=jax.random.key(2)
    )
    apart = [np.asarray(softmax(np.asarray(jax.vmap(net)(x)), axis=1)) for net in (run.model, teacher)]
    assert np.abs(apart[0] - apart[1]).max() < 0.02
    assert run.history["agreement"][-1] > 0.97


@pytest.mark.slow
def test_a_student_of_eight_networks_is_within_one_point_of_them_on_digits():
    from leadline import data

    x, y, held, truth = data.digits_split()
    x, held = x.astype(np.float32), held.astype(np.float32)
    ensemble = regularisation.deep_ensemble(
        lambda key: networks.MLP((64, 128, 10), dtype=jnp.float32, key=key),
        (x, y),
        members=8,
        optimiser=optax.adam(3e-3),
        epochs=40,
        batch=64,
        key=jax.random.key(0),
    )
    run = regularisation.distil(
        networks.MLP((64, 64, 10), dtype=jnp.float32, key=jax.random.key(1)),
        x,
        ensemble,
        temperature=4.0,
        optimiser=optax.adam(3e-3),
        epochs=60,
        batch=64,
        key=jax.random.key(2),
    )
    student, teacher = (
        float(networks.accuracy(net, jnp.asarray(held), jnp.asarray(truth))) for net in (run.model, ensemble)
    )
    assert student > teacher - 0.01


@pytest.mark.parametrize(
    "bad",
    [
        lambda net, x: regularisation.distil(net, x, np.zeros((3, 2)), hard=0.5, **OPTIONS),
        lambda net, x: regularisation.distil(net, x, np.zeros((2, 2)), **OPTIONS),
        lambda net, x: regularisation.distil(net, x, np.full((3, 2), np.nan), **OPTIONS),
        lambda net, x: regularisation.Distilled(0.0),
        lambda net, x: regularisation.Distilled(1.0, hard=1.5),
    ],
)
def test_bad_input_is_said(bad):
    with pytest.raises(ValueError, match=r"give|must|remove"):
        bad(networks.MLP((2, 2), key=jax.random.key(0)), np.zeros((3, 2), np.float32))


OPTIONS = {"optimiser": optax.sgd(0.1), "epochs": 1, "key": jax.random.key(0)}
