import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy_models import numpy_model

from leadline.networks import MLP, effective_rank, feature_statistics, layer_features, probe_accuracy
from leadline.networks.features import principal_plane


def test_effective_rank_is_the_exponential_of_the_entropy():
    s = np.array([3.0, 2.0, 1.0])
    p = s**2 / np.sum(s**2)
    q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(10, 3)))
    assert effective_rank(q * s) == pytest.approx(np.prod(p**-p))
    assert effective_rank(np.zeros((4, 2))) == 0.0


def test_features_are_the_values_of_a_forward_pass():
    net = numpy_model(MLP, (3, 4, 2), "tanh")
    x = jnp.asarray(np.random.default_rng(0).normal(size=(5, 3)))
    found = layer_features(net, x)
    np.testing.assert_allclose(
        found.post[1],
        np.tanh(np.asarray(x) @ np.asarray(net.layers[0].weight).T + np.asarray(net.layers[0].bias)),
        rtol=1e-12,
    )
    np.testing.assert_allclose(found.post[2], jax.vmap(net)(x), rtol=1e-12)


def test_statistics_are_numpys():
    h = np.maximum(np.random.default_rng(0).normal(size=(50, 6)), 0)
    found = feature_statistics(h)
    assert (found.mean, found.variance, found.sparsity) == pytest.approx((h.mean(), h.var(), (h == 0).mean()))


def test_a_probe_reads_what_is_linear_and_not_what_is_not():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 2))
    linear, exclusive = (x[:, 0] > 0).astype(int), (x[:, 0] * x[:, 1] > 0).astype(int)

    def score(y):
        return probe_accuracy(x[:400], y[:400], x[400:], y[400:])

    assert score(linear) > 0.97
    assert score(exclusive) < 0.65
    with pytest.raises(ValueError, match="above 0"):
        probe_accuracy(x, linear, x, linear, penalty=0.0)


def test_the_plane_is_that_of_scikit_learns_principal_components():
    from sklearn.decomposition import PCA

    h = np.random.default_rng(0).normal(size=(40, 5)) * np.array([5, 3, 1, 1, 1])
    np.testing.assert_allclose(np.abs(principal_plane(h)), np.abs(PCA(2).fit_transform(h)), atol=1e-10)
    with pytest.raises(ValueError, match="two columns"):
        principal_plane(np.ones((5, 1)))
