"""General position against determinants and constructed degeneracies."""

from itertools import combinations

import jax
import numpy as np
import pytest

from leadline.linear_classifiers import dichotomies


def test_gaussian_points_pass():
    found = dichotomies.general_position(np.random.default_rng(0).normal(size=(20, 4)))
    assert found.holds
    assert found.exhaustive
    assert found.examined == 4845
    assert found.notice == ""


def test_the_smallest_singular_value_is_that_of_a_loop_over_subsets():
    x = np.random.default_rng(1).normal(size=(9, 3))
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    by_loop = {s: np.sqrt(np.linalg.eigvalsh(unit[list(s)] @ unit[list(s)].T)[0]) for s in combinations(range(9), 3)}
    found = dichotomies.general_position(x)
    assert found.subset == min(by_loop, key=by_loop.get)
    assert found.smallest == pytest.approx(min(by_loop.values()), rel=1e-6)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_three_points_on_a_line_through_the_origin_fail_and_are_named(d):
    x = np.random.default_rng(d).normal(size=(9, d))
    x[5], x[8] = -2 * x[2], 0.1 * x[2]
    found = dichotomies.general_position(x)
    assert not found.holds
    assert found.smallest < 1e-12
    assert set(found.subset) <= {2, 5, 8}
    assert len(found.subset) == 3 or d == 2


def test_integer_points_agree_with_exact_determinants():
    for seed in range(12):
        x = np.random.default_rng(seed).integers(-4, 5, size=(6, 3))
        expected = all(round(np.linalg.det(x[list(s)])) != 0 for s in combinations(range(6), 3))
        assert dichotomies.general_position(x).holds is expected


def test_fewer_points_than_dimensions_must_be_independent():
    x = np.random.default_rng(3).normal(size=(3, 7))
    assert dichotomies.general_position(x).holds
    x[2] = x[0] - x[1]
    found = dichotomies.general_position(x)
    assert not found.holds
    assert found.subset == (0, 1, 2)


def test_with_bias_three_points_on_any_line_of_the_plane_fail():
    x = np.array([[1.0, 1.0], [2.0, 2.5], [3.0, 4.0], [0.0, 5.0]])
    assert dichotomies.general_position(x[:, :]).holds
    found = dichotomies.general_position(x, bias=True)
    assert not found.holds
    assert found.subset == (0, 1, 2)


def test_a_sample_refutes_and_says_what_it_cannot_do():
    x = np.random.default_rng(4).normal(size=(60, 8))
    found = dichotomies.general_position(x, key=jax.random.key(0), samples=500)
    assert found.holds
    assert not found.exhaustive
    assert found.examined == 500
    assert "refute" in found.notice
    x[:, 0] = x[:, 1]
    found = dichotomies.general_position(x, key=jax.random.key(0), samples=500)
    assert not found.holds
    assert found.notice == ""


def test_sampling_without_a_key_is_refused():
    with pytest.raises(ValueError, match="pass key="):
        dichotomies.general_position(np.ones((60, 8)))
