"""Workers: what one entry does is that entry's result or error, and no other's."""

import multiprocessing
import time

import pytest
import sample_claims  # noqa: F401 - declares the entries

from leadline.evidence import Finding, Task, Verdict, Workers, entry, run_entry, run_tasks, runner
from leadline.evidence.worker import perform


def findings(*ids, **options):
    tasks = [Task.of(entry(id)) for id in ids]
    return {f.id: f for f in run_tasks(tasks, **options)}


@pytest.fixture(scope="module")
def eventful():
    """One run with every kind of mishap, two workers, a short time limit and 2 GiB for each worker."""
    ids = (
        "sample-crash",
        "sample-holds",
        "sample-raises",
        "sample-sleeps",
        "sample-64-bit",
        "sample-hungry",
        "sample-unmet",
        "sample-silent",
        "sample-raises-what-cannot-be-sent",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "IDLE_FACTOR", 1)
        return findings(*ids, jobs=2, timeout=8, memory=2 * 2**30)


def test_every_task_has_a_finding_whatever_happened_to_the_others(eventful):
    assert len(eventful) == 9
    assert eventful["sample-holds"].verdict is Verdict.HOLDS
    assert eventful["sample-holds"].as_expected


def test_workers_use_64_bit_numbers(eventful):
    assert eventful["sample-64-bit"].verdict is Verdict.HOLDS


def test_a_dead_worker_is_reported_with_its_exit_code(eventful):
    assert "died (exit code 3)" in eventful["sample-crash"].error


def test_an_exception_is_reported_in_one_line(eventful):
    assert eventful["sample-raises"].error == "ArithmeticError: the sum does not converge"
    assert eventful["sample-raises"].verdict is None
    assert not eventful["sample-raises"].as_expected


def test_an_exception_that_cannot_be_sent_is_reported_in_words(eventful):
    assert "ConcretizationTypeError" in eventful["sample-raises-what-cannot-be-sent"].error


def test_a_time_out_names_the_limit(eventful):
    assert "stopped after 8 s, its time limit" in eventful["sample-sleeps"].error


def test_work_is_stopped_by_the_processors_clock(monkeypatch):
    monkeypatch.setattr(runner, "IDLE_FACTOR", 1000)
    found = findings("sample-works", "sample-holds", timeout=3)
    assert "stopped after 3 s of processor time" in found["sample-works"].error
    assert found["sample-holds"].as_expected


def test_a_limit_is_of_one_task_and_leaves_those_after_it_theirs():
    """Three tasks of one worker, each of which uses more than a third of its limit."""
    tasks = [Task.of(entry("sample-works"), {"seconds": 2.0}, seed) for seed in range(3)]
    found = list(run_tasks(tasks, jobs=1, timeout=5))
    assert [f.error for f in found] == ["", "", ""]


def test_too_little_memory_is_said(eventful):
    assert "ran out of memory" in eventful["sample-hungry"].error


def test_an_unmet_assumption_is_named(eventful):
    (comparison,) = eventful["sample-unmet"].comparisons
    assert comparison.verdict is Verdict.INAPPLICABLE
    assert comparison.unmet == "n is at least 5"
    assert eventful["sample-unmet"].as_expected


def test_an_entry_that_compares_nothing_is_an_error(eventful):
    assert "could not fail" in eventful["sample-silent"].error


def test_the_same_task_gives_the_same_finding_in_a_worker_and_here():
    here = run_entry(entry("sample-holds"), {"samples": 7}, seed=5)
    (there,) = run_tasks([Task.of(entry("sample-holds"), {"samples": 7}, 5)])
    assert here.comparisons == there.comparisons
    assert [f.spec for f in here.figures] == [f.spec for f in there.figures]


def test_an_erratum_that_holds_is_not_as_expected():
    finding = run_entry(entry("sample-erratum-holds"))
    assert finding.verdict is Verdict.HOLDS
    assert not finding.as_expected


def test_running_here_leaves_the_setting_of_64_bit_numbers_alone():
    import jax

    before = jax.config.jax_enable_x64
    run_entry(entry("sample-64-bit"))
    assert jax.config.jax_enable_x64 == before


def test_what_a_worker_is_told_to_observe_it_sees_in_order():
    seen = []
    finding = Finding.loads(perform("sample_claims", "sample-holds", {}, 0, seen.append))
    assert tuple(seen[:2]) == finding.comparisons
    assert [f.spec for f in seen[2:]] == [f.spec for f in finding.figures]


def test_workers_import_what_they_are_told_before_there_is_a_task_and_end_with_the_block(tmp_path, monkeypatch):
    (tmp_path / "imported_early.py").write_text("import pathlib\npathlib.Path(__file__).with_suffix('.seen').touch()")
    monkeypatch.syspath_prepend(tmp_path)
    deadline = time.monotonic() + 60
    with Workers(1) as workers:
        workers.start(["imported_early"])
        while not (tmp_path / "imported_early.seen").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
    assert (tmp_path / "imported_early.seen").exists()
    assert multiprocessing.active_children() == []


def test_what_cannot_be_imported_early_does_no_harm_to_the_tasks():
    with Workers(1) as workers:
        workers.start(["no_such_module"])
        (finding,) = workers.run_all([Task.of(entry("sample-holds"))], 60)
    assert finding.verdict is Verdict.HOLDS
