import math

import numpy as np
import pytest

from leadline import optimisation as o
from leadline.optimisation.bounds.rate_bounds import (
    gd_convex_steps,
    gd_squared_contraction,
    gd_stationarity_bound,
    gd_stationarity_steps,
    newton_local_bound,
)


def test_bounds_of_the_flagship_are_the_published_counts():
    gap = math.log(10) - 1.668155
    assert o.gd_pl_steps(11.4435 / 2 + 0.1, 0.1, gap, 1e-8) == 1037
    assert abs(o.gd_pl_steps(11.4435 / 2 + 0.01, 0.01, math.log(10) - 0.741057, 1e-8) - 10804) <= 1


@pytest.mark.parametrize(
    ("steps", "bound"),
    [
        (lambda e: o.gd_steps(10.0, 0.5, 3.0, e), lambda t: o.gd_strongly_convex_bound(10.0, 0.5, 3.0, t)),
        (
            lambda e: o.gd_steps(10.0, 0.5, 3.0, e, step_size=0.1),
            lambda t: o.gd_strongly_convex_bound(10.0, 0.5, 3.0, t, step_size=0.1),
        ),
        (lambda e: gd_convex_steps(10.0, 3.0, e), lambda t: o.gd_convex_bound(10.0, 3.0, t)),
        (
            lambda e: gd_convex_steps(10.0, 3.0, e, step_size=0.05),
            lambda t: o.gd_convex_bound(10.0, 3.0, t, step_size=0.05),
        ),
        (lambda e: o.nesterov_steps(10.0, 0.5, 3.0, e), lambda t: o.nesterov_strongly_convex_bound(10.0, 0.5, 3.0, t)),
        (lambda e: o.nesterov_steps(10.0, 0.0, 3.0, e), lambda t: o.nesterov_convex_bound(10.0, 3.0, t)),
        (lambda e: o.gd_pl_steps(10.0, 0.5, 7.0, e), lambda t: o.gd_pl_bound(10.0, 0.5, 7.0, t)),
        (lambda e: gd_stationarity_steps(10.0, 7.0, e), lambda t: math.sqrt(gd_stationarity_bound(10.0, 7.0, t))),
    ],
)
def test_steps_invert_bounds(steps, bound):
    for goal in (1.0, 0.037, 1e-3):
        t = steps(goal)
        assert bound(t) <= goal * (1 + 1e-9)
        assert t <= 1 or bound(t - 1) > goal * (1 - 1e-9)


def test_bounds_hold_on_a_quadratic_run_and_take_arrays():
    values, w = np.array([0.5, 3.0, 10.0]), np.array([1.0, -2.0, 1.5])
    t, distance = np.arange(200), float(np.linalg.norm(w))
    step = 2 / 10.5
    gap = np.sum(values * ((1 - step * values) ** t[:, None] * w) ** 2, 1) / 2
    assert np.all(gap <= o.gd_strongly_convex_bound(10.0, 0.5, distance, t) * (1 + 1e-9))
    gap = np.sum(values * ((1 - 0.1 * values) ** t[:, None] * w) ** 2, 1) / 2
    assert np.all(gap <= o.gd_convex_bound(10.0, distance, t) * (1 + 1e-9))
    assert np.all(gap <= o.gd_pl_bound(10.0, 0.5, float(gap[0]), t) * (1 + 1e-9))


def test_newton_bound_says_nothing_outside_its_region():
    assert newton_local_bound(2.0, 1.0, 1.5, 3) == math.inf
    assert np.all(np.isinf(newton_local_bound(2.0, 1.0, 1.5, np.arange(3))))


@pytest.mark.parametrize(
    "call",
    [
        lambda: o.gd_convex_bound(10.0, 1.0, 5, step_size=0.11),
        lambda: gd_squared_contraction(10.0, 0.5, 0.2),
        lambda: gd_stationarity_bound(10.0, 1.0, 5, step_size=0.2),
        lambda: gd_stationarity_bound(10.0, 1.0, 0),
        lambda: o.gd_pl_bound(10.0, 11.0, 1.0, 3),
        lambda: o.gd_steps(10.0, 0.5, 1.0, 0.0),
        lambda: newton_local_bound(1.0, 0.0, 1.0, 1),
    ],
)
def test_a_theorem_is_not_applied_outside_its_range(call):
    with pytest.raises(ValueError):
        call()
