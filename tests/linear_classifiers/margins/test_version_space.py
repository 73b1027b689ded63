import jax
import numpy as np
import pytest
from scipy.special import comb

from leadline.linear_classifiers import margins


def _labelings(n):
    return np.where((np.arange(2**n)[:, None] >> np.arange(n)) & 1, 1.0, -1.0)


@pytest.mark.parametrize("seed", range(4))
def test_arcs_agree_with_counting_fine_directions(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(8, 2))
    y = np.where(x @ rng.normal(size=2) > 0, 1.0, -1.0)
    angles = (np.arange(400_000) + 0.5) * 2 * np.pi / 400_000
    inside = (y[:, None] * (x @ np.stack([np.cos(angles), np.sin(angles)])) > 0).cumprod(axis=0).astype(bool)
    found = margins.version_arcs(x, y)
    np.testing.assert_allclose(found.share, inside.mean(axis=1), atol=1e-5)
    middle = (found.low[-1] + found.high[-1]) / 2
    assert (y * (x @ [np.cos(middle), np.sin(middle)]) > 0).all()


def test_opposite_points_and_zero_points_leave_nothing():
    x = np.array([[0.3, 0.7], [-0.3, -0.7]])
    assert margins.version_arcs(x, np.ones(2)).share.tolist() == [0.5, 0.0]
    assert margins.version_arcs(np.array([[1.0, 0.0], [0.0, 0.0]]), np.ones(2)).share.tolist() == [0.5, 0.0]


def test_one_input_and_a_bias_are_two_parameters():
    x = np.array([[1.0], [-1.0]])  # (w, b) with w + b > 0 and -w + b < 0: a quarter
    np.testing.assert_allclose(margins.version_arcs(x, np.array([1, -1]), bias=True).share, [0.5, 0.25])


def test_cells_of_all_labelings_partition_the_circle_into_cover_many():
    x = np.random.default_rng(5).normal(size=(9, 2))
    shares = np.array([margins.version_arcs(x, y).share[-1] for y in _labelings(9)])
    assert (shares > 0).sum() == 2 * 9
    np.testing.assert_allclose(shares.sum(), 1.0, rtol=1e-12)


def test_sampled_shares_cover_the_areas_of_spherical_triangles():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(3, 3))
    found = margins.version_share(x, np.ones(3), samples=40_000, confidence=0.9999, key=jax.random.key(1))
    # Girard: the trihedral cone of three half-spaces has solid angle sum of dihedral angles - pi.
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    dihedral = [np.pi - np.arccos(unit[i] @ unit[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    exact = np.array([0.5, dihedral[0] / (2 * np.pi), (sum(dihedral) - np.pi) / (4 * np.pi)])
    assert (found.low <= exact).all()
    assert (exact <= found.high).all()
    assert (found.hits / 40_000 == found.share).all()


def test_the_interval_is_wilsons():
    found = margins.version_share(np.eye(3), np.ones(3), samples=1000, confidence=0.95, key=jax.random.key(0))
    p, n, z = found.share, 1000, 1.959963984540054
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    np.testing.assert_allclose(found.low, (p + z**2 / (2 * n)) / (1 + z**2 / n) - half, rtol=1e-9)
    np.testing.assert_allclose(found.high, (p + z**2 / (2 * n)) / (1 + z**2 / n) + half, rtol=1e-9)


def test_two_parameters_are_exact_and_need_no_key():
    found = margins.version_share(np.eye(2), np.ones(2))
    assert found.hits is None
    assert found.share.tolist() == found.low.tolist() == [0.5, 0.25]


def test_sampled_cells_in_three_dimensions_are_cover_many_in_number():
    x = np.random.default_rng(7).normal(size=(5, 3))
    shares = [margins.version_share(x, y, samples=20_000, key=jax.random.key(2)).share[-1] for y in _labelings(5)]
    assert (np.array(shares) > 0).sum() == 2 * sum(comb(4, k, exact=True) for k in range(3))
    np.testing.assert_allclose(sum(shares), 1.0, atol=1e-12)  # the same directions fall into one cell each


def test_wrong_uses_say_what_to_do():
    with pytest.raises(ValueError, match="use version_share"):
        margins.version_arcs(np.eye(3), np.ones(3))
    with pytest.raises(ValueError, match="pass key"):
        margins.version_share(np.eye(3), np.ones(3))
