"""Dropout's masks against sums over all of them, finite samples, SciPy and Equinox's own layers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom, entropy

from leadline import as_apply, networks
from leadline.regularisation import (
    deletion_curve,
    distinct_subnetworks,
    dropout_loss,
    dropout_ridge,
    keyed_apply,
    mask_ensemble,
    masked_moments,
    mc_dropout,
    mean_unit_correlation,
    sub_network,
)

rng = np.random.default_rng(0)


def test_the_number_of_kept_units_is_binomial():
    ensemble = mask_ensemble(lambda b: b.sum(), np.full(6, 0.3))
    counts = np.bincount(ensemble.masks.sum(1).astype(int), weights=ensemble.probabilities)
    np.testing.assert_allclose(counts, binom.pmf(np.arange(7), 6, 0.3), rtol=1e-12)
    np.testing.assert_allclose(ensemble.mean, 1.8, rtol=1e-6)


def test_the_geometric_mean_is_that_of_the_members():
    table = np.array([[0.2, 0.8], [0.6, 0.4]])
    ensemble = mask_ensemble(lambda b: jnp.asarray(table)[b[0].astype(int)], np.array([0.25]))
    expected = table[0] ** 0.75 * table[1] ** 0.25
    np.testing.assert_allclose(ensemble.geometric_mean, expected / expected.sum(), rtol=1e-6)


@pytest.mark.parametrize("keep", [np.array([1.2]), np.full(21, 0.5), np.array([])])
def test_probabilities_that_cannot_be_enumerated_are_refused(keep):
    with pytest.raises(ValueError, match="mask_ensemble got keep"):
        mask_ensemble(lambda b: b, keep)


def test_distinct_subnetworks_are_counted_as_a_network_shows_them():
    net = networks.MLP((3, 3, 2, 1), "tanh", bias=False, key=jax.random.key(0))
    x = jnp.asarray(rng.normal(size=(4, 3)), jnp.float32)
    ensemble = mask_ensemble(lambda b: jax.vmap(sub_network(net, [None, b[:3], b[3:]]))(x).ravel(), np.full(5, 0.5))
    seen = {tuple(np.round(row, 5)) for row in np.asarray(ensemble.outputs)}
    assert len(seen) == distinct_subnetworks((3, 2)) == 22


def test_masked_units_are_masked_hidden_values():
    net = eqx.nn.MLP(3, 2, 4, 1, jnp.tanh, key=jax.random.key(0))
    x, mask = jnp.ones(3), jnp.array([1.0, 0.0, 2.0, 0.0])
    hidden = jnp.tanh(net.layers[0](x)) * mask
    np.testing.assert_allclose(sub_network(net, [None, mask])(x), net.layers[1](hidden), rtol=1e-6)


def test_masks_of_another_shape_are_refused():
    net = networks.MLP((3, 4, 2), key=jax.random.key(0))
    with pytest.raises(ValueError, match="2 linear layers"):
        sub_network(net, [None])
    with pytest.raises(ValueError, match="each of its 4 inputs"):
        sub_network(net, [None, jnp.ones(3)])


def test_deleting_all_but_one_unit_leaves_one_scaled_unit():
    weights = [(jnp.eye(2), jnp.zeros(2))] * 2
    net = networks.mlp_from_affine(weights, "relu")
    x = np.array([[1.0, 0.2], [0.3, 2.0]])
    curve = deletion_curve(*as_apply(net), x, np.array([0, 1]), (0.0, 0.9), draws=50, key=jax.random.key(0))
    assert (curve.accuracy[0] == 1).all()
    assert set(curve.accuracy[1]) == {0.5}  # the other unit's class is never said
    assert curve.area == pytest.approx(0.75)


def test_networks_without_hidden_layers_cannot_lose_units():
    net = networks.MLP((3, 2), key=jax.random.key(0))
    with pytest.raises(ValueError, match="no hidden units"):
        deletion_curve(*as_apply(net), np.ones((2, 3)), np.zeros(2, int), (0.0, 0.5), key=jax.random.key(0))
    with pytest.raises(ValueError, match="below 1"):
        deletion_curve(*as_apply(net), np.ones((2, 3)), np.zeros(2, int), (0.0, 1.0), key=jax.random.key(0))


def test_units_that_never_vary_do_not_count():
    h = rng.normal(size=(50, 3))
    expected = np.abs(np.corrcoef(h.T)[np.triu_indices(3, 1)]).mean()
    assert mean_unit_correlation(np.c_[h, np.ones(50)]) == pytest.approx(expected)
    with pytest.raises(ValueError, match="two or more"):
        mean_unit_correlation(np.c_[h[:, :1], np.ones(50)])


def test_moments_with_a_rate_for_each_feature_are_those_of_many_masks():
    x, keep = rng.normal(size=(5, 3)), np.array([0.2, 0.5, 1.0])
    masks = rng.random((100_000, 5, 3)) < keep
    masked = masks * x
    found = masked_moments(x, keep)
    np.testing.assert_allclose(masked.mean(0), found.mean, atol=0.02)
    np.testing.assert_allclose(np.einsum("mni,mnj->ij", masked, masked) / len(masks), found.second, atol=0.05)


def test_dropouts_ridge_minimises_its_loss():
    x, y, keep = rng.normal(size=(20, 4)), rng.normal(size=20), np.array([0.3, 0.5, 0.8, 1.0])
    found = minimize(lambda w: dropout_loss(x, y, w, keep).value, np.zeros(4), tol=1e-12).x
    np.testing.assert_allclose(dropout_ridge(x, y, keep), keep * found, atol=1e-5)


def test_without_dropout_and_with_empty_features_it_is_least_squares():
    x, y = np.c_[rng.normal(size=(20, 2)), np.zeros(20)], rng.normal(size=20)
    np.testing.assert_allclose(dropout_ridge(x, y, 1.0)[:2], np.linalg.lstsq(x[:, :2], y, rcond=None)[0], rtol=1e-9)
    assert dropout_ridge(x, y, 0.5)[2] == 0
    with pytest.raises(ValueError, match="above 0"):
        dropout_ridge(x, y, 0.0)


def test_passes_have_the_spread_of_their_masks():
    linear = eqx.nn.Linear(4, 1, use_bias=False, key=jax.random.key(0))
    apply, params = keyed_apply(eqx.nn.Sequential([eqx.nn.Dropout(0.2), linear]))
    x = jnp.ones((1, 4))
    found = mc_dropout(apply, params, x, draws=4000, key=jax.random.key(1))
    w = np.asarray(linear.weight[0])
    assert found.mean[0, 0] == pytest.approx(w.sum(), abs=0.05)
    assert found.sd[0, 0] == pytest.approx(np.sqrt(0.25 * np.sum(w**2)), rel=0.1)  # (1/π)² π(1 − π) = 0.25


def test_a_pass_is_one_sub_network_and_normalisation_stays_in_use():
    class Net(eqx.Module):
        norm: eqx.nn.BatchNorm
        drop: eqx.nn.Dropout
        linear: eqx.nn.Linear

        def __init__(self, key):
            self.norm = eqx.nn.BatchNorm(6, axis_name="batch", mode="batch")
            self.drop, self.linear = eqx.nn.Dropout(0.5), eqx.nn.Linear(6, 2, key=key)

        def __call__(self, x, state, *, key=None):
            x, state = self.norm(x, state)
            return self.linear(self.drop(x, key=key)), state

    net, state = eqx.nn.make_with_state(Net)(jax.random.key(0))
    outputs = mc_dropout(*keyed_apply((net, state)), jnp.ones((3, 6)), draws=10, key=jax.random.key(1)).passes
    assert np.ptp(outputs, axis=0).min() > 0
    assert np.ptp(outputs, axis=1).max() == 0
    with pytest.raises(ValueError, match="with a state"):
        keyed_apply(net)


def test_layers_with_rate_zero_do_nothing_and_do_not_disturb():
    linear = eqx.nn.Linear(4, 1, key=jax.random.key(0))
    net = eqx.nn.Sequential([eqx.nn.Dropout(0.0), linear, eqx.nn.Dropout(0.5)])
    passes = mc_dropout(*keyed_apply(net), jnp.ones((1, 4)), draws=20, key=jax.random.key(1)).passes.ravel()
    np.testing.assert_allclose(passes[passes != 0], 2 * linear(jnp.ones(4))[0], rtol=1e-6)
    assert 0 < np.sum(passes == 0) < 20


def test_mutual_information_is_the_mean_divergence_from_the_mean():
    def scores(w, x, key):
        return w * jax.random.normal(key, (len(x), 3))

    found = mc_dropout(scores, jnp.array(2.0), jnp.ones((2, 1)), draws=40, key=jax.random.key(0), link=jax.nn.softmax)
    expected = entropy(found.passes, found.mean[None], axis=-1).mean(0)
    np.testing.assert_allclose(found.mutual_information, expected, rtol=1e-4)


def test_networks_without_dropout_are_refused():
    with pytest.raises(ValueError, match="no dropout"):
        keyed_apply(eqx.nn.Linear(2, 1, key=jax.random.key(0)))
    with pytest.raises(ValueError, match="draws"):
        mc_dropout(lambda w, x, key: x, 1.0, jnp.ones((2, 1)), draws=1, key=jax.random.key(0))
