"""Virtual examples: copies and their labels, what they are worth, and the probe for changed labels."""

import jax
import numpy as np
import pytest

from leadline import convolution, data, regularisation

SHIFTS = convolution.zero_shifts([(0, 0), (0, 1), (1, 0), (0, -1)])


def test_every_copy_is_a_transformation_of_its_origin():
    images = np.random.default_rng(0).normal(size=(6, 5, 5))
    labels = np.arange(6)
    found = regularisation.virtual_examples(images, labels, SHIFTS, copies=2, key=jax.random.key(1))
    np.testing.assert_array_equal(found.labels, labels[found.origin])
    for image, origin in zip(found.images, found.origin, strict=True):
        assert sum(np.array_equal(t(images[origin : origin + 1])[0], image) for t in SHIFTS) == 1
    pairs = found.images.reshape(6, 2, -1)
    assert not np.isclose(pairs[:, 0], pairs[:, 1]).all(axis=1).any()  # without replacement
    whole = regularisation.virtual_examples(images, labels, SHIFTS)
    np.testing.assert_array_equal(whole.images.reshape(6, 4, 5, 5)[:, 1], SHIFTS[1](images))


def test_the_size_is_that_of_the_variance_of_the_mean():
    rng = np.random.default_rng(0)
    rho, n, k = 0.6, 2000, 4
    losses = np.sqrt(rho) * rng.normal(size=(n, 1)) + np.sqrt(1 - rho) * rng.normal(size=(n, k))
    found = regularisation.virtual_sample_size(losses)
    assert found.correlation == pytest.approx(rho, abs=0.05)
    covariance = rho * np.ones((k, k)) + (1 - rho) * np.eye(k)
    assert found.size == pytest.approx(n / (covariance.sum() / k**2), rel=0.05)
    same = np.repeat(rng.normal(size=(5, 1)), 3, axis=1)
    assert regularisation.virtual_sample_size(same).size == pytest.approx(5)


def test_the_probe_names_a_six_that_becomes_a_nine_and_lets_shifts_pass():
    x, y = data.digits()
    images = x.reshape(-1, 8, 8)
    turned = convolution.quarter_turns()[2]
    found = regularisation.label_changes(images[:900], y[:900], images[900:], y[900:], (*SHIFTS, turned))
    assert {(c.transformation, c.label, c.becomes) for c in found} >= {("turn 180°", 6, 9)}
    assert not [c for c in found if c.transformation.startswith("zero shift")]
    assert all(0.02 < c.low < c.share for c in found)


def test_wrong_input_is_named():
    images, labels = np.ones((2, 3, 3)), np.zeros(2, int)
    with pytest.raises(ValueError, match="copies = 9 of 4"):
        regularisation.virtual_examples(images, labels, SHIFTS, copies=9)
    with pytest.raises(ValueError, match="pass key"):
        regularisation.virtual_examples(images, labels, SHIFTS, copies=2)
    with pytest.raises(ValueError, match="at least 2 of each"):
        regularisation.virtual_sample_size(np.ones((5, 1)))
    with pytest.raises(ValueError, match="same number of rows"):
        regularisation.label_changes(images, labels[:1], images, labels, SHIFTS)
