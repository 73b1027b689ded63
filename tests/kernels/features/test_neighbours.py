import numpy as np
import pytest

from leadline.kernels.features.neighbours import (
    asymptotic_neighbour_distance,
    mean_neighbour_distance,
    torus_neighbour_distances,
)

RNG = np.random.default_rng(0)


def test_distances_against_all_pairs():
    points = RNG.random((40, 3))
    step = np.abs(points[:, None] - points[None])
    pairs = np.linalg.norm(np.minimum(step, 1 - step), axis=-1) + 9 * np.eye(40)
    np.testing.assert_allclose(torus_neighbour_distances(points), pairs.min(1), rtol=1e-12)
    np.testing.assert_allclose(torus_neighbour_distances(points, 5), pairs.min(1)[:5], rtol=1e-12)


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (1, 0.25),  # |U| for U uniform on [-1/2, 1/2]
        (2, (2**0.5 + np.log(1 + 2**0.5)) / 6),  # mean distance to the centre of the unit square
        (3, 0.4802959782),  # and of the unit cube (half the cube's corner constant 0.9605919564)
    ],
)
def test_exact_mean_of_two_points(dim, expected):
    assert mean_neighbour_distance(2, dim) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("dim", [2, 6])
def test_exact_mean_against_simulation_where_balls_leave_the_cube(dim):
    distances = [torus_neighbour_distances(RNG.random((4, dim)), 1)[0] for _ in range(3000)]
    error = np.std(distances) / 3000**0.5
    assert abs(np.mean(distances) - mean_neighbour_distance(4, dim)) < 4 * error


@pytest.mark.parametrize("dim", [1, 3, 12])
def test_asymptotic_formula_is_the_limit(dim):
    ratio = asymptotic_neighbour_distance(100_000, dim) / mean_neighbour_distance(100_000, dim)
    assert ratio == pytest.approx(1.0, abs=1e-4)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"\[0, 1\)"):
        torus_neighbour_distances(np.array([[0.5], [1.0]]))
    with pytest.raises(ValueError, match="2 or more"):
        mean_neighbour_distance(1, 2)
