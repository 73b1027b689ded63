"""The last layer: found in any network, its softmax Hessian against autodiff, averages against quadrature."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import bayes, networks

rng = np.random.default_rng(1)
PHI = rng.normal(size=(30, 4))
W = rng.normal(size=(3, 4))
LABELS = rng.integers(3, size=30)


def _dense(features, labels, weights, alpha):
    """−ln likelihood − ln prior up to constants, and its Hessian, row by row; one row means scores (0, z)."""
    energy, hessian = alpha / 2 * np.sum(weights**2), alpha * np.eye(weights.size)
    for phi, label in zip(features, labels, strict=True):
        scores = weights @ phi if len(weights) > 1 else np.array([0.0, weights[0] @ phi])
        p = np.exp(scores) / np.exp(scores).sum()
        energy -= np.log(p[label])
        curved = np.diag(p) - np.outer(p, p)
        hessian += np.kron(curved[-len(weights) :, -len(weights) :], np.outer(phi, phi))
    return energy, hessian


def test_covariance_of_the_scores_is_that_of_the_dense_hessian():
    energy, hessian = _dense(PHI, LABELS, W, 0.7)
    found = bayes.last_layer_laplace(PHI, LABELS, W, alpha=0.7)
    assert found.structure == "full"
    jacobian = np.kron(np.eye(3), PHI[5])
    assert np.allclose(found.covariances(PHI)[5], jacobian @ np.linalg.solve(hessian, jacobian.T))
    assert np.allclose(found.scores(PHI), PHI @ W.T)
    logdet = np.linalg.slogdet(hessian)[1]
    assert np.isclose(found.log_evidence, -energy + 6 * np.log(0.7) - logdet / 2)


def test_one_row_of_weights_is_logistic_regression():
    labels = (LABELS > 0).astype(int)
    _, hessian = _dense(PHI, labels, W[:1], 0.5)
    found = bayes.last_layer_laplace(PHI, labels, W[:1], alpha=0.5).covariances(PHI[:1])[0]
    assert np.allclose(found, [[0, 0], [0, PHI[0] @ np.linalg.solve(hessian, PHI[0])]])


def test_the_prior_maximises_the_evidence():
    found = bayes.last_layer_laplace(PHI, LABELS, W)
    assert np.isclose(found.alpha * np.sum(W**2), found.effective_parameters, rtol=1e-5)
    for factor in (0.9, 1.1):
        other = bayes.last_layer_laplace(PHI, LABELS, W, alpha=found.alpha * factor)
        assert other.log_evidence < found.log_evidence


def test_kronecker_factors_are_exact_where_all_rows_have_the_same_probabilities():
    features = np.column_stack([np.zeros((30, 3)), PHI[:, 0] ** 2 + 1])
    weights = np.zeros((3, 4))
    full = bayes.last_layer_laplace(features, LABELS, weights, alpha=0.3)
    small = bayes.last_layer_laplace(features, LABELS, weights, alpha=0.3, largest_full=1)
    assert small.structure == "Kronecker"
    assert np.allclose(full.covariances(features), small.covariances(features))
    assert np.isclose(full.log_evidence, small.log_evidence)


def test_a_sample_stands_for_more_rows():
    twice = bayes.last_layer_laplace(np.tile(PHI, (2, 1)), np.tile(LABELS, 2), W, alpha=0.7)
    told = bayes.last_layer_laplace(PHI, LABELS, W, alpha=0.7, stands_for=60)
    assert np.allclose(twice.covariances(PHI), told.covariances(PHI))
    assert np.isclose(twice.log_evidence, told.log_evidence)


def test_averages_of_two_classes_against_quadrature():
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    means, spreads = np.array([0.0, 1.0, -3.0, 6.0]), np.array([1.0, 4.0, 9.0, 25.0])
    exact = (1 / (1 + np.exp(-means[:, None] - np.sqrt(spreads)[:, None] * nodes)) * weights).sum(1) / weights.sum()
    scores = np.column_stack([np.zeros(4), means])
    covariances = np.zeros((4, 2, 2))
    covariances[:, 1, 1] = spreads
    probit = bayes.probit_average(scores, covariances)
    sampled, error = bayes.sampled_average(scores, covariances, draws=4000, key=jax.random.key(0))
    assert np.all(np.abs(sampled[:, 1] - exact) < 4 * error[:, 1])
    assert np.abs(probit[:, 1] - exact).max() < 0.02


def test_averages_do_not_see_a_common_shift_and_agree_for_little_spread():
    means, root = rng.normal(size=(5, 3)), 0.3 * rng.normal(size=(5, 3, 3))
    covariances = root @ np.swapaxes(root, 1, 2)
    probit = bayes.probit_average(means, covariances)
    assert np.allclose(probit, bayes.probit_average(means + 7, covariances + 100.0))
    sampled, error = bayes.sampled_average(means, covariances, draws=2000, key=jax.random.key(1))
    assert np.abs(probit - sampled).max() < 0.01 + 4 * error.max()


def test_the_last_layer_is_found_in_modules_and_functions():
    import equinox as eqx

    net = networks.MLP((3, 5, 4), key=jax.random.key(0), parametrisation="ntk")
    free, rest = eqx.partition(net, eqx.is_inexact_array)
    x = np.asarray(rng.normal(size=(20, 3)), np.asarray(net.layers[0].weight).dtype)

    def apply(p, x):
        return jax.vmap(eqx.combine(p, rest))(x)

    found = bayes.find_last_layer(apply, free, x)
    assert found.name == "layers[1].weight"
    assert np.allclose(found.features(x) @ found.weights.T, np.asarray(apply(free, x)), atol=1e-5)
    assert bayes.find_last_layer(lambda p, x: jnp.tanh(x @ p["w"]), {"w": jnp.ones((3, 2))}, x) is None


def test_bad_input_is_told_in_a_sentence():
    with pytest.raises(ValueError, match="label"):
        bayes.last_layer_laplace(PHI, LABELS + 1, W)
    with pytest.raises(ValueError, match="positive"):
        bayes.last_layer_laplace(PHI, LABELS, W, alpha=0.0)
    with pytest.raises(ValueError, match="draws"):
        bayes.sampled_average(W, np.zeros((3, 4, 4)), draws=1, key=jax.random.key(0))
