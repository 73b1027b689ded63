import asyncio
import json

import pytest
import sample_claims  # noqa: F401  (registers the entries)

from leadline.evidence import Falsification, Finding, Task, at_most, entry
from leadline.web.explorer.event_stream import event_stream, event_text, queued_sentence
from leadline.web.known_findings import KnownFindings
from leadline.web.pages.site import Site
from leadline.web.runs import Event, Run, Runs, Wanted

HOLDS = entry("sample-holds")
COMPARISON = at_most(0.5, 1.0, "largest number")
FINDING = Finding("sample-holds", {"samples": 20}, 0, comparisons=(COMPARISON,))
SITE = Site(KnownFindings())


class Scripted(Runs):
    """Runs whose events are given."""

    def __init__(self, *events):
        self.events, self.closed = events, False

    async def follow(self, run):
        try:
            for event in self.events:
                if isinstance(event, Exception):
                    raise event
                yield event
        finally:
            self.closed = True


def stream(*events, kind="check"):
    wanted = Wanted(kind, HOLDS)

    async def collect():
        return [text async for text in event_stream(SITE, Scripted(*events), Run(wanted, Task.of(HOLDS)))]

    return asyncio.run(collect())


def told(text):
    """The name and the value of one event, read as a browser reads it."""
    name, data, *rest = text.split("\n")
    assert rest == ["", ""]
    assert (name[:7], data[:6]) == ("event: ", "data: ")
    return name[7:], json.loads(data[6:])


def test_a_stream_begins_with_how_soon_to_ask_again():
    assert stream() == ["retry: 500\n\n"]


def test_a_check_is_told_from_the_queue_to_the_result():
    texts = stream(
        Event("queued", {"position": 3, "running": 2}),
        Event("running", 1.23),
        Event("comparison", COMPARISON),
        Event("done", FINDING),
    )
    queued, running, comparison, done = map(told, texts[1:])
    sentence = "Third in the queue: 2 checks run, 2 wait before this one."
    assert queued == ("queued", {"position": 3, "sentence": sentence})
    assert running == ("running", {"seconds": 1.2, "sentence": "Running for 1 s."})
    assert comparison[0] == "comparison"
    assert comparison[1]["html"].strip().startswith("<tr")
    assert "largest number" in comparison[1]["html"]
    assert done[0] == "done"
    assert {k: done[1][k] for k in ("verdict", "tone", "mark")} == {"verdict": "holds", "tone": "good", "mark": "✓"}
    assert "leadline check sample-holds" in done[1]["html"]


def test_an_attack_and_an_example_are_told():
    falsification = Falsification("sample-holds", runs=7, worst=FINDING)
    best, end = map(
        told, stream(Event("falsification", falsification), Event("done", falsification), kind="falsify")[1:]
    )
    assert best[0] == "falsification"
    assert "7" in best[1]["html"]
    assert (end[0], end[1]["verdict"], end[1]["tone"]) == ("done", "no violation found", "good")
    (done,) = map(told, stream(Event("done", "<b>3</b>"), kind="example")[1:])
    assert "&lt;b&gt;3" in done[1]["html"]


@pytest.mark.parametrize("reason", ["cancelled", "replaced", "closed", "failed"])
def test_a_run_that_ends_before_its_result_says_why(reason):
    (ended,) = map(told, stream(Event("ended", reason))[1:])
    assert ended[1]["reason"] == reason
    assert ended[1]["sentence"].endswith(".")


def test_a_defect_is_one_sentence_here_and_a_traceback_in_the_log(caplog):
    (ended,) = map(told, stream(ZeroDivisionError("a secret"))[1:])
    assert ended == ("ended", ended[1])
    assert ended[1]["reason"] == "failed"
    assert "secret" not in ended[1]["sentence"]
    assert "ZeroDivisionError: a secret" in caplog.text


def test_whoever_goes_away_stops_following():
    runs = Scripted(Event("running", 0.0), Event("running", 1.0))

    async def leave_early():
        texts = event_stream(SITE, runs, Run(Wanted("check", HOLDS), Task.of(HOLDS)))
        await anext(texts)
        await anext(texts)
        await texts.aclose()

    asyncio.run(leave_early())
    assert runs.closed


def test_line_breaks_in_what_is_told_do_not_end_an_event():
    assert told(event_text("comparison", {"html": "a\nb\r\n\ndata: c\u2028d"}))[1]["html"] == "a\nb\r\n\ndata: c\u2028d"


@pytest.mark.parametrize(
    ("position", "running", "sentence"),
    [
        (1, 1, "First in the queue: 1 check runs, none waits before this one."),
        (2, 2, "Second in the queue: 2 checks run, 1 waits before this one."),
        (1, 0, "First in the queue: no checks run, none waits before this one."),
        (12, 2, "Number 12 in the queue: 2 checks run, 11 wait before this one."),
    ],
)
def test_the_place_in_the_queue_is_said_in_words(position, running, sentence):
    assert queued_sentence(position, running) == sentence
