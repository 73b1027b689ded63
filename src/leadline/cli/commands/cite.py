"""`leadline cite`: BibTeX for what an entry rests on."""

from typing import Annotated

import typer


def cite(id: Annotated[str, typer.Argument(help="The id of an entry.")]) -> None:
    """Print BibTeX for the sources of an entry."""
    from leadline import claims
    from leadline.evidence.registry import entry
    from leadline.evidence.sources import SOURCES

    claims.load()
    for source in entry(id).sources:
        print(SOURCES[source].bibtex)
