"""Trying to break a claim: a search over its parameters and seeds for the least slack."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from .comparison import Verdict
from .finding import Finding
from .registry import Entry
from .runner import Task, Workers

_STARTS = 8
_LOCAL_RUNS = 24
_FRESH_SEEDS = 5
_CHANCE_LIMIT = 1e-4
_UNINFORMATIVE = 2.0  # the slack of a run to which the claim did not apply: as good as any other


@dataclass
class Falsification:
    """How a search for a counterexample went.

    `worst` is the finding with the least slack. A miss that only a statistical comparison shows counts as a
    violation once fresh seeds at the same parameters miss too often for chance; `by_chance` counts the others.
    """

    id: str
    runs: int = 0
    by_chance: int = 0
    worst: Finding | None = None
    errors: list[Finding] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def violated(self) -> bool:
        return self.worst is not None and self.worst.verdict is Verdict.FAILS


def falsify(
    entry: Entry,
    *,
    budget: float = 60.0,
    jobs: int = 1,
    seed: int = 0,
    progress: Callable[[Falsification], None] = lambda _: None,
) -> Falsification:
    """Search for the least slack of `entry` for `budget` seconds.

    Each of `jobs` searchers repeats: a few points of a scrambled Sobol sequence over the parameters (on their
    declared scales), each with a seed of its own, then SciPy's Nelder-Mead search from the worst of them.
    """
    with Workers(jobs) as workers:
        search = Search(entry, workers.run, budget=budget, seed=seed, progress=progress)
        searchers = [threading.Thread(target=search.work, args=(i,), daemon=True) for i in range(jobs)]
        try:
            for thread in searchers:
                thread.start()
            for thread in searchers:
                while thread.is_alive():  # joining in short turns keeps Ctrl-C working
                    thread.join(0.2)
        finally:
            search.stop()  # before the workers are: a searcher that is interrupted asks for no other run
    return search.falsification


class _OutOfTime(Exception):
    pass


class Search:
    """What the searchers share: how the falsification goes, and until when.

    `run(task, seconds)` gives a task's finding. `progress` is called with the falsification, in a searcher's thread,
    whenever it changed; no other searcher changes it meanwhile.
    """

    def __init__(
        self,
        entry: Entry,
        run: Callable[[Task, float], Finding],
        *,
        budget: float,
        seed: int,
        progress: Callable[[Falsification], None],
    ):
        self.entry, self.run, self.seed, self.progress = entry, run, seed, progress
        self.falsification = Falsification(entry.id)
        self.start = time.monotonic()
        self.deadline = self.start + budget
        self.lock = threading.Lock()

    def stop(self) -> None:
        """Let the budget be spent; the run under way, which is for `run` to end, counts no more if it fails."""
        self.deadline = time.monotonic()

    def work(self, searcher: int = 0) -> None:
        """Search, as one of several searchers, until the budget is spent."""
        from scipy.optimize import minimize

        points = self._points(searcher)
        try:
            if searcher == 0:
                self._slack(Task.of(self.entry, {}, self.seed))
            while True:
                starts = [(self._slack(self._task(*point)), *point) for point in itertools.islice(points, _STARTS)]
                _, best, seed = min(starts, key=lambda start: start[0])
                if len(best):
                    minimize(
                        lambda u, seed=seed: self._slack(self._task(u, seed)),
                        best,
                        method="Nelder-Mead",
                        bounds=[(0.0, 1.0)] * len(best),
                        options={"maxfev": _LOCAL_RUNS, "initial_simplex": _simplex(best)},
                    )
        except _OutOfTime:
            self.falsification.seconds = round(time.monotonic() - self.start, 1)

    def _points(self, searcher: int) -> Iterator[tuple[np.ndarray, int]]:
        """Endless positions in the unit cube, each with a new seed."""
        from scipy.stats import qmc

        dimension = len(self.entry.parameters)
        sobol = qmc.Sobol(max(dimension, 1), rng=np.random.default_rng([self.seed, searcher]))
        seeds = np.random.default_rng([self.seed, searcher, 1])
        while True:
            for position in sobol.random(_STARTS):
                yield position[:dimension], int(seeds.integers(2**31))

    def _task(self, position: np.ndarray, seed: int) -> Task:
        parameters = self.entry.parameters
        return Task.of(self.entry, {p.name: p.at(float(u)) for p, u in zip(parameters, position, strict=True)}, seed)

    def _slack(self, task: Task) -> float:
        finding = self._run(task)
        if finding.error:
            return _UNINFORMATIVE
        slack = finding.slack
        if finding.verdict is Verdict.FAILS and not self._confirmed(task, finding):
            with self.lock:
                self.falsification.by_chance += 1
            return 0.0
        with self.lock:
            if self.falsification.worst is None or slack < self.falsification.worst.slack:
                self.falsification.worst = finding
                self.progress(self.falsification)
        return min(slack, _UNINFORMATIVE)

    def _run(self, task: Task) -> Finding:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise _OutOfTime
        finding = self.run(task, left)
        if finding.error and time.monotonic() >= self.deadline:
            raise _OutOfTime
        with self.lock:
            self.falsification.runs += 1
            if finding.error:
                self.falsification.errors.append(finding)
            self.progress(self.falsification)
        return finding

    def _confirmed(self, task: Task, finding: Finding) -> bool:
        """Whether the failure is more than bad luck: certain, or repeated on fresh seeds."""
        from scipy.stats import binom

        failing = [c for c in finding.comparisons if c.verdict is Verdict.FAILS and not c.erratum]
        if any(c.chance == 0 for c in failing):
            return True
        chance = sum(c.chance for c in finding.comparisons if not c.erratum)
        seeds = np.random.default_rng([task.seed, 2]).integers(2**31, size=_FRESH_SEEDS)
        again = [self._run(Task(task.entry, task.parameters, int(s))) for s in seeds]
        misses = sum(f.verdict is Verdict.FAILS for f in again)
        return bool(binom.sf(misses - 1, _FRESH_SEEDS, min(chance, 1.0)) < _CHANCE_LIMIT)


def _simplex(start: np.ndarray, size: float = 0.15) -> np.ndarray:
    """A starting simplex wide enough to step over the rounding of whole numbers and choices."""
    corners = np.tile(start, (len(start) + 1, 1))
    for i in range(len(start)):
        corners[i + 1, i] += size if start[i] < 0.5 else -size
    return corners
