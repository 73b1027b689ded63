"""Verdicts on matrices whose answer is known."""

import numpy as np
import pytest

from leadline.sequences import power_norms, recurrence_stability


def test_one_input_reaches_one_direction_of_a_double_eigenvalue():
    report = recurrence_stability(np.eye(2), np.ones((2, 1)))
    assert report.free_response_bounded
    assert not report.input_response_bounded
    assert report.reached.all()


def test_a_growing_mode_that_no_input_reaches_does_not_count_for_inputs():
    report = recurrence_stability(np.diag([1.5, 0.5]), np.array([[0.0], [1.0]]))
    assert report.input_response_bounded
    assert not report.free_response_bounded
    assert report.reached.tolist() == [False, True]
    assert report.spectral_radius == pytest.approx(1.5)


def test_no_input_reaches_nothing():
    assert recurrence_stability(np.eye(2), np.zeros((2, 1))).input_response_bounded


def test_horizons_are_those_of_the_moduli():
    report = recurrence_stability(np.diag([np.exp(-0.1), 0.0, 2.0]))
    np.testing.assert_allclose(report.horizons, [10.0, 0.0, np.inf])


def test_powers_of_a_rotation_keep_their_norm():
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    np.testing.assert_allclose(power_norms(turn, 10), 1.0)
    assert recurrence_stability(turn).free_response_bounded


def test_bad_matrices_are_named():
    with pytest.raises(ValueError, match="square"):
        recurrence_stability(np.full((2, 2), np.nan))
    with pytest.raises(ValueError, match="2 rows"):
        recurrence_stability(np.eye(2), np.ones((3, 1)))
