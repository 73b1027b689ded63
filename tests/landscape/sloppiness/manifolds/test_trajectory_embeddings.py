"""Embeddings keep distances; PCA agrees with scikit-learn; the intensive distance is Fisher's for near models."""

import numpy as np
import pytest

from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.manifolds.trajectory_embeddings import distance_embedding


def probabilities(rng, m, n, c):
    logits = rng.normal(size=(m, n, c))
    return np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)


def test_principal_components_are_those_of_scikit_learn():
    from sklearn.decomposition import PCA

    points = np.random.default_rng(0).normal(size=(7, 5))
    found, reference = sloppiness.pca_embedding(points), PCA().fit(points)
    np.testing.assert_allclose(found.explained, reference.explained_variance_ratio_)
    np.testing.assert_allclose(np.abs(found.coordinates), np.abs(reference.transform(points)))


def test_all_coordinates_keep_all_distances():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(6, 4))
    exact = ((points[:, None] - points[None]) ** 2).sum(-1)
    np.testing.assert_allclose(sloppiness.pca_embedding(points).squared_distances(), exact, atol=1e-12)
    laws = probabilities(rng, 8, 5, 3)
    made = sloppiness.intensive_embedding(laws)
    np.testing.assert_allclose(made.squared_distances(), sloppiness.intensive_distances(laws), atol=1e-12)
    assert made.explained.sum() == pytest.approx(1.0)


def test_the_intensive_distance_is_the_mean_bhattacharyya_distance():
    laws = probabilities(np.random.default_rng(2), 2, 4, 3)
    expected = -np.mean(np.log(np.sqrt(laws[0] * laws[1]).sum(-1)))
    assert sloppiness.intensive_distances(laws)[0, 1] == pytest.approx(expected)


def test_near_models_are_an_eighth_of_the_squared_fisher_distance_apart():
    law = np.array([0.2, 0.5, 0.3])
    step = 1e-3 * np.array([1.0, -3.0, 2.0])
    near = sloppiness.intensive_distances(np.stack([law, law + step])[:, None])[0, 1]
    assert near == pytest.approx((step**2 / law).sum() / 8, rel=1e-2)


def test_bad_input_is_told():
    with pytest.raises(ValueError, match="at least 2 models"):
        sloppiness.pca_embedding(np.ones((1, 3)))
    with pytest.raises(ValueError, match="symmetric"):
        distance_embedding(np.arange(4.0).reshape(2, 2))
