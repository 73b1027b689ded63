"""`leadline book`: all entries with their findings as a static site."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..settings import finite

if TYPE_CHECKING:
    from leadline.evidence.finding import Finding
    from leadline.evidence.runner import Task
    from leadline.evidence.store import RunDirectory


def book(
    out: Annotated[Path, typer.Option(help="The directory of the book: new, empty, or that of an earlier book.")],
    findings: Annotated[
        Path | None, typer.Option(help="Take findings from this directory of `leadline check --all --out`.")
    ] = None,
    chapter: Annotated[str, typer.Option(help="Run only this chapter; other pages show what is known already.")] = "",
    slow: Annotated[bool, typer.Option("--slow", help="Run slow entries too.")] = False,
    jobs: Annotated[int, typer.Option(min=0, max=256, help="Worker processes; 0: one a core.")] = 0,
    timeout: Annotated[
        float, typer.Option(callback=finite, min=0.1, help="Processor seconds for an entry (10 times that if slow).")
    ] = 120,
) -> int:
    """Write a static site of all entries, with findings and figures: for any web server, or to open from the disk."""
    from leadline import claims
    from leadline.cli import show
    from leadline.data.sources.cache import cache_directory
    from leadline.evidence.registry import entries
    from leadline.evidence.runner import Task
    from leadline.evidence.store import RunDirectory
    from leadline.web.book import prepare, write_book
    from leadline.web.drawings import Drawings

    from ..running import run_left, workers_for

    claims.load()
    tasks = [Task.of(e) for e in entries()]
    asked = {e.id for e in entries(chapter=chapter) if slow or not e.slow}
    prepare(out)  # before the long part: a directory that is refused is refused at once
    with RunDirectory(cache_directory() / "book").open() as run:
        done = (_taken(findings, tasks) if findings else {}) | _kept(run, tasks)
        wanted = [t for t in tasks if t.entry.id in asked or t.key in done]
        with workers_for(jobs, len(wanted)) as workers:
            found = run_left(run, wanted, done, workers, timeout=timeout, announce=True)
        drawings = Drawings(cache_directory() / "drawings")
        with show.advancing("writing pages", len(tasks)) as advance:
            write_book(out, found, drawings, advance)
        drawings.prune()
    show.report(found, {t.entry.id: t.entry for t in tasks}, as_json=False, out=None)
    unrun = f" ({len(tasks) - len(found)} not run)" if len(found) < len(tasks) else ""
    show.output.print(f"Book of {len(tasks)} entries{unrun}: {out / 'index.html'}", highlight=False, soft_wrap=True)
    return 0


def _taken(directory: Path, tasks: "list[Task]") -> "dict[tuple, Finding]":
    """What a directory of `leadline check` has of these tasks, by the present version."""
    from leadline.evidence.store import RunDirectory

    return _done(RunDirectory(directory).existing(), tasks)


def _kept(run: "RunDirectory", tasks: "list[Task]") -> "dict[tuple, Finding]":
    """What earlier books found; if nothing of that can be taken, it is of no use and forgotten."""
    done = _done(run, tasks)
    if not done:
        run.clear()
    return done


def _done(run: "RunDirectory", tasks: "list[Task]") -> "dict[tuple, Finding]":
    from leadline.cli import show

    done = run.done(tasks)
    show.resumed(run, len(done), kept=False)
    return done
