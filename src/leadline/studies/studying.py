"""`leadline.study(model, train, test)`: the whole study from Python."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from leadline.evidence import BadInput

from .budget import share
from .card import Card
from .report import Report, chosen_instruments, describe_subject, run_study
from .study_directory import StudyDirectory
from .subject import Subject
from .subject_making import as_subject


def study(
    model: Any,
    train: Any = None,
    test: Any = None,
    *,
    against: Any = None,
    only: Sequence[str] = (),
    out: Path | str | None = None,
    progress: bool = True,
    minutes: float | None = None,
    memory: int | str | None = None,
    **options: Any,
) -> Report:
    """Measure a network on its data with every instrument that applies, theory beside measurement.

    `model`, `train`, `test` and the options loss, start, step_size, batch, name, rows and seed are those of
    `as_subject`; a `Subject` may be given in place of them. `only` names some of the instruments. With `out`, cards,
    report.json and report.html are written there as they come, and a later call goes on from them. `minutes` (3) and
    `memory` (bytes or a text, "4GiB"; what is free, 4 GiB at most) are the budget: a large network is looked at in
    fewer rows, products and steps, and its cards say so.

    `against` is a second network, of whatever framework, to be shown beside the first (`report.differences()`): it is
    studied on the same rows with the same loss, rows, seed and budget. If it was trained in a way that is known, or
    one of its outputs is to be chosen, give a `Subject`, or the report of a study of its own. Both then have their
    directories in `out`, beside against.html.

    >>> import jax, numpy as np
    >>> from leadline import networks
    >>> x = np.random.default_rng(0).normal(size=(100, 4)).astype(np.float32)
    >>> net = networks.MLP((4, 3), key=jax.random.key(0))
    >>> report = study(net, (x[:60], np.arange(60) % 3), (x[60:], np.arange(40) % 3), only=["anatomy"], progress=False)
    >>> report["anatomy"]["parameters"]
    15
    """
    subject = model if isinstance(model, Subject) else as_subject(model, train, test, **options)
    how: dict[str, Any] = {"only": only, "progress": progress, "minutes": minutes, "memory": memory}
    place = None if out is None else Path(out)
    if against is None:
        return _studied(subject, place, **how)
    second = against if isinstance(against, Report | Subject) else _beside(subject, against, train, test, options)
    names = told_apart(subject.name, second.name)
    first = _studied(subject, place and place / names[0], **how)
    if isinstance(second, Subject):
        second = _studied(second, place and place / names[1], **how)
    if subject.name == second.name:
        first, second = (replace(report, name=name) for report, name in zip((first, second), names, strict=True))
    report = replace(first, against=second)
    if place is not None:
        report.save_against(place)
    return report


def told_apart(first: str, second: str) -> tuple[str, str]:
    """Names of two networks for directories and tables: their own where they differ."""
    return (first, second) if first != second else ("first", "second")


def _beside(subject: Subject, model: Any, train: Any, test: Any, options: dict[str, Any]) -> Subject:
    """A second network on the rows of the first."""
    if train is None:
        raise BadInput(
            "The data of the first network are inside a Subject; give the second network as one, too: "
            "against=leadline.studies.as_subject(...)."
        )
    shared = {name: options[name] for name in ("loss", "data", "rows", "seed") if name in options}
    return as_subject(model, train, test, **shared)


def _studied(
    subject: Subject,
    out: Path | None,
    *,
    only: Sequence[str],
    progress: bool,
    minutes: float | None,
    memory: int | str | None,
) -> Report:
    from rich.progress import Progress

    subject.budget.limit(minutes, memory)
    place = contextlib.nullcontext() if out is None else StudyDirectory(out).open()
    with place as directory, Progress(transient=True, disable=not progress) as bar:
        task = bar.add_task("study", total=sum(map(share, chosen_instruments(only))))
        return collected(
            subject,
            directory,
            only=only,
            before=lambda name: bar.update(task, description=name),
            after=lambda card: bar.advance(task, share(card.name)),
        )


def collected(
    subject: Subject,
    directory: StudyDirectory | None,
    *,
    only: Sequence[str] = (),
    command: str = "",
    before: Callable[[str], None] = lambda name: None,
    after: Callable[[Card], None] = lambda card: None,
) -> Report:
    """The report of a study; with a directory, its cards are taken up and the report is written after every new one."""
    if directory is not None:
        directory.keep_budget(subject)
    report = Report(subject.name, describe_subject(subject), command=command)
    done = {} if directory is None else directory.done(subject)
    for card in run_study(subject, only=only, seed=subject.seed, command=command, done=done, before=before):
        report.cards[card.name] = card
        if directory is not None and card.name not in done:
            directory.keep(card, subject)
            report.save(directory.path)
        after(card)
    if directory is not None:
        report.save(directory.path)
    return report
