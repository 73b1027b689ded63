"""Windows recovered from states."""

import numpy as np
import pytest

from leadline.sequences import linear_recurrence, recover_window, window_matrix


def test_the_matrix_maps_inputs_to_the_last_state():
    rng = np.random.default_rng(0)
    values, weights, x = rng.uniform(-1, 1, 4) + 0.3j, rng.normal(size=4), rng.normal(size=6)
    state = linear_recurrence(values, x[:, None] * weights)[-1]
    np.testing.assert_allclose(window_matrix(values, 6, weights) @ x, state, atol=1e-12)


def test_roots_of_unity_give_the_window_back_with_condition_one():
    turns, x = np.exp(2j * np.pi * np.arange(9) / 9), np.random.default_rng(1).normal(size=9)
    found = recover_window(turns, window_matrix(turns, 9) @ x, 9)
    np.testing.assert_allclose(found.inputs, x, atol=1e-13)
    assert found.condition == pytest.approx(1.0)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="one number for each"):
        recover_window(np.ones(3), np.ones(2), 2)
    with pytest.raises(ValueError, match="1 or more"):
        window_matrix(np.ones(3), 0)
