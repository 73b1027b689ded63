import jax.numpy as jnp
import numpy as np
import pytest

from leadline.convolution import TemplateDetector

RNG = np.random.default_rng(0)
TEMPLATE = jnp.asarray(RNG.normal(size=(3, 4)))


def test_both_responses_are_those_of_a_loop_over_places():
    images = RNG.normal(size=(2, 8, 7)) + 3
    w = np.asarray(TEMPLATE, float)
    for normalised in (False, True):
        found = TemplateDetector(TEMPLATE, 0.0, normalised).response(images)
        for n, image in enumerate(images):
            for i in range(6):
                for j in range(4):
                    window = image[i : i + 3, j : j + 4]
                    expected = (window * w).sum()
                    if normalised:
                        expected = np.corrcoef(window.ravel(), w.ravel())[0, 1]
                    assert found[n, i, j] == pytest.approx(expected, abs=1e-4)


def test_normalised_responses_do_not_see_brightness_or_contrast():
    detector = TemplateDetector(TEMPLATE, 0.5, True)
    images = RNG.normal(size=(5, 9, 9))
    np.testing.assert_allclose(detector.response(2 * images + 7), detector.response(images), atol=1e-3)
    assert not detector(np.full((1, 9, 9), 5.0)).any()  # a flat image has no correlation with anything
    placed = np.zeros((1, 9, 9))
    placed[0, 4:7, 3:7] = TEMPLATE
    assert detector.score(placed)[0] == pytest.approx(1.0, abs=1e-5)
    assert detector.peak(placed).tolist() == [[4, 3]]


def test_bad_templates_are_refused():
    with pytest.raises(ValueError, match="constant"):
        TemplateDetector(jnp.ones((3, 3)), 1.0, True)
    with pytest.raises(ValueError, match="does not fit"):
        TemplateDetector(jnp.eye(3), 1.0)(np.ones((1, 2, 2)))
