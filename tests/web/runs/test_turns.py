"""Visitors take turns: whoever asks for much waits longest, on a clock that only these tests move."""

import asyncio
import selectors

import pytest
import sample_claims  # noqa: F401 - declares the entries

from leadline.evidence import Finding, Task, at_most, entry
from leadline.web.runs import Busy, Runs, Wanted
from leadline.web.runs.turns import Turns


class ClockedLoop(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to the next timer instead of waiting for it."""

    def __init__(self):
        super().__init__(_Jumping(self))
        self.now = 0.0

    def time(self):
        return self.now


class _Jumping(selectors.DefaultSelector):
    def __init__(self, loop):
        super().__init__()
        self.loop = loop

    def select(self, timeout=None):
        self.loop.now += timeout or 0.0
        return super().select(0)


class Nothing:
    """Remembers no finding."""

    def find(self, task: Task) -> Finding | None:
        return None

    def keep(self, finding: Finding) -> None:
        pass


class TimedRuns(Runs):
    """Runs without processes: each takes its budget of seconds. `begun` says who began when."""

    def __init__(self, **options):
        super().__init__(known=Nothing(), patience=1e6, **options)
        self.begun = []

    async def _result(self, run):
        self.begun.append((asyncio.get_running_loop().time(), run.visitor, run.wanted.kind))
        await asyncio.sleep(run.wanted.budget)
        return Finding(run.task.entry.id, run.task.parameters, 0, comparisons=(at_most(0.0, 1.0, "zero"),))


def wanted(kind, seconds, page=""):
    return Wanted(kind, entry("sample-holds"), budget=seconds, page=page)


def on_a_clock(scene, **options):
    async def whole():
        runs = TimedRuns(**options)
        try:
            return await scene(runs)
        finally:
            await runs.stop()

    with asyncio.Runner(loop_factory=ClockedLoop) as runner:
        return runner.run(whole())


def test_who_fills_the_queue_with_searches_keeps_nobody_waiting():
    async def scene(runs):
        for _ in range(16):
            runs.ask(wanted("falsify", 300.0), "greedy")
        await asyncio.sleep(10.0)
        for visitor in "abc":
            for _ in range(2):
                runs.ask(wanted("check", 5.0), visitor)
        await asyncio.sleep(50.0)
        return list(runs.begun)

    begun = on_a_clock(scene, slots=2, each=16)
    assert begun[0] == (0.0, "greedy", "falsify")
    # One slot is left to the others, who take it in turns.
    assert begun[1:] == [(10.0 + 5.0 * turn, visitor, "check") for turn, visitor in enumerate("abcabc")]


def test_with_one_slot_a_visitor_waits_for_one_run_of_another_and_not_for_all():
    async def scene(runs):
        for _ in range(5):
            runs.ask(wanted("check", 60.0), "greedy")
        await asyncio.sleep(1.0)
        late = runs.ask(wanted("check", 1.0), "late")
        place = await anext(runs.follow(late))
        await asyncio.sleep(1000.0)
        return place.value["position"], [(when, who) for when, who, _ in runs.begun]

    position, begun = on_a_clock(scene, slots=1)
    assert position == 1
    assert begun == [
        (0.0, "greedy"),
        (60.0, "late"),
        (61.0, "greedy"),
        (121.0, "greedy"),
        (181.0, "greedy"),
        (241.0, "greedy"),
    ]


def test_a_stream_of_new_visitors_passes_nobody_for_ever():
    turns = Turns()
    turns.add("patient", "first")
    assert turns.next() == "first"
    turns.add("patient", "second")
    taken = []
    for visitor in range(5):
        turns.add(f"new {visitor}", visitor)
        turns.add(f"other {visitor}", visitor)
        taken.append(turns.next())
    assert "second" in [*taken, turns.next(), turns.next(), turns.next(), turns.next()]
    assert len(turns) < 5


def test_one_visitor_alone_has_every_slot_for_checks_and_searches_one_less():
    async def scene(runs):
        for _ in range(3):
            runs.ask(wanted("falsify", 50.0), "alone")
        searches = runs.running
        runs.ask(wanted("check", 50.0), "alone")
        return searches, runs.running, runs.queued

    assert on_a_clock(scene, slots=3) == (2, 3, 1)


def test_each_visitor_has_a_limit_that_is_said_in_a_sentence_and_holds_for_no_other():
    async def scene(runs):
        for _ in range(4):
            runs.ask(wanted("check", 60.0), "greedy")
        with pytest.raises(Busy, match=r"^3 of your runs wait already; try again when some are done\.$"):
            runs.ask(wanted("check", 60.0), "greedy")
        for visitor in "ab":
            runs.ask(wanted("check", 60.0), visitor)
        with pytest.raises(Busy, match=r"^5 runs wait already; try again when some are done\.$"):
            runs.ask(wanted("check", 60.0), "c")
        return runs.queued

    assert on_a_clock(scene, slots=1, each=3, waiting=5) == 5


def test_a_page_of_one_visitor_replaces_no_run_of_another():
    async def scene(runs):
        first = runs.ask(wanted("check", 60.0, page="entry"), "a")
        runs.ask(wanted("check", 60.0, page="entry"), "b")
        untouched = first.end
        runs.ask(wanted("check", 60.0, page="entry"), "a")
        return untouched, first.end.value

    assert on_a_clock(scene, slots=1) == (None, "replaced")


def test_what_is_removed_is_not_taken_and_an_empty_visitor_has_no_turn():
    turns = Turns()
    for visitor, what in [("a", 1), ("b", 2), ("c", 3), ("a", 4)]:
        turns.add(visitor, what)
    turns.remove(2)
    assert (list(turns), len(turns), 2 in turns, turns.of("b")) == ([1, 3, 4], 3, False, 0)
    assert [turns.next(), turns.next(), turns.next(), turns.next()] == [1, 3, 4, None]
