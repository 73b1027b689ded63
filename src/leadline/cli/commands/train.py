"""`leadline train`: a training run from a file."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..interrupts import check

if TYPE_CHECKING:
    from leadline.training.recipes import Outcome, Recipe

_LINES = 20  # of progress where there is no terminal to draw a bar on


class Stopped(Exception):
    """A run stopped by Ctrl-C; the message says how to go on."""


def train(
    config: Annotated[Path | None, typer.Argument(metavar="CONFIG.toml", help="What to train.")] = None,
    out: Annotated[Path | None, typer.Option(help="Keep the run here, not where the file says.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run that the directory has.")] = False,
    example: Annotated[bool, typer.Option("--example", help="Print a commented file to start from.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json.md says what is in it).")] = False,
) -> int:
    """Train a network as a file says, with metrics, curves, checkpoints and weights in a directory of the run."""
    from leadline.evidence.parameters import BadInput
    from leadline.training.recipes.config_file import example as example_text

    if example:
        print(example_text(), end="")
        return 0
    if config is None:
        raise BadInput("Say what to train: leadline train CONFIG.toml; --example prints a file to start from.")
    from leadline.training.recipes import RecipeError, read_recipe

    try:
        recipe = read_recipe(config)
    except RecipeError as mistake:
        raise BadInput(str(mistake)) from None
    return _carry_out(recipe, out or Path(recipe.run.directory or f"runs/{config.stem}"), resume, json)


def _carry_out(recipe: "Recipe", directory: Path, resume: bool, as_json: bool) -> int:
    from leadline.cli import show_training as show
    from leadline.training import Diverged
    from leadline.training.recipes.devices import join_cluster
    from leadline.training.recipes.run_directory import train as carry_out

    first = _joined(join_cluster)  # of the processes of a cluster: it alone writes and speaks
    lines = _Lines(recipe.training.epochs) if first and not show.notices.is_terminal else None
    with _told(directory, hold=first):

        def on_epoch(record: dict[str, float]) -> None:
            check()
            if lines is not None:
                lines(record)

        try:
            outcome = carry_out(
                recipe,
                directory,
                resume=resume,
                progress=first and show.notices.is_terminal,
                on_epoch=on_epoch,
                notice=show.say,
            )
        except Diverged as failure:
            if first and len(failure.run.history.get("loss", ())):
                _draw(directory, failure.run.history, f"{recipe.data.name}, {recipe.kind}: the loss diverged")
            show.say(str(failure))
            return 1
        if first:
            _draw(directory, outcome.run.history, _finding(outcome))
    if first:
        show.outcome(outcome, directory, as_json=as_json)
    return 0


def _joined(join: Callable[[], bool]) -> bool:
    from leadline.evidence.parameters import BadInput

    try:
        return join()
    except ValueError as mistake:
        raise BadInput(str(mistake)) from None


@contextlib.contextmanager
def _told(directory: Path, *, hold: bool) -> Iterator[None]:
    """Hold the directory, if told to; what goes wrong with it, with the data or with the disk is one sentence."""
    from leadline.data import DataUnavailable
    from leadline.evidence.parameters import BadInput
    from leadline.evidence.store import RunDirectory

    try:
        with RunDirectory(directory).open() if hold else contextlib.nullcontext():
            yield
    except KeyboardInterrupt:
        raise Stopped("stopped; the same command with --resume goes on from here.") from None
    except BadInput:
        raise
    except (DataUnavailable, ValueError, FileExistsError) as mistake:
        raise BadInput(str(mistake)) from None
    except OSError as error:
        raise BadInput(f"Cannot write to {directory} ({error.strerror or error}).") from None


class _Lines:
    """A line on stderr now and then, each with an epoch's metrics."""

    def __init__(self, epochs: int):
        self.step = -(-epochs // _LINES)

    def __call__(self, record: dict[str, float]) -> None:
        from ..show_training import say

        if record["epoch"] % self.step == 0:
            numbers = {name: value for name, value in record.items() if name not in ("epoch", "step")}
            told = ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in numbers.items())
            say(f"epoch {record['epoch']:g}: {told}")


def _finding(outcome: "Outcome") -> str:
    return f"{outcome.recipe.data.name}, {outcome.recipe.kind}: test accuracy {outcome.test_accuracy:.2%}"


def _draw(directory: Path, history: dict, title: str) -> None:
    """Loss and accuracy against epochs."""
    from leadline._files import write_whole
    from leadline.presentation import figure

    parts = {"training": "", "validation": "validation_"}
    panels = []
    for quantity, label, factor in (("loss", "loss", 1), ("accuracy", "accuracy in %", 100)):
        names = {part: f"{prefix}{quantity}" for part, prefix in parts.items() if f"{prefix}{quantity}" in history}
        points = {part: (history["epoch"], factor * history[name]) for part, name in names.items()}
        if points:
            last = ", ".join(f"{part} {values[1][-1]:.4g}" for part, values in points.items())
            panels.append(figure.curves(f"At the end: {last}", x="epoch", y=label, points=points))
    write_whole(directory / "curves.svg", figure.beside(title, *panels).svg().encode())
