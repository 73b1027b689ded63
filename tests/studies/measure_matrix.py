"""Print the matrix of the zoo: every network by every instrument, with verdict, CPU seconds and peak memory.

    python tests/studies/measure_matrix.py [--only INSTRUMENT]... [NETWORK]...

Each network is studied in a process of its own, without a compilation cache, so that the peak is its own.
"""

import argparse
import multiprocessing
import resource
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))


def studied(name: str, only: list[str]) -> list[tuple[str, str, float, float, str]]:
    """(instrument, verdict, CPU seconds, peak MiB so far, what is said) of one network."""
    from studies.zoo import ZOO

    from leadline.studies.card import card_of
    from leadline.studies.instruments import instruments

    subject, found = ZOO[name](), []
    for instrument in instruments().values():
        if only and instrument.name not in only:
            continue
        begin = time.process_time()
        card = card_of(instrument, subject, raising=False)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        told = card.finding.error or card.skipped or (card.meaning.sentence if card.meaning else "")
        found.append((instrument.name, card.verdict, time.process_time() - begin, peak, told))
        line = f"{name:15} {instrument.name:15} {card.verdict:13} {found[-1][2]:7.1f} s {peak:6.0f} MiB  {told}"
        print(line, flush=True)
    return found


def table(rows: dict[str, list[Any]]) -> str:
    """The matrix in Markdown: verdict and CPU seconds in a cell, the whole and the peak in the last columns."""
    names = [row[0] for row in next(iter(rows.values()))]
    lines = ["| network | " + " | ".join(names) + " | CPU seconds | peak MiB |", "|---" * (len(names) + 3) + "|"]
    for network, found in rows.items():
        cells = [f"{verdict} {seconds:.0f}" for _, verdict, seconds, *_ in found]
        whole = f"{sum(f[2] for f in found):.0f} | {max(f[3] for f in found):.0f}"
        lines.append(f"| {network} | " + " | ".join(cells) + f" | {whole} |")
    return "\n".join(lines)


def main() -> None:
    from studies.zoo import ZOO

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=list(ZOO))
    parser.add_argument("--only", action="append", default=[])
    arguments = parser.parse_args()
    rows, spawning = {}, multiprocessing.get_context("spawn")
    for name in arguments.networks:
        with spawning.Pool(1) as pool:
            rows[name] = pool.apply(studied, (name, arguments.only))
    print(table(rows))


if __name__ == "__main__":
    main()
