"""What the terminal shows of datasets and training runs."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from leadline.data.sources.catalogue import Description
from leadline.data.sources.datasets import availability
from leadline.presentation.words import number

from .show import notices, output, vanishing_bar

if TYPE_CHECKING:
    from leadline.training.recipes import Outcome


def say(message: str) -> None:
    """A plain line on stderr."""
    notices.print(message, highlight=False, markup=False, soft_wrap=True)


@contextlib.contextmanager
def fetching() -> Iterator[Callable[[str], None]]:
    """Notices while datasets are fetched: beside a spinner and a clock, or as plain lines without a terminal."""
    with vanishing_bar(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()) as bar:
        task = bar.add_task("looking for the data", start=True)

        def notice(message: str) -> None:
            bar.update(task, description=escape(message))
            if bar.disable or not message.endswith("..."):
                say(message)

        yield notice


def datasets(descriptions: list[Description], *, as_json: bool) -> None:
    """What datasets there are: shapes, sizes, and where each is or comes from."""
    records = []
    for d in descriptions:
        state, where, size = availability(d.name)
        record = {"name": d.name, "kind": d.kind, "title": d.title, "size": _size(d)}
        record |= {"shape": list(d.shape), "train": d.train, "test": d.test}
        records.append(record | {"classes": list(d.classes), "state": state, "where": where, "bytes": size})
    if as_json:
        print(json.dumps(records, ensure_ascii=False, indent=2))
        return
    table = Table("kind", "name", "size", "file", "", "", box=None, pad_edge=False, header_style="bold")
    table.columns[3].justify = "right"
    table.columns[-1].overflow = "fold"
    kinds = list(dict.fromkeys(r["kind"] for r in records))
    before = ""
    for r in sorted(records, key=lambda r: kinds.index(r["kind"])):
        file = "" if r["bytes"] is None else _megabytes(r["bytes"])
        row = (f"[bold]{r['name']}[/]", r["size"], file, r["state"], escape(r["where"]))
        table.add_row(r["kind"] if r["kind"] != before else "", *row)
        before = r["kind"]
    output.print(table, highlight=False)
    waiting = [r["name"] for r in records if r["state"] in ("obtainable", "installed")]
    if waiting:
        output.print(f"Fetch one with [bold]leadline data {waiting[0]}[/].", highlight=False)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB" if size >= 1e6 else f"{max(size / 1e3, 1):.0f} kB"


def _size(d: Description) -> str:
    """How much a dataset holds, in words."""
    return d.size or f"{'×'.join(map(str, d.shape))}, {d.train:,} + {d.test:,}"


def outcome(outcome: "Outcome", directory: Path, *, as_json: bool) -> None:
    """The result of a training run, and where its files are."""
    for warning in outcome.run.warnings:
        say(warning)
    record = {"directory": str(directory)} | outcome.record()
    if as_json:
        print(json.dumps(record, ensure_ascii=False, indent=2))
        return
    output.print(
        f"[bold]{record['dataset']}[/], {record['model']} with {record['parameters']:,} parameters: "
        f"test accuracy [bold]{outcome.test_accuracy:.2%}[/], test loss {number(outcome.test_loss)}",
        highlight=False,
    )
    epochs = f"{record['epochs']} epoch{'s' if record['epochs'] != 1 else ''}"
    losses = outcome.run.history.get("validation_loss")
    best = (
        "" if losses is None else f"; the weights are those of epoch {int(losses.argmin()) + 1}, best on held-out data"
    )
    output.print(f"{epochs}, {record['reason']}, {outcome.seconds:.1f} s{best}", highlight=False)
    output.print(f"Metrics, curves, checkpoints and weights: {directory}", highlight=False, soft_wrap=True)
