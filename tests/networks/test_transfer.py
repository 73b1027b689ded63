import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from numpy_models import numpy_model

from leadline import training
from leadline.networks import MLP, refit_head, with_features
from leadline.networks.transfer import partition_at

NET = numpy_model(MLP, (3, 4, 4, 2), "tanh", scale=0.6)
RNG = np.random.default_rng(0)
X, Y = jnp.asarray(RNG.normal(size=(12, 3))), jnp.asarray(RNG.normal(size=(12, 2)))


def loss(net, x, y):
    return jnp.mean((jax.vmap(net)(x) - y) ** 2)


@pytest.mark.parametrize("cut", [0, 1, 2])
def test_the_parts_make_the_network_again(cut):
    head, frozen = partition_at(NET, cut)
    assert [layer.weight is None for layer in head.layers] == [i < cut for i in range(3)]
    assert eqx.tree_equal(eqx.combine(head, frozen), NET)


def test_refitting_a_linear_head_comes_to_least_squares_and_leaves_the_rest():
    fit, losses = refit_head(loss, NET, 2, optax.adam(0.05), 3000, X, Y)
    for i in range(2):
        assert eqx.tree_equal(fit.layers[i], NET.layers[i])
    features = np.column_stack([jax.vmap(NET.trace)(X).post[2], np.ones(12)])
    residual = np.asarray(Y) - features @ np.linalg.lstsq(features, np.asarray(Y), rcond=None)[0]
    assert float(loss(fit, X, Y)) == pytest.approx(np.mean(residual**2), rel=5e-3)
    assert losses.shape == (3000,)


def test_without_a_cut_it_is_plain_training_and_batches_are_drawn():
    key = jax.random.key(1)
    fit, losses = refit_head(loss, NET, 0, optax.sgd(0.1), 4, X, Y, batch=5, key=key)
    same, expected = training.minimise(loss, NET, optax.sgd(0.1), 4, X, Y, batch=5, key=key)
    np.testing.assert_allclose(losses, expected, rtol=1e-12)
    np.testing.assert_allclose(fit.layers[0].weight, same.layers[0].weight, rtol=1e-12)


def test_cuts_and_widths_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="choose 0 to 2"):
        partition_at(NET, 3)
    with pytest.raises(ValueError, match="must agree"):
        with_features(NET, numpy_model(MLP, (3, 5, 4, 2), "tanh"), 1)
