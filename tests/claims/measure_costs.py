"""Measure what each entry costs from nothing, and write down those that the fast tests leave out.

    python tests/claims/measure_costs.py [--limit SECONDS] [CHAPTER]...

The cost is CPU time, compilation included, in one process without a compilation cache; entries above the limit are
written to heavy.txt with it. Chapters that are not named keep their lines.
"""

import argparse
import gc
import time
from pathlib import Path

import jax

import leadline.claims
from leadline.evidence import entries, run_entry

HEAVY = Path(__file__).with_name("heavy.txt")
DROPPED_EVERY = 20  # entries, as the workers of `leadline check` do


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chapters", nargs="*", default=leadline.claims.CHAPTERS)
    parser.add_argument("--limit", type=float, default=0.5)
    arguments = parser.parse_args()
    leadline.claims.load()
    known = dict(line.split() for line in HEAVY.read_text().splitlines()) if HEAVY.exists() else {}
    measured = [e for chapter in arguments.chapters for e in entries(chapter=chapter) if not e.slow]
    costs = {id: float(cost) for id, cost in known.items() if id not in {e.id for e in measured}}
    for number, entry in enumerate(measured, start=1):
        begin = time.process_time()
        run_entry(entry)
        costs[entry.id] = time.process_time() - begin
        print(f"{entry.id} {costs[entry.id]:.1f}", flush=True)
        if number % DROPPED_EVERY == 0:
            jax.clear_caches()
            gc.collect()
    order = [e.id for chapter in leadline.claims.CHAPTERS for e in entries(chapter=chapter)]
    lines = [f"{id} {costs[id]:.1f}\n" for id in order if costs.get(id, 0) > arguments.limit]
    HEAVY.write_text("".join(lines))


if __name__ == "__main__":
    main()
