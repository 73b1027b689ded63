"""Ratios, slopes and answers as numbers, and their way into JSON and back."""

import json
import math
from dataclasses import asdict

import numpy as np
import pytest

from benchmarks.harness.outcome import (
    GrowthOutcome,
    Outcome,
    SideOutcome,
    disagreement,
    outcome_from,
    ratio_interval,
    slope_interval,
)


def test_equal_times_have_an_interval_of_no_width_and_noisy_ones_one_that_holds_the_truth():
    assert ratio_interval([2.0] * 5, [1.0] * 5) == (2.0, 2.0)
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(60):
        above, below = (rng.lognormal(math.log(m), 0.1, 15).tolist() for m in (3.0, 1.0))
        low, high = ratio_interval(above, below)
        held += low <= 3.0 <= high
    assert held >= 50  # of 60 at 95%; fewer than 50 would happen once in a million


def test_two_repetitions_give_no_interval():
    assert ratio_interval([1.0, 1.0], [1.0, 1.0, 1.0]) is None


def test_an_exact_power_law_has_its_slope():
    slope, (low, high) = slope_interval((1, 2, 4), [[3.0] * 3, [12.0] * 3, [48.0] * 3])
    assert (slope, low, high) == pytest.approx((2.0, 2.0, 2.0))


@pytest.mark.parametrize(
    ("answer", "right", "gap"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([0.0, 2.0], [0.1, 2.0], 0.05),
        ([0.5], [0.0], 0.5),
        ([1.0], [1.0, 1.0], math.inf),
        ([math.nan], [1.0], math.inf),
    ],
)
def test_answers_are_compared_whole(answer, right, gap):
    assert disagreement(np.array(answer), np.array(right)) == pytest.approx(gap)


def test_outcomes_go_through_json():
    race = Outcome(
        "a", [SideOutcome("Leadline", [1.0], 5.0, 0.0)], 2, 3.0, "b", 2.0, (1.5, 2.5), 1e9, 2e9, "float64", 0.5
    )
    growth = GrowthOutcome("g", "n", [1, 2], [[1.0], [2.0]], 1.0, 1.0, (0.9, 1.1), 0.1)
    for outcome in (race, growth):
        record = json.loads(json.dumps(asdict(outcome)))
        assert outcome_from(record) == outcome
        assert outcome_from({**record, "reason": "of an older file"}) == outcome
