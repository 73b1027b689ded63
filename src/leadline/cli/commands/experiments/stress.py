"""`leadline stress`: an optimiser on the worst-case functions."""

from pathlib import Path
from typing import Annotated

import typer


def stress(
    optimiser: Annotated[
        str, typer.Argument(metavar="OPTIMISER", help="A function of the step size: optax.adam, or my_rules.py:make.")
    ],
    set: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set another argument.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json.md says what is in it).")] = False,
    out: Annotated[Path | None, typer.Option(help="Keep findings, figures and an index.html here.")] = None,
) -> int:
    """Put an Optax optimiser, your own too, through worst-case functions: its rate, the bounds it keeps or breaks."""
    from leadline.audits import stress
    from leadline.cli import show
    from leadline.studies import named_function
    from leadline.studies.named_functions import read_settings

    from ...settings import settings_of

    given = settings_of(set or [])
    make = named_function(optimiser)
    command = " ".join(["leadline stress", optimiser, *(f"--set {name}={value}" for name, value in given.items())])
    trials = stress(make, read_settings(given), command=command)
    findings, entries = show.collect(trials, "stressing", quiet=json)
    show.gallery(findings, entries, out)
    show.report(findings, entries, as_json=json, out=out, every=True)
    return 0
