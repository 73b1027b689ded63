"""The bound on Adam's step against its averages written as sums."""

import numpy as np
import pytest

from leadline import optimisation
from leadline.optimisation.bounds.step_bounds import spike_step, worst_gradients


def _ratio(gradients: np.ndarray, b1: float, b2: float) -> float:
    ages = np.arange(len(gradients))[::-1]
    mean = (1 - b1) * np.sum(b1**ages * gradients) / (1 - b1 ** len(gradients))
    square = (1 - b2) * np.sum(b2**ages * gradients**2) / (1 - b2 ** len(gradients))
    return abs(mean) / np.sqrt(square)


@pytest.mark.parametrize(("b1", "b2"), [(0.9, 0.999), (0.5, 0.6), (0.9, 0.7), (0.0, 0.5), (0.9, 0.81)])
def test_worst_gradients_attain_the_bound_and_others_stay_below(b1, b2):
    for steps in (1, 2, 40):
        bound = optimisation.adam_step_bound(b1, b2, steps)
        assert _ratio(worst_gradients(b1, b2, steps), b1, b2) == pytest.approx(bound, rel=1e-9)
        others = np.random.default_rng(1).standard_cauchy((200, steps))
        assert max(_ratio(g, b1, b2) for g in others) <= bound * (1 + 1e-12)


def test_the_limit_is_the_published_number():
    assert optimisation.adam_step_bound(0.9, 0.999) == pytest.approx(7.270, abs=1e-3)
    assert optimisation.adam_step_bound(0.9, 0.99, 4000) == pytest.approx(2.3452, abs=1e-4)
    assert optimisation.adam_step_bound(0.9, 0.81) == np.inf
    assert spike_step(0.9, 0.999) == pytest.approx(10**0.5)


def test_averages_that_do_not_average_are_refused():
    with pytest.raises(ValueError, match="0 ≤ β₁ < 1"):
        optimisation.adam_step_bound(1.0, 0.9)
