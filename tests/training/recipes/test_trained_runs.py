"""A run read back is the run that was written."""

import jax
import numpy as np
import pytest

from leadline.training.recipes import RecipeError, outputs_of, parse_recipe, read_run, train

RECIPE = 'data.name = "digits"\nmodel.kind = "linear"\ntraining = {epochs = 1, loss = "squared"}'


def test_network_loss_and_data_come_back(tmp_path):
    outcome = train(parse_recipe(RECIPE), tmp_path / "run")
    run = read_run(tmp_path / "run")
    for a, b in zip(jax.tree.leaves(outcome.model), jax.tree.leaves(run.network), strict=True):
        np.testing.assert_array_equal(a, b)
    few, labels = run.images[:5], run.labels[:5]
    targets = np.eye(10)[labels]
    expected = np.sum((np.asarray(outputs_of(run.network, few)) - targets) ** 2, axis=1)
    np.testing.assert_allclose(run.losses(run.network, few, labels), expected, rtol=1e-5)


def test_a_network_with_modes_comes_back_with_its_statistics(tmp_path):
    text = (
        'data = {name = "digits", images = 200, validation = 0.2}\ntraining = {epochs = 2, batch = 32}\n'
        'model = {kind = "mlp", hidden = [8], dropout = 0.2, normalisation = "batch"}'
    )
    outcome = train(parse_recipe(text), tmp_path / "run")
    run = read_run(tmp_path / "run")
    for a, b in zip(jax.tree.leaves(outcome.model), jax.tree.leaves(run.network), strict=True):
        np.testing.assert_array_equal(a, b)
    scores = np.asarray(outputs_of(run.network, run.tests[0]))
    assert np.mean(scores.argmax(axis=1) == run.tests[1]) == pytest.approx(outcome.test_accuracy)
    assert outcome.parameters == 64 * 8 + 8 + 8 * 10 + 10 + 2 * 8
    assert "validation_loss" in run.history


def test_a_directory_that_holds_no_run_is_refused(tmp_path):
    with pytest.raises(RecipeError, match="no finished run"):
        read_run(tmp_path)
    with pytest.raises(RecipeError, match="no directory"):
        read_run(tmp_path / "none")
