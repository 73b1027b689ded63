import numpy as np
import pytest

from leadline.kernels import features

RNG = np.random.default_rng(0)


def test_alignment_is_the_cosine_of_two_matrices():
    a, y = RNG.standard_normal((9, 4)), RNG.standard_normal(9)
    gram, target = a @ a.T, np.outer(y, y)
    cosine = (gram * target).sum() / np.linalg.norm(gram) / np.linalg.norm(target)
    assert features.alignment(gram, y) == pytest.approx(cosine, abs=1e-14)
    h = np.eye(9) - 1 / 9
    gram, target = h @ gram @ h, h @ target @ h
    cosine = (gram * target).sum() / np.linalg.norm(gram) / np.linalg.norm(target)
    assert features.alignment(a @ a.T, y, centred=True) == pytest.approx(cosine, abs=1e-14)


def test_one_hot_labels_are_one_target():
    labels = np.eye(3)[[0, 1, 2, 0, 1, 2]]
    assert features.alignment(labels @ labels.T, labels) == pytest.approx(1.0)
    assert features.alignment(labels @ labels.T + 5, labels, centred=True) == pytest.approx(1.0)


def test_constant_labels_have_no_centred_alignment():
    with pytest.raises(ValueError, match="give ones that vary"):
        features.alignment(np.eye(3), np.ones(3), centred=True)
