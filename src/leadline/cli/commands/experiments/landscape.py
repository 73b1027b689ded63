"""`leadline landscape`: the loss surface around a trained network, and the way to a second one."""

from pathlib import Path
from typing import Annotated, Any

import typer

_SMALL = """
data.name = "digits"
model = {{kind = "mlp", hidden = [32]}}
training = {{epochs = 30, batch = 64, optimiser = "adam", rate = 0.003, seed = {seed}}}
"""


def landscape(
    run: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="A directory of `leadline train`; else two networks on digits."),
    ] = None,
    other: Annotated[Path | None, typer.Argument(metavar="[OTHER]", help="A second run, to look for a way to.")] = None,
    rows: Annotated[int, typer.Option(min=20, help="Look at so many training images.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of probes and directions.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json.md says what is in it).")] = False,
    out: Annotated[Path | None, typer.Option(help="Keep findings, figures and an index.html here.")] = None,
) -> int:
    """Show the loss surface around a trained network: curvature, gradients, sharpness, a slice, paths to another."""
    from leadline.audits import NetworkAtPoint, landscape_report
    from leadline.cli import show
    from leadline.data import DataUnavailable
    from leadline.evidence.parameters import BadInput
    from leadline.training.recipes import RecipeError, outputs_of

    try:
        with show.working("reading the networks" if run else "training two small networks", quiet=json):
            first, second = _runs(run, other)
    except (RecipeError, DataUnavailable, ValueError, OSError) as mistake:
        raise BadInput(str(mistake)) from None
    here = NetworkAtPoint(
        first.network,
        first.losses,
        outputs_of,
        first.losses.criterion,
        first.images[:rows],
        first.labels[:rows],
        _plain_step(first.recipe),
    )
    given = "".join(f" {path}" for path in (run, other) if path is not None)
    report = landscape_report(
        here, None if second is None else second.network, seed=seed, command=f"leadline landscape{given} --seed {seed}"
    )
    findings, entries = show.collect(report, "measuring", quiet=json)
    show.gallery(findings, entries, out)
    show.report(findings, entries, as_json=json, out=out, every=True)
    return 1 if [f for f in findings if f.error] else 0


def _runs(run: Path | None, other: Path | None) -> tuple[Any, Any]:
    from leadline.training.recipes import RecipeError, parse_recipe, read_run, trained_here

    if run is None:
        return tuple(trained_here(parse_recipe(_SMALL.format(seed=seed))) for seed in (0, 1))
    first = read_run(run)
    if other is None:
        return first, None
    second = read_run(other)
    if (first.recipe.model, first.recipe.data.name) != (second.recipe.model, second.recipe.data.name):
        raise RecipeError(f"{run} and {other} hold different models or data; a path needs two of one architecture.")
    return first, second


def _plain_step(recipe: Any) -> float | None:
    """The step size, where the network was trained by plain gradient descent at a constant one."""
    settings = recipe.training
    plain = settings.optimiser == "sgd" and not getattr(settings, "momentum", 0) and settings.schedule == "constant"
    return settings.rate if plain else None
