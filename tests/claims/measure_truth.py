"""Run entries where their tests do not: at other seeds, at the corners of their ranges, and against the falsifier.

    python tests/claims/measure_truth.py CHAPTER... [--ids ID...] [--seeds 20] [--slow-seeds 3] [--budget 20]
                                         [--parts seeds corners falsify] [--limit SECONDS] --out FILE

Cheap entries come first. One worker process runs them all and keeps its compiled programs; a run that takes more
processor time than the limit (ten times as much for an entry that is marked slow) ends, and nothing else does. Each
result is a line of JSON appended to the file; what the file has of the same sources is not run again. A corner is one
parameter at an end of its range (or at one of its options), the others at their defaults; or all low, or all high.
"""

import argparse
import functools
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import leadline.claims
from leadline.evidence import Choice, Entry, Falsification, Finding, Task, Verdict, Workers, entries, entry
from leadline.evidence.falsifier import Search
from leadline.evidence.runner import collect

HEAVY = Path(__file__).with_name("heavy.txt")
PARTS = ("seeds", "corners", "falsify")


def corners(entry: Entry) -> list[dict[str, Any]]:
    """Settings at the ends of the ranges, each once and none of them the defaults."""
    ends = {
        p.name: list(p.domain.options) if isinstance(p.domain, Choice) else [p.at(0.0), p.at(1.0)]
        for p in entry.parameters
    }
    found = [{name: value} for name, values in ends.items() for value in values]
    found += [{name: values[end] for name, values in ends.items()} for end in (0, -1)]
    complete = [Task.of(entry, setting).parameters for setting in found]
    defaults = Task.of(entry).parameters
    return [s for s, c in zip(found, complete, strict=True) if c != defaults and complete.index(c) == found.index(s)]


def record_of(part: str, task: Task, given: dict[str, Any], finding: Finding) -> dict[str, Any]:
    """What is kept of a run: the comparisons that came out otherwise, and how many misses chance lets expect."""
    statistical = [c for c in finding.comparisons if c.chance > 0 and not c.erratum and not c.unmet]
    return {
        "id": task.entry.id,
        "part": part,
        "given": given,
        "seed": task.seed,
        "source": task.versions["source"],
        "verdict": str(finding.verdict),
        "unexpected": said(finding),
        "unmet": sorted({c.unmet for c in finding.comparisons if c.unmet}),
        "error": finding.error,
        "seconds": finding.seconds,
        "chance": sum(c.chance for c in statistical),
        "misses": sum(c.verdict is Verdict.FAILS for c in statistical),
    }


def said(finding: Finding | None) -> list[str]:
    """The comparisons of a finding that came out otherwise, each in a line."""
    if finding is None:
        return []
    return [
        f"{'erratum holds: ' if c.erratum else 'empirical: ' if c.empirical else ''}{c.what}: "
        f"{c.measured} {c.relation} {c.predicted}" + (f" (chance {c.chance:.2g})" if c.chance else "")
        for c in finding.comparisons
        if not c.as_expected
    ]


def searched(entry: Entry, task: Task, workers: Workers, budget: float, limit: float) -> dict[str, Any]:
    """The falsifier's result. Its last run may end after the budget: a worker that is stopped forgets its programs."""

    def run(task: Task, seconds: float) -> Finding:
        return finding_of(workers, task, limit)

    search = Search(entry, run, budget=budget, seed=0, progress=lambda _: None)
    search.work()
    found: Falsification = search.falsification
    return {
        "id": entry.id,
        "part": "falsify",
        "given": {},
        "seed": 0,
        "source": task.versions["source"],
        "runs": found.runs,
        "by_chance": found.by_chance,
        "violated": found.violated,
        "command": found.worst.command if found.worst and found.violated else "",
        "unexpected": said(found.worst) if found.violated else [],
        "errors": sorted({f"{f.command}: {f.error}" for f in found.errors}),
        "slack": found.worst.slack if found.worst else None,
        "seconds": found.seconds,
    }


def finding_of(workers: Workers, task: Task, limit: float) -> Finding:
    allowed = task.limit(limit)
    return collect(workers.submit(task, allowed), task, allowed)


def results(entry: Entry, workers: Workers, arguments: argparse.Namespace, known: dict) -> Iterator[dict[str, Any]]:
    """Every result of an entry: from the file where it has it, else run now and written there."""
    plain = Task.of(entry)
    seeds = min(arguments.slow_seeds, arguments.seeds) if entry.slow else arguments.seeds
    asked = {
        "seeds": [({}, seed) for seed in range(1, seeds + 1)],
        "corners": [(setting, 0) for setting in corners(entry)],
        "falsify": [({}, 0)],
    }
    for part in arguments.parts:
        for given, seed in asked[part]:
            place = key_of({"id": entry.id, "part": part, "given": given, "seed": seed})
            if known.get(place, {}).get("source") == plain.versions["source"]:
                yield known[place]
                continue
            if part == "falsify":
                record = searched(entry, plain, workers, arguments.budget, arguments.limit)
            else:
                task = Task.of(entry, given, seed)
                record = record_of(part, task, given, finding_of(workers, task, arguments.limit))
            with arguments.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")
            yield record


def key_of(record: dict[str, Any]) -> tuple:
    return record["id"], record["part"], json.dumps(record["given"], sort_keys=True), record["seed"]


def line(entry: Entry, found: Iterable[dict[str, Any]]) -> str:
    """How many came out as expected, part by part, and under it what did not."""
    words, below = [], []
    by_part: dict[str, list[dict[str, Any]]] = {}
    for record in found:
        by_part.setdefault(record["part"], []).append(record)
    for part, records in by_part.items():
        if part == "falsify":
            (record,) = records
            words.append(f"falsify {'VIOLATED' if record['violated'] else 'ok'} in {record['runs']} runs")
            if record["by_chance"]:
                words[-1] += f", {record['by_chance']} by chance"
            below += [f"  falsify: {text} [{record['command']}]" for text in record["unexpected"]]
            below += [f"  falsify: ERROR {text}" for text in record["errors"]]
            continue
        good = sum(not r["error"] and not r["unexpected"] for r in records)
        unmet = sum(r["verdict"] == Verdict.INAPPLICABLE for r in records)
        words.append(f"{part} {good}/{len(records)}" + (f" ({unmet} inapplicable)" if unmet else ""))
        for r in records:
            place = f"seed {r['seed']}" if part == "seeds" else ", ".join(f"{k}={v}" for k, v in r["given"].items())
            below += [f"  {place}: {text}" for text in r["unexpected"]]
            below += [f"  {place}: ERROR {r['error']}"] if r["error"] else []
    marks = " (empirical)" * entry.empirical + f" (slow: {entry.slow})" * bool(entry.slow)
    return "\n".join([f"{entry.id}{marks}: {'; '.join(words)}", *below])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chapters", nargs="*")
    parser.add_argument("--ids", nargs="*", default=[])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--slow-seeds", type=int, default=3, help="for entries that are marked slow")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds of the falsifier for each entry")
    parser.add_argument("--parts", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of processor time for one run")
    parser.add_argument("--out", type=Path, required=True, help="results are appended here, and read again")
    arguments = parser.parse_args()
    leadline.claims.load()
    costs = dict(row.split() for row in HEAVY.read_text().splitlines())
    chosen = [entry(id) for id in arguments.ids]
    chosen += [e for chapter in arguments.chapters for e in entries(chapter=chapter) if e not in chosen]
    chosen.sort(key=lambda e: (bool(e.slow), float(costs.get(e.id, 0))))
    known = {}
    if arguments.out.exists():
        records = map(json.loads, arguments.out.read_text(encoding="utf-8").splitlines())
        known = {key_of(record): record for record in records}  # the last one counts
    told = functools.partial(print, flush=True)
    expected, misses, runs = 0.0, 0, 0
    with Workers(1) as workers:
        for number, chosen_entry in enumerate(chosen, start=1):
            found = []
            try:
                for record in results(chosen_entry, workers, arguments, known):
                    found.append(record)
            except Exception as error:  # of one entry, which ends no other
                told(f"{chosen_entry.id}: stopped by {type(error).__name__}: {error}", file=sys.stderr)
            told(f"[{number}/{len(chosen)}] {line(chosen_entry, found)}")
            at_seeds = [r for r in found if r["part"] == "seeds"]
            expected += sum(r["chance"] for r in at_seeds)
            misses += sum(r["misses"] for r in at_seeds)
            runs += len(at_seeds)
    told(f"Statistical comparisons at {runs} other seeds: {misses} missed; their levels allow {expected:.2f}.")


if __name__ == "__main__":
    main()
