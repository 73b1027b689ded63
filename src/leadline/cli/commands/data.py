"""`leadline data`: the datasets, and fetching them."""

from pathlib import Path
from typing import Annotated

import typer


def data(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Datasets to fetch, if need be.")
    ] = None,
    path: Annotated[Path | None, typer.Option(help="Take it from this directory or file of yours.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json.md says what is in it).")] = False,
) -> None:
    """List the datasets: shapes, sizes and where they are; with names, fetch those, verify them and keep them."""
    from leadline.cli import show_training as show
    from leadline.data.sources.catalogue import CATALOGUE, describe
    from leadline.data.sources.datasets import DataUnavailable, load
    from leadline.evidence.parameters import BadInput

    if path and len(names or []) != 1:
        raise BadInput("--path needs the name of the one dataset that is there, as in leadline data mnist --path DIR.")
    try:
        chosen = [describe(name) for name in dict.fromkeys(names or CATALOGUE)]
        if names:
            with show.fetching() as notice:
                for description in chosen:
                    load(description.name, path, notice=notice)
    except (DataUnavailable, ValueError) as absent:
        raise BadInput(str(absent)) from None
    show.datasets(chosen, as_json=json)
