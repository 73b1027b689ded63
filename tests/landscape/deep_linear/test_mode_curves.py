import numpy as np
import pytest
from scipy.integrate import solve_ivp

from leadline.landscape.deep_linear.mode_curves import deep_mode_strength, mode_half_time, mode_strength

TIMES = np.linspace(0, 4, 9)


def test_the_sigmoid_solves_its_equation():
    found = solve_ivp(lambda _, a: 2 * a * (3 - a), (0, 4), [0.01], t_eval=TIMES, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mode_strength(TIMES, 3.0, 0.01), found.y[0], rtol=1e-8)


def test_half_times_are_the_published_ones_and_halve_the_strength():
    for s, time in ((4.0, 1.037), (3.0, 1.334), (2.0, 1.900), (1.0, 3.453)):
        found = mode_half_time(s, 1e-3)
        assert found == pytest.approx(time, abs=5e-4)
        assert mode_strength(np.array([found]), s, 1e-3)[0] == pytest.approx(s / 2)


def test_one_layer_is_an_exponential_and_three_are_layers_multiplied():
    np.testing.assert_allclose(deep_mode_strength(TIMES, 2.0, 0.1, depth=1), 2 - 1.9 * np.exp(-TIMES), rtol=1e-8)
    layer = solve_ivp(lambda _, w: w**2 * (2 - w**3), (0, 4), [0.3], t_eval=TIMES, rtol=1e-10, atol=1e-12).y[0]
    np.testing.assert_allclose(deep_mode_strength(TIMES, 2.0, 0.3**3, depth=3), layer**3, rtol=1e-7)
    assert deep_mode_strength(np.zeros(1), 2.0, 0.1, depth=3).tolist() == [0.1]


def test_large_times_do_not_overflow():
    assert mode_strength(np.array([1e6]), 5.0, 1e-9).tolist() == [5.0]


def test_bad_input_is_told():
    with pytest.raises(ValueError, match="positive target"):
        mode_strength(TIMES, -1.0, 0.1)
    with pytest.raises(ValueError, match="beyond half"):
        mode_half_time(1.0, 0.6)
    with pytest.raises(ValueError, match="increasing order"):
        deep_mode_strength(TIMES[::-1], 1.0, 0.1, depth=2)
