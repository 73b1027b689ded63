import jax
import numpy as np
import pytest

from leadline.kernels import features
from leadline.kernels.features.boxes import random_boxes
from leadline.kernels.features.similarity import similarity_auc

RNG = np.random.default_rng(0)


def test_a_gabor_filter_is_the_formula_with_its_mean_removed():
    turned = features.gabor_filter(7, 4.0, 0.4, width=1.5, aspect=0.8, phase=0.3)
    expected = np.empty((7, 7))
    for i in range(7):
        for j in range(7):
            u, v = j - 3, i - 3
            a, b = u * np.cos(0.4) + v * np.sin(0.4), -u * np.sin(0.4) + v * np.cos(0.4)
            expected[i, j] = np.exp(-(a * a + 0.64 * b * b) / 4.5) * np.cos(2 * np.pi * a / 4 + 0.3)
    expected -= expected.mean()
    np.testing.assert_allclose(turned, expected / np.linalg.norm(expected), atol=1e-13)


def test_responses_are_correlations_with_zeros_around():
    from scipy.ndimage import correlate

    images, bank = RNG.standard_normal((2, 9, 8)), features.gabor_bank(5, (3.0, 5.0), 3)
    responses = features.filter_responses(images, bank.filters)
    for i, image in enumerate(images):
        for k, kernel in enumerate(bank.filters):
            np.testing.assert_allclose(responses[i, k], correlate(image, kernel, mode="constant"), atol=1e-12)


def test_gabor_features_are_block_means_or_first_pixels():
    images, bank = RNG.standard_normal((2, 8, 8)), features.gabor_bank(4, (4.0,), 2)
    modulus = np.abs(features.filter_responses(images, bank.filters))
    averaged = features.gabor_features(images, bank, stride=4).reshape(2, 2, 2, 2)
    np.testing.assert_allclose(averaged[1, 0, 1, 0], modulus[1, 0, 4:, :4].mean(), rtol=1e-12)
    first = features.gabor_features(images, bank, stride=4, averaged=False).reshape(2, 2, 2, 2)
    np.testing.assert_array_equal(first, modulus[:, :, ::4, ::4])
    with pytest.raises(ValueError, match="must divide both"):
        features.gabor_features(images, bank, stride=3)
    with pytest.raises(ValueError, match="positive numbers"):
        features.gabor_filter(5, -1.0)


def test_box_sums_equal_direct_sums_over_all_boxes():
    images, boxes = RNG.integers(0, 5, (3, 6, 6)), features.all_boxes(6)
    direct = np.array([[image[a:b, c:d].sum() for a, b, c, d in boxes] for image in images])
    np.testing.assert_array_equal(features.box_sums(features.integral_image(images), boxes), direct)
    assert len(np.unique(boxes, axis=0)) == features.box_count(6) == 441


def test_box_features_count_the_share_of_marked_pixels():
    marked, boxes = RNG.random((4, 6, 6)) < 0.5, features.all_boxes(6)
    shares = np.array([[image[a:b, c:d].mean() for a, b, c, d in boxes] for image in marked])
    np.testing.assert_array_equal(features.box_features(marked, boxes, threshold=0.4), shares > 0.4)


def test_random_boxes_are_uniform_over_all():
    from scipy.stats import chisquare

    drawn = random_boxes(3, 20_000, key=jax.random.key(0))
    boxes, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(boxes) == features.box_count(3)
    assert chisquare(counts).pvalue > 1e-3


def test_boxes_out_of_the_image_are_refused():
    integral = features.integral_image(np.ones((1, 4, 4)))
    with pytest.raises(ValueError, match="empty or out"):
        features.box_sums(integral, np.array([[2, 2, 0, 1]]))
    with pytest.raises(ValueError, match="beyond the image"):
        features.box_sums(integral, np.array([[0, 5, 0, 1]]))
    with pytest.raises(ValueError, match="random_boxes"):
        features.all_boxes(100)


def test_similarity_auc_against_all_pairs_of_pairs():
    rows, labels = RNG.standard_normal((12, 3)), np.repeat([0, 1, 2], 4)
    unit = rows - rows.mean(0)
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    same, other = [], []
    for i in range(12):
        for j in range(i):
            (same if labels[i] == labels[j] else other).append(unit[i] @ unit[j])
    wins = np.mean([[a > b for b in other] for a in same])
    assert similarity_auc(rows, labels) == pytest.approx(wins, abs=1e-12)
    assert features.centred_cosine(np.ones((3, 2))).max() == 0
    with pytest.raises(ValueError, match="one for each row"):
        similarity_auc(rows, labels[:5])
