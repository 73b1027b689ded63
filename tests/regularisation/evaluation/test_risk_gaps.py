"""Risk, gap and their errors against direct means; the exact interval where losses are 0 or 1."""

import numpy as np
import pytest
from scipy.stats import binomtest

from leadline.regularisation import risk_gap
from leadline.regularisation.evaluation.risk_gaps import loss_estimate

RNG = np.random.default_rng(0)


def test_the_gap_is_the_difference_of_two_mean_losses():
    x, y, u, v = RNG.normal(size=(30, 1)), RNG.normal(size=30), RNG.normal(size=(50, 1)), RNG.normal(size=50)
    found = risk_gap(lambda rows: 2 * rows[:, 0], (x, y), (u, v))
    losses = (2 * x[:, 0] - y) ** 2, (2 * u[:, 0] - v) ** 2
    assert found.gap == pytest.approx(losses[1].mean() - losses[0].mean())
    errors = [part.std(ddof=1) / np.sqrt(part.size) for part in losses]
    assert found.gap_error == pytest.approx(np.hypot(*errors))


def test_zero_one_losses_get_the_exact_interval():
    x, y = np.zeros((40, 1)), (RNG.random(40) < 0.3) * 1
    found = risk_gap(lambda rows: np.zeros(len(rows), int), (x, y), (x, y), loss="zero-one", confidence=0.9)
    exact = binomtest(int(y.sum()), 40).proportion_ci(0.9)
    assert (found.test.low, found.test.high) == pytest.approx((exact.low, exact.high))
    assert loss_estimate(np.array([0.0, 1.0, 0.5])).high == pytest.approx(0.5 + 4.3027 * 0.5 / np.sqrt(3), abs=1e-3)


def test_rows_must_belong_together():
    with pytest.raises(ValueError, match="same number of rows"):
        risk_gap(lambda rows: rows[:, 0], (np.ones((3, 1)), np.ones(2)), (np.ones((3, 1)), np.ones(3)))
