"""`leadline audit`: the theory of whole subjects put to the test on real data."""

from pathlib import Path
from typing import Annotated

import typer


def audit(
    name: Annotated[
        str,
        typer.Argument(
            metavar="rates|noise|image-noise|atlas|image-atlas|paths|sloppiness|double-descent|regularisers|symmetry|memory",
            help="Optimisers; floors of SGD; critical points of linear networks; paths; Fisher spectra; turned images.",
        ),
    ],
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of all randomness.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json.md says what is in it).")] = False,
    out: Annotated[Path | None, typer.Option(help="Keep findings, figures and an index.html here.")] = None,
) -> int:
    """Put the theory of a whole subject to the test on real data, prediction first: half a minute to ten."""
    from leadline._messages import unknown
    from leadline.audits import AUDITS, audit
    from leadline.cli import show
    from leadline.data import DataUnavailable
    from leadline.evidence.parameters import BadInput

    if name not in AUDITS:
        raise BadInput(unknown("audit", name, AUDITS))
    try:
        findings, entries = show.collect(lambda say: audit(name, seed=seed, say=say), "auditing", quiet=json)
    except DataUnavailable as missing:
        raise BadInput(str(missing)) from None
    show.gallery(findings, entries, out)
    show.report(findings, entries, as_json=json, out=out, every=True)
    return show.exit_code(findings, entries)
