"""`leadline study`: one report on a network, theory beside measurement."""

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ..interrupts import check
from ..settings import finite

if TYPE_CHECKING:
    from leadline.studies import Card, Report, Subject, SubjectRequest
    from leadline.studies.study_directory import StudyDirectory


def study(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="[SUBJECT]",
            help="A directory of `leadline train`, a recipe.toml, file.py:object, or a "
            "built-in name: digits, linear, fashion, random-labels, wide, narrow, untrained.",
        ),
    ] = "digits",
    data: Annotated[
        str | None, typer.Option(help="A dataset's name, a .npz, .csv or .parquet file, or file.py:object.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column of a table that is to be predicted.")] = None,
    weights: Annotated[Path | None, typer.Option(help="A .safetensors or .pt file with the network's weights.")] = None,
    loss: Annotated[str | None, typer.Option(help="cross-entropy or squared; else as the targets suggest.")] = None,
    select: Annotated[str | None, typer.Option(help="Which of several outputs: its place (0, 1, ...) or name.")] = None,
    optimiser: Annotated[str | None, typer.Option(help="What it was trained with: sgd, momentum, adam, ...")] = None,
    step: Annotated[float | None, typer.Option(callback=finite, min=0, help="The step size of that optimiser.")] = None,
    momentum: Annotated[
        float | None, typer.Option(callback=finite, min=0, help="The momentum of that optimiser.")
    ] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="The batch size it was trained with.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Use this instrument alone; may be repeated.")] = None,
    against: Annotated[str | None, typer.Option(help="A second subject, to be shown beside the first.")] = None,
    against_weights: Annotated[Path | None, typer.Option(help="The second network's weights, as --weights.")] = None,
    against_select: Annotated[str | None, typer.Option(help="Which of its outputs, as --select.")] = None,
    against_optimiser: Annotated[str | None, typer.Option(help="What it was trained with, as --optimiser.")] = None,
    against_step: Annotated[
        float | None, typer.Option(callback=finite, min=0, help="The step size of that optimiser.")
    ] = None,
    against_momentum: Annotated[
        float | None, typer.Option(callback=finite, min=0, help="The momentum of that optimiser.")
    ] = None,
    against_batch: Annotated[int | None, typer.Option(min=1, help="The batch size it was trained with.")] = None,
    rows: Annotated[int, typer.Option(min=20, help="Look at so many training rows where it is costly.")] = 1000,
    minutes: Annotated[
        float, typer.Option(callback=finite, min=0.01, help="About how long it may take on this machine.")
    ] = 3.0,
    memory: Annotated[
        str | None, typer.Option(help="How much memory it may take: bytes or 4GiB; else what is free, 4 GiB at most.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of samples and probes.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Keep the report here; else in studies/NAME.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what the directory has.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json.md says what is in it).")] = False,
) -> int:
    """Study a network: what theory says of it and what is measured, in one report. Without arguments, on digits."""
    from leadline.cli import show_study
    from leadline.studies import SubjectRequest
    from leadline.studies.report import PAGE
    from leadline.studies.studying import told_apart

    shared = {"data": data, "target": target, "loss": loss, "rows": rows, "seed": seed}
    known = {"weights": weights, "select": select, "optimiser": optimiser, "step": step, "momentum": momentum}
    wish = SubjectRequest(subject, batch=batch, **known, **shared)
    other = _second(
        against,
        shared,
        weights=against_weights,
        select=against_select,
        optimiser=against_optimiser,
        step=against_step,
        momentum=against_momentum,
        batch=against_batch,
    )
    how = _How(only or [], fresh, json, minutes, memory)
    if other is None:
        place = out or Path("studies") / wish.name
        (report,) = _studied([wish], [place], how)
        show_study.report(report, place / PAGE, as_json=json)
        return 1 if "error" in report.verdicts().values() else 0
    place = out or Path("studies") / f"{wish.name}-against-{other.name}"
    reports = _studied([wish, other], [place / name for name in told_apart(wish.name, other.name)], how)
    if wish.name == other.name:  # two files that call their network alike, or one network with two sets of weights
        models = told_apart(wish.model, other.model)
        reports = [replace(report, name=name) for report, name in zip(reports, models, strict=True)]
    first, second = reports
    first = replace(first, against=second)
    show_study.both(first, second, first.save_against(place), as_json=json)
    return 1 if any("error" in r.verdicts().values() for r in reports) else 0


class _How(NamedTuple):
    """What holds for all networks of one command."""

    only: list[str]
    fresh: bool
    quiet: bool
    minutes: float
    memory: str | None


def _second(against: str | None, shared: dict[str, Any], **own: Any) -> "SubjectRequest | None":
    """What is to be shown beside the first network, with its own weights, output and training; None where nothing is.

    Data, loss, rows and seed are those of the first.
    """
    from leadline.evidence.parameters import BadInput
    from leadline.studies import SubjectRequest

    if against is not None:
        return SubjectRequest(against, **own, **shared)
    given = next((name for name, value in own.items() if value is not None), None)
    if given is not None:
        raise BadInput(f"--against-{given} is about a second network; name that with --against.")
    return None


def _studied(wishes: "Sequence[SubjectRequest]", places: Sequence[Path], how: _How) -> "list[Report]":
    """Open every subject, so that a mistake in one is told before any is studied; then run what is not there yet."""
    from leadline.evidence.parameters import BadInput
    from leadline.studies.budget import memory_of
    from leadline.studies.report import chosen_instruments
    from leadline.studies.study_directory import StudyDirectory

    chosen_instruments(how.only)
    if how.memory is not None:
        memory_of(how.memory)
    with contextlib.ExitStack() as opened:
        place = places[0]
        try:
            studies = []
            for wish, place in zip(wishes, places, strict=True):
                directory = opened.enter_context(StudyDirectory(place).open())
                studies.append((wish, directory, _opened(wish, directory, how)))
            reports = []
            for wish, directory, subject in studies:
                place = directory.path
                reports.append(_run(wish, subject, directory, how))
        except OSError as error:
            raise BadInput(f"Cannot write to {place} ({error.strerror or error}); choose another --out.") from None
    return reports


def _opened(wish: "SubjectRequest", directory: "StudyDirectory", how: _How) -> "Subject":
    from leadline.cli import show_study
    from leadline.studies import open_subject

    if how.fresh:
        directory.clear()
    seen = show_study.notices.is_terminal and not how.quiet
    subject = open_subject(wish, directory.path, progress=seen, notice=show_study.say)
    subject.budget.limit(how.minutes, how.memory)
    return subject


def _run(wish: "SubjectRequest", subject: "Subject", directory: "StudyDirectory", how: _How) -> "Report":
    """Run the instruments, and write the report after every card."""
    from leadline.cli import show_study
    from leadline.studies.budget import MINUTES, memory_of
    from leadline.studies.report import chosen_instruments
    from leadline.studies.studying import collected

    command = wish.command() + ("" if how.minutes == MINUTES else f" --minutes {how.minutes:g}")
    command += "" if how.memory is None else f" --memory {memory_of(how.memory)}"
    with show_study.progress(wish.name, chosen_instruments(how.only), quiet=how.quiet) as bar:

        def after(card: "Card") -> None:
            bar.finished(card)
            check()

        return collected(subject, directory, only=how.only, command=command, before=bar.running, after=after)
