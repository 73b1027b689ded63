"""Overlaps of regions against scikit-learn."""

import numpy as np
import pytest

from leadline import learning as lm


def test_overlaps_of_images_agree_with_scikit_learn_class_by_class():
    from sklearn import metrics as reference

    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, (5, 8, 8))
    predicted = np.where(rng.random(labels.shape) < 0.7, labels, rng.integers(0, 3, labels.shape))
    flat = labels.ravel(), predicted.ravel()
    np.testing.assert_allclose(
        lm.intersection_over_union(labels, predicted), reference.jaccard_score(*flat, average=None), rtol=1e-12
    )
    np.testing.assert_allclose(lm.dice(labels, predicted), reference.f1_score(*flat, average=None), rtol=1e-12)
    absent = lm.intersection_over_union(labels, predicted, 4), lm.dice(labels, predicted, 4)
    assert all(np.isnan(a[3]) and np.isfinite(a[:3]).all() for a in absent)


def test_arrays_of_two_shapes_and_labels_beyond_the_classes_are_refused():
    with pytest.raises(ValueError, match=r"\(2, 2\) and \(2, 3\)"):
        lm.dice(np.zeros((2, 2), int), np.zeros((2, 3), int))
    with pytest.raises(ValueError, match="outside"):
        lm.intersection_over_union(np.array([5]), np.array([0]), 2)
