import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit, softmax

from leadline.networks import embeddings

MODEL = embeddings.LogBilinear(6, 3, key=jax.random.key(0))
COUNTS = np.random.default_rng(0).integers(1, 20, size=(6, 6))


def test_the_conditionals_are_a_softmax_of_inner_products():
    scores = np.asarray(MODEL.inputs) @ np.asarray(MODEL.outputs).T + np.asarray(MODEL.bias)
    np.testing.assert_allclose(jnp.exp(MODEL.log_probabilities()), softmax(scores, axis=1), rtol=1e-12)


def test_a_change_of_basis_changes_no_probability():
    matrix = jax.random.normal(jax.random.key(1), (3, 3)) + 3 * jnp.eye(3)
    moved = MODEL.transformed(matrix)
    np.testing.assert_allclose(moved.scores(), MODEL.scores(), atol=1e-12)
    assert not np.allclose(moved.inputs, MODEL.inputs)


def test_losses_are_those_of_a_loop_over_pairs():
    scores, total = np.asarray(MODEL.scores()), COUNTS.sum()
    log_p = np.log(softmax(scores, axis=1))
    noise = COUNTS.sum(0) / total
    full = sampled = 0.0
    for i in range(6):
        for j in range(6):
            full -= COUNTS[i, j] * log_p[i, j] / total
            sampled -= COUNTS[i, j] / total * (np.log(expit(scores[i, j])) + 5 * noise @ np.log(expit(-scores[i])))
    assert float(embeddings.full_softmax_loss(MODEL, COUNTS)) == pytest.approx(full)
    assert float(embeddings.negative_sampling_loss(MODEL, COUNTS, 5)) == pytest.approx(sampled)


def test_the_sampled_loss_has_the_exact_one_as_its_mean():
    rng = np.random.default_rng(1)
    n, k = 40_000, 2
    pairs = rng.choice(36, size=n, p=COUNTS.ravel() / COUNTS.sum())
    negatives = rng.choice(6, size=(n, k), p=COUNTS.sum(0) / COUNTS.sum())
    found = embeddings.sampled_loss(MODEL, *(jnp.asarray(a) for a in (pairs // 6, pairs % 6, negatives)))
    assert float(found) == pytest.approx(float(embeddings.negative_sampling_loss(MODEL, COUNTS, k)), abs=0.03)


def test_pmi_minus_log_k_is_a_critical_point_of_negative_sampling():
    pmi = embeddings.pointwise_mutual_information(COUNTS)
    exact = embeddings.LogBilinear(6, 6, bias=False, key=jax.random.key(0))
    exact = eqx.tree_at(lambda m: (m.inputs, m.outputs), exact, (jnp.asarray(pmi - np.log(3)), jnp.eye(6)))
    gradient = jax.grad(embeddings.negative_sampling_loss)(exact, COUNTS, 3)
    np.testing.assert_allclose(gradient.inputs, 0.0, atol=1e-14)


def test_nearest_words_and_bad_input():
    vectors = np.array([[1.0, 0.0], [10.0, 1.0], [0.0, 1.0], [-1.0, 0.0]])
    assert embeddings.nearest_words(vectors, 0, 3).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="at least 2 and 1"):
        embeddings.LogBilinear(1, 3, key=jax.random.key(0))
