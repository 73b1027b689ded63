"""A run as a stream of server-sent events: what happened, as HTML to put into the page and sentences for people."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

from leadline.evidence import Falsification, Finding
from leadline.presentation.gallery import finding_tone
from leadline.presentation.words import finding_verdict, mark

from ..pages.falsification_view import falsification_verdict
from ..pages.site import Site
from ..runs import Event, Run, Runs

RETRY_MILLISECONDS = 500  # after which a browser asks again how a waiting run is
_ORDINALS = ("First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth", "Ninth", "Tenth")
_ENDINGS = {
    "cancelled": "Cancelled.",
    "replaced": "Replaced by a newer run of this page.",
    "closed": "Stopped: the server ends, or no page followed this run any more.",
    "failed": "The server could not show what came out; its log says why.",
}

_log = logging.getLogger("uvicorn.error")


async def event_stream(site: Site, runs: Runs, run: Run) -> AsyncIterator[str]:
    """The events of a run as text/event-stream; closing this iterator stops following the run."""
    yield f"retry: {RETRY_MILLISECONDS}\n\n"
    try:
        async with contextlib.aclosing(runs.follow(run)) as events:
            async for event in events:
                # Rendering a figure's data takes long enough to keep others waiting.
                yield event_text(event.name, await asyncio.to_thread(_told, site, run, event))
    except Exception:
        _log.exception("A run could not be shown")
        yield event_text("ended", _ending("failed"))


def event_text(name: str, value: dict[str, Any]) -> str:
    """One event. JSON in ASCII has no line breaks, so that its data is one line, and no halves of characters."""
    return f"event: {name}\ndata: {json.dumps(value, allow_nan=False)}\n\n"


def queued_sentence(position: int, running: int) -> str:
    """Where in the queue a run is.

    >>> queued_sentence(3, 2)
    'Third in the queue: 2 checks run, 2 wait before this one.'
    """
    place = _ORDINALS[position - 1] if position <= len(_ORDINALS) else f"Number {position}"
    runs = "1 check runs" if running == 1 else f"{running or 'no'} checks run"
    waits = {1: "none waits", 2: "1 waits"}.get(position, f"{position - 1} wait")
    return f"{place} in the queue: {runs}, {waits} before this one."


def _told(site: Site, run: Run, event: Event) -> dict[str, Any]:
    """What a page is told of an event."""
    value = event.value
    if event.name == "queued":
        return {"position": value["position"], "sentence": queued_sentence(value["position"], value["running"])}
    if event.name == "running":
        return {"seconds": round(value, 1), "sentence": f"Running for {value:.0f} s."}
    if event.name == "comparison":
        return {"html": site.row(value)}
    if event.name == "falsification":
        return {"html": site.falsification(run.wanted.entry, value, running=True)}
    if event.name == "ended":
        return _ending(value)
    return _done(site, run, value)


def _done(site: Site, run: Run, outcome: Finding | Falsification | str) -> dict[str, Any]:
    if isinstance(outcome, str):
        return {"html": site.example(outcome), "verdict": "", "tone": "quiet", "mark": ""}
    entry = run.wanted.entry
    if isinstance(outcome, Falsification):
        verdict, shape, tone = falsification_verdict(outcome, running=False)
        html = site.falsification(entry, outcome, running=False)
        return {"html": html, "verdict": verdict, "tone": tone, "mark": shape}
    return {
        "html": site.result(run.task, outcome),
        "verdict": finding_verdict(outcome, entry),
        "tone": finding_tone(outcome, entry),
        "mark": mark(outcome),
    }


def _ending(reason: str) -> dict[str, Any]:
    return {"reason": reason, "sentence": _ENDINGS[reason]}
