"""Contenders run in processes of their own; who has another answer, or fails, is not timed and is named."""

import numpy as np
import pytest

from benchmarks.harness import contest
from benchmarks.harness.case import Case, Growth, Side, Work
from benchmarks.harness.contest import grow, race

SAMPLES = "tests.benchmarks.sample_sides"


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(contest, "PAUSE", 0.0)


def side(make, name="", **settings):
    return Side(name or make, SAMPLES, make, settings=settings)


def case(*sides, **settings):
    return Case("sums", sides, lambda: {"x": np.arange(1.0, 5.0)}, **settings)


def test_a_slower_rival_gives_a_ratio_above_one_with_an_interval_around_it():
    outcome = race(case(side("sums", "Leadline", takes=1.0), side("sums", "slow", takes=5.0), asked=2.0), 5)
    assert outcome.best_rival == "slow"
    assert outcome.ratio == pytest.approx(5.0)
    assert outcome.interval == pytest.approx((5.0, 5.0))
    assert not outcome.behind
    assert [len(s.seconds) for s in outcome.sides] == [5, 5]


def test_of_short_runs_many_are_timed_in_a_row_and_their_mean_counts():
    outcome = race(case(side("sums", "Leadline"), side("slower_and_slower", takes=0.125)), 3)
    assert outcome.sides[1].seconds == [0.125 * 5, 0.125 * 8, 0.125 * 11]  # of 4, 5, 6, then 7, 8, 9, ...


def test_the_best_rival_counts():
    sides = side("sums", "Leadline", takes=3.0), side("sums", "slow", takes=9.0), side("sums", "fast", takes=1.5)
    outcome = race(case(*sides), 3)
    assert outcome.best_rival == "fast"
    assert outcome.ratio == pytest.approx(0.5)
    assert outcome.behind


def test_a_side_with_another_answer_is_refused_and_named():
    outcome = race(case(side("sums", "Leadline"), side("wrong"), tolerance=1e-3), 3)
    assert outcome.sides[1].seconds == []
    assert outcome.sides[1].difference == pytest.approx(0.01)
    assert outcome.ratio is None
    assert outcome.refused == ["sums: wrong: not timed: its answer differs by 1.0e-02, 1e-03 is allowed"]


def test_leadline_itself_is_refused_where_the_right_answer_is_known():
    known = Case(
        "sums",
        (side("wrong", "Leadline"), side("sums")),
        lambda: {"x": np.arange(1.0, 5.0), "right": np.array([1.0, 3.0, 6.0, 10.0])},
        expected="right",
    )
    outcome = race(known, 3)
    assert outcome.ratio is None
    assert outcome.refused == ["sums: Leadline: not timed: its answer differs by 1.0e-02, 1e-05 is allowed"]
    assert [s.seconds for s in outcome.sides] == [[], []]  # nothing to compare


@pytest.mark.parametrize(("make", "rounds"), [("crashes", 0), ("dies_later", 2)])
def test_rivals_are_not_timed_once_leadline_is_out(make, rounds):
    outcome = race(case(side(make, "Leadline"), side("sums")), 5)
    assert outcome.leadline.failure
    assert outcome.ratio is None
    assert len(outcome.sides[1].seconds) == rounds  # the second round is backwards


def test_who_crashes_or_dies_is_out_with_a_reason_and_harms_no_other():
    outcome = race(case(side("sums", "Leadline"), side("crashes"), side("dies_later"), side("prints")), 3)
    failures = {s.name: s.failure for s in outcome.sides}
    assert failures["crashes"] == "ValueError: no such algorithm"
    assert failures["dies_later"] == "its process ended with 7"
    assert outcome.best_rival == "prints"  # what it prints is not among its replies


def test_an_answer_may_be_brought_into_the_common_order_after_the_run():
    outcome = race(case(side("sums", "Leadline"), side("backwards")), 3)
    assert outcome.sides[1].difference == 0.0


def test_memory_is_the_rise_during_a_run():
    outcome = race(case(side("takes_memory", "Leadline"), side("takes_memory")), 3)
    assert 0.9 * 32 * 2**20 < outcome.sides[0].bytes < 1.5 * 32 * 2**20  # 4 MiB numbers


def test_a_rival_far_behind_is_asked_only_a_few_times(monkeypatch):
    monkeypatch.setattr(contest, "FAR_BEHIND", 3.0)
    outcome = race(case(side("sums", "Leadline", takes=1.0), side("sums", "slow", takes=10.0)), 6)
    assert [len(s.seconds) for s in outcome.sides] == [6, 3]


def test_the_slope_of_a_quadratic_cost_is_found():
    outcome = grow(Growth("pairs", side("quadratic"), "n", (4, 8, 16), 2.0, within=0.1), 3)
    assert outcome.slope == pytest.approx(2.0)
    assert not outcome.behind
    assert grow(Growth("pairs", side("quadratic"), "n", (4, 8, 16), 1.0), 3).behind


def test_the_share_of_the_limit_is_the_time_of_the_work_at_the_measured_rates():
    outcome = race(case(side("sums", "Leadline", takes=1.0), side("sums"), work=Work(1e10, 2e10)), 3)
    outcome.at({"float32": 1e11, "float64": 5e10, "bandwidth": 4e10})
    assert outcome.limit_share == pytest.approx(0.5)  # half a second of copying, in one second
