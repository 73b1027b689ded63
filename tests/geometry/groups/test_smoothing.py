import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.geometry import dihedral_group, random_rotation, rotation_representation, sampled_smooth, smooth

PERMUTATIONS = np.eye(4)[np.array(list(itertools.permutations(range(4))))]
X = np.array([0.3, -1.0, 2.0, 0.7])
WEIGHTS = np.array([1.0, 2.0, -1.0, 0.5])


def uneven(x):
    return jnp.tanh(jnp.asarray(WEIGHTS, x.dtype) @ x)


def test_the_average_is_that_of_a_loop_over_all_permutations():
    found = smooth(uneven, PERMUTATIONS)(jnp.asarray(X))
    expected = np.mean([np.tanh(WEIGHTS @ np.array(p)) for p in itertools.permutations(X)])
    assert float(found) == pytest.approx(expected, rel=1e-5)


def test_equivariant_averages_turn_with_the_input_and_are_left_alone_by_a_second():
    group = rotation_representation(dihedral_group(3), 3)

    def field(x):
        return jnp.array([x[0] ** 2, x[0] * x[1] + 1])

    once = smooth(field, group, group)
    twice = smooth(once, group, group)
    x = jnp.array([0.4, -1.2])
    for m in group.matrices:
        assert np.allclose(once(jnp.asarray(m, jnp.float32) @ x), m @ once(x), atol=1e-5)
    assert np.allclose(twice(x), once(x), atol=1e-5)


def test_odd_functions_vanish_under_the_change_of_sign():
    assert float(smooth(lambda x: x[0] ** 3, np.array([[[1.0]], [[-1.0]]]))(jnp.array([2.0]))) == 0


def test_random_rotations_average_a_direction_away_and_keep_its_length():
    keys = jax.random.split(jax.random.key(0), 4000)
    mean = sampled_smooth(lambda x: x, lambda key, x: random_rotation(key, 3) @ x, keys)(jnp.array([1.0, 2.0, 2.0]))
    assert np.abs(mean).max() < 4 * 3 / np.sqrt(3 * 4000)  # four standard deviations: each entry has variance 9/3


def test_shapes_that_do_not_fit_are_said():
    with pytest.raises(ValueError, match="act on vectors"):
        smooth(uneven, PERMUTATIONS)(jnp.ones(3))
    with pytest.raises(ValueError, match="square matrices"):
        smooth(uneven, np.ones((2, 3)))
