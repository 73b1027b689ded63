"""`leadline check`: run entries and say whether they hold."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..settings import finite

if TYPE_CHECKING:
    from leadline.evidence.registry import Entry
    from leadline.evidence.runner import Task


def check(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="The entries to run.")] = None,
    chapter: Annotated[str, typer.Option(help="Run a whole chapter.")] = "",
    all: Annotated[bool, typer.Option("--all", help="Run everything.")] = False,
    slow: Annotated[bool, typer.Option("--slow", help="With --chapter or --all: run slow entries too.")] = False,
    set: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of all randomness.")] = 0,
    jobs: Annotated[int, typer.Option(min=0, max=256, help="Worker processes; 0: one a core.")] = 0,
    timeout: Annotated[
        float, typer.Option(callback=finite, min=0.1, help="Processor seconds for an entry (10 times that if slow).")
    ] = 120,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json.md says what is in it).")] = False,
    out: Annotated[Path | None, typer.Option(help="Keep findings, figures and an index.html here.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what the --out directory already has.")] = False,
) -> int:
    """Run entries: exit code 0 if theory holds and every erratum fails, 1 if not, 2 on bad input."""
    from leadline.cli import show
    from leadline.evidence.parameters import BadInput
    from leadline.evidence.runner import cores
    from leadline.evidence.store import RunDirectory

    from ..running import run_left, workers_for

    if sum((bool(ids), bool(chapter), all)) != 1:
        raise BadInput("Say what to run: one or more ids, or --chapter NAME, or --all.")
    ids, jobs = list(dict.fromkeys(ids or [])), jobs or cores()
    tasks = _tasks(ids, chapter, slow, set or [], seed)
    with contextlib.ExitStack() as held:
        with workers_for(jobs, len(tasks)) as workers:
            if ids:
                workers.start(list(dict.fromkeys(t.entry.module for t in tasks)))
            run = held.enter_context(RunDirectory(out or _unfinished(tasks)).open())
            if fresh:
                run.clear()
            done = run.done(tasks)
            show.resumed(run, len(done), kept=out is not None)
            findings = run_left(run, tasks, done, workers, timeout=timeout, announce=not json)
        entries = {t.entry.id: t.entry for t in tasks}
        if out:
            show.draw(findings, entries, out, jobs=jobs)
        else:
            run.discard()
    show.report(findings, entries, as_json=json, out=out)
    return show.exit_code(findings, entries)


def _tasks(ids: list[str], chapter: str, slow: bool, settings: list[str], seed: int) -> "list[Task]":
    from leadline import claims
    from leadline._messages import unknown
    from leadline.evidence.parameters import BadInput
    from leadline.evidence.registry import entries, entry
    from leadline.evidence.runner import Task

    from ..settings import settings_of

    claims.load()
    chosen = [entry(id) for id in ids] or [e for e in entries(chapter=chapter) if slow or not e.slow]
    given = settings_of(settings)
    for name in given:
        if not any(name == p.name for e in chosen for p in e.parameters):
            raise BadInput(unknown("parameter", name, dict.fromkeys(p.name for e in chosen for p in e.parameters)))
    return [Task.of(e, _own(e, given), seed) for e in chosen]


def _own(entry: "Entry", given: dict[str, str]) -> dict[str, str]:
    return {p.name: given[p.name] for p in entry.parameters if p.name in given}


def _unfinished(tasks: "list[Task]") -> Path:
    """Where a run without --out keeps its findings until it is finished: one place for one command."""
    import hashlib

    from leadline.data.sources.cache import cache_directory

    digest = hashlib.sha256(repr([t.key for t in tasks]).encode()).hexdigest()[:16]
    return cache_directory() / "runs" / digest
