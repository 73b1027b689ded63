"""The results file, the page made from it, and the guard that reads it."""

import pytest

from benchmarks.harness import guard
from benchmarks.harness.outcome import GrowthOutcome, Outcome, SideOutcome
from benchmarks.harness.page import write_page
from benchmarks.harness.results import Measured, Results

MACHINE = {"processor": "A processor", "cores": 2, "memory_gib": 24, "python": "3.11", "jax": "0.10"}
LIMITS = {"float32": 1.6e11, "float64": 8e10, "bandwidth": 1e10}


def outcome(ratio, case="a step"):
    sides = [SideOutcome("Leadline", [0.002] * 3, 3 * 2**20), SideOutcome("rival", [0.002 * ratio] * 3)]
    made = Outcome(case, sides, 1, 2.0, "rival", ratio, (ratio * 0.9, ratio * 1.1), 1.6e8, 0.0)
    made.at(LIMITS)
    return made


def measured(*outcomes):
    return Measured("2026-11-16", MACHINE, LIMITS, {"torch": "2.13.0"}, list(outcomes))


def test_results_are_kept_and_a_case_that_is_run_again_takes_its_old_place(tmp_path):
    results = Results(tmp_path / "benchmarks.json")
    results.suites["training"] = measured(outcome(3.0), outcome(1.0, "another"))
    results.suites["training"].put(outcome(2.5))
    results.save()
    again = Results(tmp_path / "benchmarks.json")
    assert [o.ratio for o in again.suites["training"].outcomes] == [2.5, 1.0]
    assert again.suites == results.suites
    assert again.find("another").ratio == 1.0
    assert again.find("a third") is None


def test_the_page_has_every_number_and_the_conditions(tmp_path):
    results = Results(tmp_path / "benchmarks.json")
    failed = outcome(1.5, "refused")
    failed.ratio = failed.interval = None
    failed.sides[1].failure = "not timed: its answer differs by 1.0e-02, 1e-03 is allowed"
    growth = GrowthOutcome("pairs", "n", [10, 20], [[1.0], [4.0]], 2.0, 2.0, (1.9, 2.1))
    results.suites["training"] = measured(outcome(3.0), failed, growth)
    results.suites["training"].remark = "The second core did other work."
    reasons = {"a step": "Not told.", "refused": "The compiler does not fuse this.", "pairs": "Not told."}
    write_page(results, {"training": reasons}, tmp_path)
    page = (tmp_path / "benchmarks.md").read_text()
    assert "| a step | 2.00 ms | rival 6.00 ms | 3.00 (2.70 to 3.30) ✓ | 2 | Leadline 3 MiB | 50% |" in page
    assert "not timed: its answer differs" in page
    assert "- refused: The compiler does not fuse this." in page
    assert "Not told." not in page  # neither is behind or far from its limit
    assert "GB/s of copying. The second core did other work.\n" in page
    assert "| pairs | 10, 20 | 1, 4 | 2.00 (1.90 to 2.10) | 2 |" in page
    assert "Measured 3 times on 2026-11-16: A processor, 2 cores, 24 GiB, Python 3.11, JAX 0.10, torch 2.13.0" in page
    assert (tmp_path / "images" / "benchmarks.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("now", "before", "lost"), [(3.0, 3.0, 0.0), (4.0, 3.0, 0.0), (2.0, 4.0, 0.5), (None, 3.0, 1.0)]
)
def test_the_guard_compares_ratios(now, before, lost):
    later = outcome(now or 1.0)
    later.ratio = now
    assert guard.loss(later, outcome(before)) == pytest.approx(lost)
    if now and lost > guard.WORSE:
        assert guard.sentence(later, outcome(before)) == "a step: 2.00 times rival, was 4.00 times rival"


def test_what_is_behind_or_far_from_the_limit_wants_a_reason(tmp_path):
    assert not outcome(3.0).wants_reason  # ahead, and at half of the limit
    behind, slow = outcome(1.5, "behind"), outcome(3.0, "slow")
    slow.limit_share /= 2
    results = Results(tmp_path / "benchmarks.json")
    results.suites["training"] = measured(behind, slow)
    write_page(results, {"training": {"behind": "The hardware.", "slow": ""}}, tmp_path)
    page = (tmp_path / "benchmarks.md").read_text()
    assert "- behind: The hardware.\n- slow: not profiled yet.\n" in page


def test_a_rival_that_nobody_asked_is_not_timed_on_the_page(tmp_path):
    crashed = outcome(3.0)
    crashed.ratio = crashed.interval = None
    crashed.sides = [SideOutcome("Leadline", [], failure="ValueError: no"), SideOutcome("rival", [])]
    results = Results(tmp_path / "benchmarks.json")
    results.suites["training"] = measured(crashed)
    write_page(results, {"training": {"a step": ""}}, tmp_path)
    assert "| a step | ValueError: no | rival not timed | none |" in (tmp_path / "benchmarks.md").read_text()


def test_cases_and_suites_that_are_no_more_are_dropped(tmp_path):
    results = Results(tmp_path / "benchmarks.json")
    results.suites = {"training": measured(outcome(3.0), outcome(1.0, "gone")), "gone": measured(outcome(1.0))}
    results.keep({"kernels": {}, "training": {"a step": ""}})
    assert results.suites == {"training": measured(outcome(3.0))}


def test_a_case_that_the_table_does_not_have_is_not_judged():
    assert guard.loss(outcome(0.1), None) == 0.0
