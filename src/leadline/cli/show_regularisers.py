"""What the terminal shows of a comparison of regularisers."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from .show import output, vanishing_bar
from .show_training import say

_STYLES = {"better": "green", "worse": "bold red", "undecided": "dim", "": ""}


@contextlib.contextmanager
def training(arms: int, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A bar over arms; without a terminal, a line for each as it ends."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("[dim]{task.description}"))
    with vanishing_bar(*columns, hidden=quiet) as bar:
        task = bar.add_task("training", total=arms)

        def ended(text: str) -> None:
            bar.update(task, advance=1, description=escape(text))
            if bar.disable and not quiet:
                say(text)

        yield ended


def table(record: dict[str, Any]) -> None:
    """A line an arm, what was left out, and what the numbers are of.

    Means over seeds; "less none" is the test error less that of none, with Student's 95% interval of the pairs, and p
    is corrected by Holm's method.
    """
    head = ("arm", "error", "calib.", "loss", "gap", "less none", "p", "")
    lines = Table(*head, box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for column in lines.columns:
        column.no_wrap = True
    for column in lines.columns[1:7]:
        column.justify = "right"
    for arm in record["arms"]:
        means = [f"{arm[name]['mean']:.3f}" for name in ("test_error", "calibration_error", "log_loss", "gap")]
        against, verdict = arm["against"], arm["verdict"]
        paired = ("", "")
        if against is not None:
            half = (against["high"] - against["low"]) / 2
            paired = (f"{against['mean']:+.3f} ± {half:.3f}", f"{against['adjusted']:.2g}")
        style = _STYLES[verdict]
        lines.add_row(escape(arm["name"]), *means, *paired, f"[{style}]{verdict}[/]" if style else verdict)
    output.print(lines, highlight=False)
    for one in record["left_out"]:
        output.print(f"[dim]Left out: {escape(one['arm'])}: {escape(one['why'])}.[/]", highlight=False, soft_wrap=True)
    rows = record["rows"]
    output.print(
        "Means over seeds: test error, calibration error, log loss, test less training error; the test error less that "
        "of none with its paired 95% interval, and p after Holm's correction.",
        highlight=False,
        soft_wrap=True,
    )
    output.print(
        f"{record['data']}: {record['seeds']} seeds, {rows['train']} rows to train on, {rows['validation']} held out "
        f"(early stopping alone sees their labels), {rows['test']} test rows, read once "
        f"({record['refusals']} further readings refused).",
        highlight=False,
        soft_wrap=True,
    )
    output.print(f"Result, figure and weights: {record['directory']}", highlight=False, soft_wrap=True)
