"""The queue of runs: in order, a few at a time; what one run does, or what becomes of it, harms no other."""

import asyncio
import multiprocessing
import os
import signal
import time
from contextlib import aclosing

import pytest
import sample_claims  # noqa: F401 - declares the entries

from leadline.evidence import BadInput, Finding, Task, Verdict, entry, runner
from leadline.web.runs import Busy, Runs, Wanted

MODULES = ("sample_claims",)


class Remembered(dict):
    """Findings by task."""

    def find(self, task: Task) -> Finding | None:
        return self.get(task.key)

    def keep(self, finding: Finding) -> None:
        self[finding.key] = finding


def check(id, page="", **parameters):
    return Wanted("check", entry(id), parameters, page=page)


def steps(pause, page=""):
    return check("sample-pauses", page, seconds=pause)


async def followed(runs, run):
    """Every event of a run, followed as a browser does: again and again while it waits."""
    seen = []
    while not seen or seen[-1].name in ("queued", "running"):
        async with aclosing(runs.follow(run)) as events:
            seen += [event async for event in events]
        await asyncio.sleep(0.02)
    return seen


async def result(runs, wanted):
    return (await followed(runs, runs.ask(wanted)))[-1].value


async def until(condition, seconds=20.0):
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)


@pytest.fixture(scope="module")
def loop():
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def others():
    """Processes that are not of these tests."""
    return set(multiprocessing.active_children())


@pytest.fixture(scope="module")
def runs(loop, others):
    """One slot, so that the order shows; a spare worker."""

    async def started():
        made = Runs(known=Remembered(), slots=1, waiting=3, timeout=60.0, patience=1.0, modules=MODULES)
        await made.start()
        return made

    made = loop.run(started())
    yield made
    loop.run(made.stop())
    assert set(multiprocessing.active_children()) <= others


def test_comparisons_come_before_the_finding_which_is_remembered(loop, runs):
    async def scene():
        asked = runs.ask(steps(1.5))
        events = await followed(runs, asked)
        again = runs.ask(steps(1.5))
        async with aclosing(runs.follow(asked)) as late:
            return events, again, [event async for event in late]

    events, again, late = loop.run(scene())
    told = [event for event in events if event.name != "running"]
    assert [event.name for event in told] == ["comparison", "comparison", "done"]
    assert [event.value.what for event in told[:2]] == ["before the pause", "after the pause"]
    assert told[2].value.verdict is Verdict.HOLDS
    first, second = (events.index(event) for event in told[:2])
    assert any(event.name == "running" for event in events[first:second])  # the first was told during the pause
    assert late == told
    assert again.end.value is told[2].value


def test_runs_wait_in_order_and_are_told_their_place(loop, runs):
    async def scene():
        asked = [runs.ask(steps(pause)) for pause in (0.41, 0.42, 0.43)]
        ended = []
        seen = await asyncio.gather(*(note(run, ended) for run in asked))
        return asked, ended, seen

    async def note(run, ended):
        events = await followed(runs, run)
        ended.append(run)
        return [event.value for event in events if event.name == "queued"]

    asked, ended, seen = loop.run(scene())
    assert ended == asked
    assert [places[0]["position"] for places in seen[1:]] == [1, 2]
    assert seen[2][-1] == {"position": 1, "running": 1}


def test_cancelling_frees_the_slot_and_the_place_of_what_waits(loop, runs):
    async def scene():
        first, second, third = runs.ask(steps(50)), runs.ask(steps(51)), runs.ask(steps(0.0))
        told = asyncio.create_task(followed(runs, first))
        last = asyncio.create_task(followed(runs, third))
        await asyncio.sleep(0.2)
        runs.cancel(second)
        assert runs.queued == 1
        runs.cancel(first)
        return (await told)[-1], (await followed(runs, second))[-1], (await last)[-1]

    first, second, third = loop.run(scene())
    assert (first.name, first.value) == (second.name, second.value) == ("ended", "cancelled")
    assert third.value.verdict is Verdict.HOLDS


def test_a_run_that_crashes_or_raises_harms_no_other(loop, runs):
    async def scene():
        wanted = [check("sample-crash"), check("sample-raises"), check("sample-unmet")]
        return await asyncio.gather(*(result(runs, w) for w in wanted))

    crash, raised, unmet = loop.run(scene())
    assert "died (exit code 3)" in crash.error
    assert raised.error == "ArithmeticError: the sum does not converge"
    assert unmet.verdict is Verdict.INAPPLICABLE


def test_a_run_is_stopped_at_its_time_limit_and_not_remembered(loop, runs, monkeypatch):
    monkeypatch.setattr(runs, "_timeout", 0.3)
    monkeypatch.setattr(runner, "IDLE_FACTOR", 1)
    finding = loop.run(result(runs, check("sample-sleeps")))
    assert finding.error == "stopped after 0.3 s, its time limit"
    assert runs._known.find(Task.of(entry("sample-sleeps"))) is None


def test_a_run_is_stopped_when_it_has_used_its_processor_time(loop, runs, monkeypatch):
    monkeypatch.setattr(runs, "_timeout", 0.3)
    monkeypatch.setattr(runner, "IDLE_FACTOR", 1000)
    assert loop.run(result(runs, check("sample-works"))).error == "stopped after 0.3 s of processor time, its limit"


def test_a_run_that_nobody_follows_is_cancelled(loop, runs):
    async def scene():
        never = runs.ask(steps(1.6))  # ends soon after it is cancelled: that costs no new process
        await until(lambda: never.end and not runs.running)
        left = runs.ask(steps(2.8))
        async with aclosing(runs.follow(left)) as events:
            assert (await anext(events)).name == "running"
            await asyncio.sleep(1.2)  # longer than the patience
            assert left.end is None
        await until(lambda: left.end)
        return never.end, left.end

    never, left = loop.run(scene())
    assert never.value == left.value == "closed"


def test_a_page_has_one_run_and_only_so_many_wait(loop, runs):
    async def scene():
        first = runs.ask(steps(0.8, page="a"))
        second = runs.ask(steps(1.7, page="a"))
        assert first.end.value == "replaced"
        await until(lambda: not runs.queued)
        waiting = [runs.ask(steps(56, page=page)) for page in "bcd"]
        with pytest.raises(Busy, match="3 runs wait already; try again when some are done"):
            runs.ask(steps(57))
        runs.ask(steps(58, page="d"))  # takes the place of the one before
        assert waiting[2].end.value == "replaced"
        await until(lambda: runs.running + runs.queued == 0)
        assert second.end.value == "closed"

    loop.run(scene())


def test_a_search_shows_its_best_so_far_and_can_be_cancelled(loop, runs):
    async def scene():
        run = runs.ask(Wanted("falsify", entry("sample-slow-descent"), budget=60))
        assert not runs.queued
        seen = []
        async with aclosing(runs.follow(run)) as events:
            async for event in events:
                seen += [event.value] if event.name == "falsification" else []
                if seen and seen[-1].violated:
                    break
            runs.cancel(run)
            assert [event.name async for event in events][-1] == "ended"
        return seen, await result(runs, check("sample-unmet", n=6))

    seen, after = loop.run(scene())
    assert [falsification.runs for falsification in seen] == sorted(falsification.runs for falsification in seen)
    assert len({id(falsification) for falsification in seen}) == len(
        seen
    )  # copies, which the search does not change any more
    assert 0.24 < seen[-1].worst.comparisons[0].measured <= 0.25
    assert after.verdict is Verdict.HOLDS


def test_a_search_ends_with_its_budget(loop, runs, monkeypatch):
    monkeypatch.setattr("leadline.web.runs.run_events.SHORTEST", 5.0)
    falsification = loop.run(result(runs, Wanted("falsify", entry("sample-slow-descent"), budget=5.0)))
    assert falsification.runs > 0
    assert 5.0 <= falsification.seconds < 60.0


def test_the_example_of_what_an_entry_shows_is_run(loop, runs):
    wanted = Wanted("example", entry("sample-pauses"), object="probability.gaussian_kl")
    assert loop.run(result(runs, wanted)).splitlines() == [
        ">>> one = jnp.ones((1, 1))",
        ">>> float(gaussian_kl(jnp.zeros(1), one, jnp.ones(1), one))",
        "0.5",
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        Wanted("example", entry("sample-pauses"), object="os.system"),
        Wanted("check", entry("sample-pauses"), {"seconds": 61}),
        Wanted("check", entry("sample-pauses"), {"rest": 1}),
        Wanted("check", entry("sample-pauses"), seed=-1),
        Wanted("falsify", entry("sample-pauses"), budget=301),
        Wanted("destroy", entry("sample-pauses")),
    ],
    ids=lambda wanted: wanted.kind,
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(runs, wrong):
    with pytest.raises(BadInput, match=r"[.?]$"):
        runs.ask(wrong)


def test_killing_idle_workers_and_many_cancels_leave_the_queue_working(loop, runs, others):
    async def scene():
        killed = list(runs._workers._processes)
        for worker in set(multiprocessing.active_children()) - others:
            os.kill(worker.pid, signal.SIGKILL)
        await until(lambda: all(process.ended.is_set() for process in killed))
        for _ in range(20):
            runs.cancel(runs.ask(steps(59)))
            await asyncio.sleep(0.01)
        return await result(runs, check("sample-unmet", n=7))

    assert loop.run(scene()).verdict is Verdict.HOLDS
    assert len(set(multiprocessing.active_children()) - others) <= 2
    assert runs.running == runs.queued == 0


def test_a_worker_that_answers_while_it_is_killed_gets_no_other_job(loop, runs):
    async def scene():
        workers = runs._workers
        process = await workers._take()
        job = process.begin("check", (entry("sample-unmet").module, "sample-unmet", {"n": 8}, 0), lambda _: None)
        time.sleep(1.0)  # the answer is there, and this loop has not heard it yet
        process.end(job)
        await process.ended.wait()
        return process in workers._free._queue, await result(runs, check("sample-unmet", n=5))

    given_again, after = loop.run(scene())
    assert not given_again
    assert after.verdict is Verdict.HOLDS


def test_where_no_worker_can_start_a_run_says_so(loop, capfd):
    async def scene():
        starved = Runs(known=Remembered(), slots=1, memory=2**20, modules=MODULES)
        await starved.start()
        finding = await result(starved, check("sample-unmet"))
        await starved.stop()
        return finding

    assert "its worker process died (exit code" in loop.run(scene()).error
    assert "Error" in capfd.readouterr().err


def test_a_run_is_forgotten_some_time_after_its_end(loop, runs, monkeypatch):
    monkeypatch.setattr("leadline.web.runs.queue._REMEMBERED", 0.05)

    async def scene():
        await result(runs, check("sample-unmet", n=9))
        run = runs.ask(check("sample-unmet", page="e", n=9))  # known by now, and done at once
        found = runs.find(run.token)
        await asyncio.sleep(0.1)
        return run is found, runs.find(run.token)

    start = time.monotonic()
    assert loop.run(scene()) == (True, None)
    assert time.monotonic() - start < 30.0  # half of what it is remembered for otherwise
