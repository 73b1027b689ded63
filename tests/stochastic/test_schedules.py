import numpy as np
import pytest

from leadline import stochastic
from leadline.stochastic.schedules import classify_schedule


@pytest.mark.parametrize(
    ("schedule", "robbins_monro", "converges"),
    [
        (stochastic.power_schedule(0.5, 0.3), False, True),
        (stochastic.power_schedule(0.5, 0.5), False, True),
        (stochastic.power_schedule(0.5, 0.6), True, True),
        (stochastic.power_schedule(7.0, 1.0), True, True),
        (stochastic.power_schedule(7.0, 1.5), False, False),
        (lambda t: 2 / (t + 10), True, True),
        (lambda t: 0.1 * (2 + np.sin(t)) * t**-0.7, True, True),
        (lambda t: 0.1 * 0.99**t, False, False),
        (lambda t: 0.1 + 0 * t, False, False),
        (lambda t: np.where(t < 1000, 0.1, 0.0), False, False),
        (lambda t: 1 / (t * np.log(t + 1)), None, None),  # infinite sum, but no finite look can tell
    ],
)
def test_schedules_are_told_apart(schedule, robbins_monro, converges):
    found = classify_schedule(schedule)
    assert (found.robbins_monro, found.converges) == (robbins_monro, converges)


def test_a_negative_schedule_is_refused():
    with pytest.raises(ValueError, match="negative"):
        classify_schedule(lambda t: -1 / t)
