"""Deep ensembles against their members trained alone."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import as_apply, networks, training
from leadline.regularisation.committees.deep_ensembles import deep_ensemble


def make(key):
    return networks.MLP((2, 6, 3), "tanh", dtype=jnp.float32, key=key)


@pytest.fixture(scope="module")
def sample():
    x = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    return x, (x[:, 0] > 0).astype(np.int32) + (x[:, 1] > 0)


OPTIONS = {"optimiser": optax.adam(0.03), "epochs": 10, "batch": 20, "key": jax.random.key(3)}


def test_the_average_is_that_of_the_members_probabilities(sample):
    found = deep_ensemble(make, sample, members=3, **OPTIONS)
    each = [jax.nn.softmax(jax.vmap(found.member(i))(sample[0])) for i in range(found.size)]
    np.testing.assert_allclose(jnp.exp(jax.vmap(found)(sample[0])), np.mean(each, axis=0), atol=1e-6)
    apply, params = as_apply(found)
    np.testing.assert_allclose(apply(params, sample[0]), jax.vmap(found)(sample[0]), atol=1e-6)


def test_regressors_average_their_outputs(sample):
    y = sample[0].sum(axis=1)
    found = deep_ensemble(
        lambda key: networks.MLP((2, 6, 1), "tanh", key=key), (sample[0], y), members=2, loss="squared", **OPTIONS
    )
    each = [jax.vmap(found.member(i))(sample[0]) for i in range(2)]
    np.testing.assert_allclose(jax.vmap(found)(sample[0]), np.mean(each, axis=0), atol=1e-6)


def test_out_of_bag_predictions_are_of_members_that_did_not_see_the_row(sample):
    found = deep_ensemble(make, sample, members=4, resample=True, **OPTIONS)
    said, predictions = found.out_of_bag(sample[0]), np.asarray(found.predictions(sample[0]))
    for row in range(len(sample[0])):
        unseen = [m for m in range(4) if row not in found.rows[m]]
        expected = predictions[unseen, row].mean(axis=0) if unseen else np.full(3, np.nan)
        np.testing.assert_allclose(said[row], expected, atol=1e-6)


def test_rows_of_fit_many_are_those_that_a_member_sees_alone(sample):
    rows = np.array([[5, 5, 5, 5], [1, 2, 3, 4]])
    models = [make(jax.random.key(i)) for i in range(2)]
    options = {"optimiser": optax.sgd(0.1), "epochs": 3, "batch": 4, "key": jax.random.key(0)}
    together = training.fit_many(models, sample, rows=rows, **options)
    for model, own, run in zip(models, rows, together, strict=True):
        alone = training.fit_many([model], (sample[0][own], sample[1][own]), **options)[0]  # one batch is an epoch
        np.testing.assert_allclose(run.model.layers[0].weight, alone.model.layers[0].weight, atol=1e-6)


def test_wrong_input_is_named(sample):
    with pytest.raises(ValueError, match="members = 0; give at least 1"):
        deep_ensemble(make, sample, members=0, **OPTIONS)
    with pytest.raises(ValueError, match="choose 'cross-entropy'"):
        deep_ensemble(make, sample, loss="hinge", **OPTIONS)
    with pytest.raises(ValueError, match="resample=True"):
        deep_ensemble(make, sample, members=1, **OPTIONS).out_of_bag(sample[0])
    with pytest.raises(ValueError, match="one line of them for each model"):
        training.fit_many([make(jax.random.key(0))], sample, rows=np.zeros((2, 3), int), **OPTIONS)
    with pytest.raises(ValueError, match="row number 99 for 60"):
        training.fit_many([make(jax.random.key(0))], sample, rows=np.full((1, 30), 99), **OPTIONS)
    with pytest.raises(ValueError, match="diverged"):
        wild = OPTIONS | {"optimiser": optax.sgd(1e30), "loss": "squared"}
        deep_ensemble(make, (sample[0], sample[0][:, [0, 0, 1]]), members=2, **wild)
