"""`leadline falsify`: try to break a claim."""

from typing import Annotated

import typer

from ..settings import finite


def falsify(
    id: Annotated[str, typer.Argument(help="The id of an entry.")],
    budget: Annotated[float, typer.Option(callback=finite, min=1, help="Seconds to search.")] = 60,
    jobs: Annotated[int, typer.Option(min=0, max=256, help="Worker processes; 0: one a core.")] = 0,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of the search.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json.md says what is in it).")] = False,
) -> int:
    """Search a claim's parameters and seeds for a violation: exit code 1 if one is found."""
    import os

    from leadline import claims
    from leadline.cli import show
    from leadline.evidence import falsifier
    from leadline.evidence.registry import entry

    claims.load()
    chosen = entry(id)
    with show.searching(chosen.id, budget) as progress:
        falsification = falsifier.falsify(
            chosen, budget=budget, jobs=jobs or os.cpu_count() or 1, seed=seed, progress=progress
        )
    show.falsification(falsification, chosen, as_json=json)
    return 1 if falsification.violated else 0
