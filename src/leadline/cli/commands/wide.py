"""`leadline wide`: the infinitely wide network beside the finite one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..settings import finite

if TYPE_CHECKING:
    from leadline.training.recipes import Twin


def wide(
    config: Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="A recipe, as for `leadline train`.")],
    ridge: Annotated[
        float, typer.Option(callback=finite, help="Added to the kernel's diagonal, relative to its mean.")
    ] = 1e-4,
    memory: Annotated[float, typer.Option(callback=finite, help="GiB for a kernel matrix and its computation.")] = 2.0,
    beside: Annotated[Path | None, typer.Option(help="A finished run of the recipe, to compare with.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json.md says what is in it).")] = False,
) -> int:
    """Train the infinitely wide version of a recipe's network, in closed form: exact kernel regression."""
    from leadline.cli import show_training as show
    from leadline.data import DataUnavailable
    from leadline.evidence.parameters import BadInput
    from leadline.training.recipes import RecipeError, read_recipe
    from leadline.training.recipes.infinite_twin import widen

    try:
        recipe = read_recipe(config)
        finite = None if beside is None else _finite(beside, recipe)
        with show.fetching() as notice:
            twin = widen(recipe, ridge=ridge, budget=int(memory * 2**30), notice=notice)
    except MemoryError:
        raise BadInput(
            f"The kernel matrix does not fit into {memory:g} GiB; give --memory more, or set fewer images in [data]."
        ) from None
    except (RecipeError, DataUnavailable, ValueError) as mistake:
        raise BadInput(str(mistake)) from None
    if json:
        import json as format

        print(format.dumps(twin.record() | {"finite_test_accuracy": finite}, ensure_ascii=False, indent=2))
    else:
        _show(twin, finite)
    return 0


def _finite(directory: Path, recipe: object) -> float:
    """The test accuracy of a finished run of the same data and model."""
    import json

    from leadline._files import reading
    from leadline.evidence.parameters import BadInput
    from leadline.training.recipes import read_recipe
    from leadline.training.recipes.run_directory import RESULT

    try:
        there = read_recipe(directory / "config.toml")
        with reading(directory / RESULT, "the result of a run", "train one with `leadline train`"):
            accuracy = float(json.loads((directory / RESULT).read_text(encoding="utf-8"))["test_accuracy"])
    except (OSError, ValueError):
        raise BadInput(f"{directory} has no finished run; train one with `leadline train`.") from None
    if (there.data, there.model) != (recipe.data, recipe.model):
        raise BadInput(f"{directory} holds a run on other data or of another model than this recipe's.")
    return accuracy


def _show(twin: "Twin", finite: float | None) -> None:
    from rich.table import Table

    from ..show import output

    for line in twin.report:
        output.print(line, highlight=False)
    table = Table("", "test accuracy", "leave-one-out", "condition", "seconds", box=None, pad_edge=False)
    table.header_style = "bold"
    names = {"ntk": "infinite width, trained (NTK)", "nngp": "infinite width, Bayes (NNGP)"}
    for column in table.columns[1:]:
        column.justify = "right"
    for result in twin.results:
        table.add_row(
            names[result.kind],
            f"[bold]{result.test_accuracy:.2%}[/]",
            f"{result.leave_one_out_accuracy:.2%}",
            f"{result.condition:.1e}",
            f"{result.seconds:.1f}",
        )
    if finite is not None:
        table.add_row("finite width, trained", f"[bold]{finite:.2%}[/]", "", "", "")
    output.print(table, highlight=False)
    output.print(
        f"{twin.images} training images of {twin.recipe.data.name}, ridge {twin.ridge:g}; at most "
        f"{twin.peak_bytes / 2**30:.1f} GiB of memory",
        highlight=False,
    )
