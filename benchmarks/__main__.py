"""./run bench: Leadline against its rivals and against the machine."""

import argparse
import datetime
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from leadline._messages import unknown

from .harness import guard
from .harness.case import Case, Growth
from .harness.contest import grow, race
from .harness.environments import ROOT, packages
from .harness.machine import facts, limits
from .harness.outcome import GrowthOutcome, Outcome
from .harness.page import shown_ratio, shown_slope, write_page
from .harness.results import Measured, Results
from .suites import SUITES, reasons, suite

REPETITIONS = 5
NAMED = (  # of the packages of rivals, those that the page names
    "torch",
    "curvlinops-for-pytorch",
    "pyhessian",
    "torchdiffeq",
    "gpytorch",
    "torchattacks",
    "foolbox",
    "neural-tangents",
    "kymatio",
)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench",
        description="Measure Leadline against its rivals and against the machine: JSON, a table and a figure in docs/.",
        epilog="The machine should do nothing else meanwhile. The first run makes the rivals' environments.",
    )
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"which to run; all if none: {', '.join(SUITES)}")
    parser.add_argument("--case", default="", metavar="WORDS", help="only cases whose name has these words")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--quick", action="store_true", help="compare ratios with the committed table; writes nothing")
    instead.add_argument("--page", action="store_true", help="measure nothing, write the page of what was measured")
    parser.add_argument("--repetitions", type=int, metavar="N", help=f"runs of each side, at least 3 [{REPETITIONS}]")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", metavar="DIR", help="where results go [docs]")
    wanted = parser.parse_args()
    for name in wanted.suites:
        if name not in SUITES:
            parser.error(unknown("suite", name, SUITES))
    if wanted.repetitions is not None and wanted.repetitions < 3:
        parser.error(f"--repetitions {wanted.repetitions} is too few for an interval; give at least 3.")
    names = wanted.suites or list(SUITES)
    if wanted.case and not any(wanted.case in case.name for name in names for case in _cases(name)):
        parser.error(f"no case of {', '.join(names)} has {wanted.case!r} in its name; {wanted.out.name}/ lists them.")
    if wanted.page and (wanted.suites or wanted.case or wanted.repetitions):
        parser.error("--page writes the whole page; it takes no suite, --case or --repetitions.")
    if (wanted.quick or wanted.page) and not (wanted.out / "benchmarks.json").exists():
        use, option = ("to compare with", "--quick") if wanted.quick else ("to write the page of", "--page")
        parser.error(f"there is no {wanted.out / 'benchmarks.json'} {use}; run without {option} first.")
    if wanted.page:
        return page(wanted.out)
    if wanted.quick:
        return quick(names, wanted.case, wanted.repetitions or REPETITIONS, wanted.out)
    return full(names, wanted.case, wanted.repetitions or REPETITIONS, wanted.out)


def full(names: list[str], words: str, repetitions: int, out: Path) -> int:
    """Run the suites; what was measured is on disk after every case."""
    results, known, remarks, failed = Results(out / "benchmarks.json"), reasons(), [], False
    for name in names:
        module = suite(name)
        cases = [case for case in _cases(name) if words in case.name]
        if not cases and (words or not hasattr(module, "measure")):
            continue
        measured = _conditions(results, name, cases, keep=bool(words))
        outcomes = (_outcome(case, repetitions) for case in _listed(cases)) if cases else module.measure(_say)
        for outcome in outcomes:
            if isinstance(outcome, Outcome):
                outcome.at(measured.limits)
            measured.put(outcome)
            results.keep(known)
            results.save()
            write_page(results, known, out)
            failed = failed or bool(outcome.refused)
            remarks += outcome.refused
            if outcome.wants_reason and not known[name][outcome.case]:
                remarks.append(f"{outcome.case}: short of what was asked or of half the limit; profile it, say why.")
            _show(outcome)
    for sentence in remarks:
        print(f"bench: {sentence}", file=sys.stderr)
    return 1 if failed else 0


def page(out: Path) -> int:
    """Write the page of what was measured before, with the reasons of now."""
    results, known = Results(out / "benchmarks.json"), reasons()
    results.keep(known)
    write_page(results, known, out)
    return 0


def quick(names: list[str], words: str, repetitions: int, out: Path) -> int:
    """Compare ratios with the committed table; what looks worse is measured again, at length, before it is named."""
    committed, worse = Results(out / "benchmarks.json"), []
    for name in names:
        cases = [case for case in _cases(name) if case.quick and words in case.name]
        for case in _listed([case for case in cases if committed.find(case.name)]):
            before = committed.find(case.name)
            now = _outcome(case, repetitions)
            if guard.loss(now, before) > guard.WORSE:
                now = _outcome(case, 3 * repetitions)
            _show(now)
            if guard.loss(now, before) > guard.WORSE:
                worse.append(guard.sentence(now, before))
    for sentence in worse:
        print(f"bench: worse by more than {guard.WORSE:.0%}: {sentence}", file=sys.stderr)
    if not worse:
        print(f"Nothing got worse by more than {guard.WORSE:.0%}.")
    return 1 if worse else 0


def _conditions(results: Results, name: str, cases: list[Case | Growth], *, keep: bool) -> Measured:
    """A suite's new entry, with the limits of now; outcomes of other cases stay if only some are run again."""
    environments = dict.fromkeys(side.environment for case in cases for side in case.sides if side.environment)
    pinned = {package: version for environment in environments for package, version in packages(environment).items()}
    named = {package: pinned[package] for package in NAMED if package in pinned}
    measured = Measured(datetime.date.today().isoformat(), facts(), limits(), named)
    if keep and name in results.suites:
        measured.outcomes, measured.remark = results.suites[name].outcomes, results.suites[name].remark
    results.suites[name] = measured
    return measured


def _cases(name: str) -> list[Case | Growth]:
    return getattr(suite(name), "CASES", [])


def _listed(cases: list[Case | Growth]) -> Iterator[Case | Growth]:
    """The cases one after the other, with a bar in a terminal and a line each elsewhere."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True) as bar:
        whole = bar.add_task("", total=len(cases), visible=bool(cases))
        for case in cases:
            bar.update(whole, description=case.name)
            if not console.is_terminal:
                _say(case.name)
            yield case
            bar.advance(whole)


def _outcome(case: Case | Growth, repetitions: int) -> Outcome | GrowthOutcome:
    return race(case, repetitions) if isinstance(case, Case) else grow(case, repetitions)


def _say(what: str) -> None:
    print(f"{what} ...", file=sys.stderr, flush=True)


def _show(outcome: Outcome | GrowthOutcome) -> None:
    if isinstance(outcome, GrowthOutcome):
        print(f"  {outcome.case}: slope {shown_slope(outcome)}, in theory {outcome.predicted:g}", flush=True)
        return
    times = ", ".join(f"{s.name} {s.median / outcome.count:.3g} s" for s in outcome.sides if s.median is not None)
    print(f"  {outcome.case}: {shown_ratio(outcome)} times {outcome.best_rival} ({times})", flush=True)


if __name__ == "__main__":
    sys.exit(main())
