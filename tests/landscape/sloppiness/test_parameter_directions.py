"""Directions by name, and steps along them."""

import numpy as np
import pytest

from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.parameter_directions import direction_responses, name_shares


def test_shares_of_one_name_add_up_and_sum_to_one():
    shares = name_shares(np.array([1.0, 2.0, 2.0]), ("a", "b", "a"))
    assert list(shares) == ["a", "b"]
    assert shares["a"] == pytest.approx(5 / 9)
    assert sum(shares.values()) == pytest.approx(1)


def test_probability_embedding_carries_the_fisher_metric():
    rng = np.random.default_rng(0)
    z, dz = rng.normal(size=(2, 1, 4))
    step = 1e-5 * dz
    moved = sloppiness.probability_embedding(z + step) - sloppiness.probability_embedding(z - step)
    share = np.exp(z[0]) / np.exp(z[0]).sum()
    expected = dz[0] @ (np.diag(share) - np.outer(share, share)) @ dz[0]
    assert np.sum(moved**2) / 4e-10 == pytest.approx(expected, rel=1e-6)


def test_responses_of_a_linear_model_are_exact_at_any_norm():
    rng = np.random.default_rng(1)
    design = rng.normal(size=(8, 3))
    spectrum = sloppiness.fisher_spectrum(sloppiness.gaussian_root_jacobian(design, 2.0), ("a", "b", "c"))
    found = direction_responses(lambda w: design @ w / 2.0, np.ones(3), spectrum, 5.0, samples=8)
    np.testing.assert_allclose(found.measured, found.predicted, rtol=1e-12)
    sloppiest = sloppiness.describe_directions(spectrum, 1, stiff=False)[0]
    assert sloppiest.startswith("λ3 = ")


def test_bad_input_is_told_in_a_sentence():
    with pytest.raises(ValueError, match="no direction"):
        name_shares(np.zeros(2), ("a", "b"))
    with pytest.raises(ValueError, match="give 1 to 2"):
        sloppiness.describe_directions(sloppiness.fisher_spectrum(np.eye(2)), 3)
    with pytest.raises(ValueError, match="positive"):
        direction_responses(lambda w: w, np.ones(2), sloppiness.fisher_spectrum(np.eye(2)), 0.0, samples=1)
