"""`leadline serve`: the explorer in the browser."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..settings import finite


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on; others than 127.0.0.1 let others in.")] = (
        "127.0.0.1"
    ),
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The port; else 8765, or the next one that is free.")
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(help="A further name of this machine to answer to; may be repeated.")
    ] = None,
    studies: Annotated[
        list[Path] | None, typer.Option(help="Show the reports in this directory; may be repeated; else in studies.")
    ] = None,
    findings: Annotated[Path | None, typer.Option(help="Show the findings of this `check --out` directory.")] = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Runs at a time.")] = 2,
    timeout: Annotated[
        float, typer.Option(callback=finite, min=0.1, help="Processor seconds for a run (10 times that if slow).")
    ] = 120,
    open: Annotated[
        bool | None, typer.Option("--open/--no-open", help="Open the browser; else if this is a terminal.")
    ] = None,
) -> None:
    """Serve the explorer: every entry in the browser, to read, to check, and to try to break. Ctrl-C stops it."""
    from leadline.web.explorer.server import serve as run

    default = Path("studies")
    run(
        host=host,
        port=port,
        names=name or [],
        studies=studies or ([default] if default.is_dir() else []),
        findings=findings,
        jobs=jobs,
        timeout=timeout,
        open_browser=sys.stdout.isatty() if open is None else open,
    )
