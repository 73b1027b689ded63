"""The falsifier finds what is false and does not take bad luck for a counterexample."""

import pytest
import sample_claims  # noqa: F401 - declares the entries

from leadline.evidence import entry, falsify, run_entry
from leadline.evidence.falsifier import Search


def test_a_wrong_bound_is_broken_near_its_worst_point():
    falsification = falsify(entry("sample-slow-descent"), budget=8, jobs=2)
    assert falsification.violated
    assert falsification.worst.comparisons[0].measured == pytest.approx(0.25, abs=0.002)
    assert "--set x=" in falsification.worst.command


@pytest.mark.slow
def test_a_true_bound_is_not_broken():
    falsification = falsify(entry("sample-holds"), budget=12, jobs=2)
    assert falsification.runs >= 3
    assert not falsification.violated
    assert not falsification.errors


@pytest.mark.slow
def test_statistical_misses_of_a_true_claim_are_put_down_to_chance():
    falsification = falsify(entry("sample-fair-coin"), budget=12, jobs=2)
    assert falsification.by_chance > 0
    assert not falsification.violated


def test_the_budget_holds_for_slow_entries_too():
    falsification = falsify(entry("sample-slow"), budget=3, jobs=1)
    assert falsification.worst is None
    assert falsification.seconds < 20


@pytest.mark.slow
def test_a_false_statistical_claim_is_confirmed_on_fresh_seeds():
    falsification = falsify(entry("sample-loaded-coin"), budget=12, jobs=2)
    assert falsification.violated


def search_here(id, progress):
    """A search of this process, without workers."""
    return Search(
        entry(id),
        lambda task, _: run_entry(task.entry, task.parameters, task.seed),
        budget=60,
        seed=0,
        progress=progress,
    )


def test_a_search_shows_the_worst_case_as_soon_as_it_is_found_and_can_be_stopped():
    seen = []

    def stop_when_broken(falsification):
        seen.append((falsification.runs, falsification.violated))
        if falsification.violated:
            search.stop()

    search = search_here("sample-slow-descent", stop_when_broken)
    search.work()
    assert search.falsification.violated
    assert seen[-1] == (search.falsification.runs, True)
    assert search.falsification.seconds < 30


def test_a_run_that_stopping_ends_is_not_counted():
    def cancelled(task, _):
        search.stop()
        return task.failed("cancelled")

    search = search_here("sample-slow-descent", lambda _: None)
    search.run = cancelled
    search.work()
    assert search.falsification.runs == 0
    assert search.falsification.errors == []
