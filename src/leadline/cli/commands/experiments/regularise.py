"""`leadline regularise`: which regulariser helps a classifier of these data, and which does not."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...interrupts import check
from ...settings import finite

if TYPE_CHECKING:
    from leadline.regularisation import Arm

    from ...regulariser_sources import Source


def regularise(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A .csv, .parquet or .npz file, the name of a dataset of images, or a recipe as for `leadline train`.",
        ),
    ],
    target: Annotated[str | None, typer.Option(help="The column of a table that is to be predicted.")] = None,
    arm: Annotated[
        list[str] | None,
        typer.Option(help="Only this arm (decay 0.01, dropout 0.5, ...) beside none; may be repeated."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=5, max=1000, help="Networks of each arm.")] = 5,
    num_steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="Steps of Adam; else 1500, or as the recipe says.")
    ] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Rows of a batch; else all up to 512, and 128.")] = None,
    hidden: Annotated[list[int] | None, typer.Option(min=1, help="Width of a hidden layer; else 256 twice.")] = None,
    folds: Annotated[int, typer.Option(min=2, help="One part in so many is held out, another for each seed.")] = 5,
    random_labels: Annotated[
        float,
        typer.Option(callback=finite, min=0, max=1, help="Draw this share of the labels anew (not of test rows)."),
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of all randomness.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Keep the comparison here; else in regularisers/NAME.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json.md says what is in it).")] = False,
) -> int:
    """Compare regularisers of a classifier on your data: the same seeds, test rows read once, paired intervals."""
    from leadline.cli import show_regularisers as show
    from leadline.cli.regulariser_sources import open_source
    from leadline.data import DataUnavailable
    from leadline.evidence.parameters import BadInput

    place = out or Path("regularisers") / Path(data).stem
    more = {"seeds": seeds, "folds": folds, "random_labels": random_labels}
    try:
        source = open_source(data, target, num_steps, hidden, batch, folds, seed)
        record = _compared(source, _arms(arm, source.num_steps), more | {"seed": seed}, place, quiet=json)
    except BadInput:
        raise
    except (DataUnavailable, ValueError) as mistake:
        raise BadInput(str(mistake)) from None
    except OSError as error:
        raise BadInput(f"Cannot write the comparison ({error.strerror or error}); choose another --out.") from None
    if json:
        import json as format

        print(format.dumps(record, ensure_ascii=False, indent=2))
    else:
        show.table(record)
    return 0


def _arms(names: list[str] | None, num_steps: int) -> "tuple[Arm, ...]":
    """All standard arms, or those of these names beside none, with the teachers that they need."""
    from leadline._messages import unknown
    from leadline.evidence.parameters import BadInput
    from leadline.regularisation import standard_arms

    every = {arm.name: arm for arm in standard_arms(num_steps)}
    if not names:
        return tuple(every.values())
    for name in names:
        if name not in every:
            raise BadInput(unknown("arm", name, every))
    wanted = {"none", *names, *(every[name].teacher for name in names)}
    return tuple(arm for name, arm in every.items() if name in wanted)


def _compared(
    source: "Source", arms: "tuple[Arm, ...]", more: dict[str, Any], place: Path, *, quiet: bool
) -> dict[str, Any]:
    """The record of the comparison: from its directory if it is finished there, else trained as far as is missing."""
    import jax

    from leadline.audits.regularisation.comparison_directory import ComparisonDirectory
    from leadline.audits.regularisation.comparison_record import comparison_figure, comparison_record
    from leadline.cli import show_regularisers as show
    from leadline.regularisation import compare_regularisers

    began = time.monotonic()
    settings = source.settings | more | {"arms": {arm.name: arm.changes() for arm in arms}}
    options = {name: value for name, value in more.items() if name != "seed"}
    with ComparisonDirectory(place, settings).open() as directory:
        record = directory.result()
        if record is None:
            with show.training(len(arms), quiet=quiet) as ended:

                def keep(arm: "Arm", *how: Any) -> Any:
                    check()
                    found = directory.keep(arm, *how)
                    ended(f"{arm.name} is done")
                    return found

                (x, y), test = source.parts.train, source.parts.test
                found = compare_regularisers(
                    x,
                    y,
                    None if test is None else (test[0], test[1]),
                    arms=arms,
                    **source.options,
                    **options,
                    keep=keep,
                    seal=directory.sealed,
                    key=jax.random.key(more["seed"]),
                )
            told = {"data": source.settings["data"], "target": source.settings.get("target")}
            told |= {"num_steps": source.num_steps}
            record = told | comparison_record(found) | {"seconds": round(time.monotonic() - began, 1)}
            directory.finish(record, comparison_figure(found))
        return {"directory": str(place), **record, "readings": 1, "refusals": directory.refusals}
