"""The falsifier finds what is false and does not take bad luck for a counterexample."""

import pytest
import sample_claims  # noqa: F401 - declares the entries

from leadline.evidence import entry, falsify


def test_a_wrong_bound_is_broken_near_its_worst_point():
    attack = falsify(entry("sample-slow-descent"), budget=15, jobs=2)
    assert attack.violated
    assert attack.worst.comparisons[0].measured == pytest.approx(0.25, abs=0.002)
    assert "--set x=" in attack.worst.command


@pytest.mark.slow
def test_a_true_bound_is_not_broken():
    attack = falsify(entry("sample-holds"), budget=12, jobs=2)
    assert attack.runs >= 3
    assert not attack.violated
    assert not attack.errors


@pytest.mark.slow
def test_statistical_misses_of_a_true_claim_are_put_down_to_chance():
    attack = falsify(entry("sample-fair-coin"), budget=12, jobs=2)
    assert attack.by_chance > 0
    assert not attack.violated


def test_the_budget_holds_for_slow_entries_too():
    attack = falsify(entry("sample-slow"), budget=3, jobs=1)
    assert attack.worst is None
    assert attack.seconds < 20


@pytest.mark.slow
def test_a_false_statistical_claim_is_confirmed_on_fresh_seeds():
    attack = falsify(entry("sample-loaded-coin"), budget=12, jobs=2)
    assert attack.violated
