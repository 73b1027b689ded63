import numpy as np
import pytest

from leadline.optimisation import DoubleWell
from leadline.optimisation.runs.basins_of_attraction import ends_of_descent, nearest_limits


def test_descent_and_flow_part_at_the_barrier_of_a_double_well():
    starts = np.linspace(-1.5, 1.5, 31)[:, None]
    well, minima = DoubleWell(0.1), np.array([[-1.04668], [0.945649]])
    for method in ("gradient descent", "flow"):
        ends = ends_of_descent(well, starts, 0.1, 300, method=method)
        assert np.array_equal(nearest_limits(ends, minima, 1e-3), (starts[:, 0] > 0.101031).astype(int))


def test_flow_steps_are_of_fourth_order():
    ends = ends_of_descent(lambda w: w @ w / 2, np.array([[1.0]]), 0.5, 2, method="flow")
    assert float(ends[0, 0]) == pytest.approx((1 - 0.5 + 0.125 - 0.125 / 6 + 0.0625 / 24) ** 2, rel=1e-5)


def test_bad_input_is_told():
    with pytest.raises(ValueError, match="flow"):
        ends_of_descent(DoubleWell(0.1), np.zeros((1, 1)), 0.1, 1, method="euler")
    with pytest.raises(ValueError, match="above 0"):
        ends_of_descent(DoubleWell(0.1), np.zeros((1, 1)), 0.0, 1)
