"""Running what is left of a list of tasks, with a progress bar; what is found is kept at once."""

from collections.abc import Mapping, Sequence

from leadline.cli import show
from leadline.evidence import runner
from leadline.evidence.finding import Finding
from leadline.evidence.runner import Task, Workers
from leadline.evidence.store import RunDirectory


def workers_for(jobs: int, tasks: int) -> Workers:
    """`jobs` worker processes, 0 for one a core, but no more than there are tasks: each imports JAX."""
    return runner.Workers(min(jobs or runner.cores(), max(1, tasks)))


def run_left(
    run: RunDirectory,
    tasks: Sequence[Task],
    done: Mapping[tuple, Finding],
    workers: Workers,
    *,
    timeout: float,
    announce: bool,
) -> list[Finding]:
    """The finding of each task: of those that are `done`, and of the others after running them now.

    `announce`: a line for each as it ends, where they are many.
    """
    found = dict(done)
    left = [t for t in tasks if t.key not in found]
    with show.progress(len(tasks), len(tasks) - len(left), quiet=not left) as bar:
        for finding in workers.run_all(left, timeout, bar.running):
            run.append(finding)
            found[finding.key] = finding
            bar.finished(finding, announce=announce and len(tasks) > show.FEW)
    return [found[t.key] for t in tasks]
