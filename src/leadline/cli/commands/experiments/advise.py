"""`leadline advise`: step size, momentum and batch from measured constants, and the runs that follow."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...settings import finite

if TYPE_CHECKING:
    from leadline.stochastic import Advice


def advise(
    config: Annotated[
        Path | None,
        typer.Argument(metavar="[CONFIG.toml]", help="A recipe, as for `leadline train`; else digits, convex."),
    ] = None,
    accuracy: Annotated[
        float | None, typer.Option(callback=finite, help="Gap to reach; else 1% of the present one.")
    ] = None,
    penalty: Annotated[float, typer.Option(callback=finite, min=1e-6, help="Ridge of the digits problem.")] = 0.01,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of the batches.")] = 0,
    most: Annotated[int, typer.Option(min=100, help="Cut the runs after so many steps.")] = 20_000,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json.md says what is in it).")] = False,
    out: Annotated[Path | None, typer.Option(help="Keep findings, figures and an index.html here.")] = None,
) -> int:
    """Recommend step size, momentum and batch from the constants of a loss, then train so and compare."""
    import jax

    from leadline.audits import advice_report
    from leadline.cli import show
    from leadline.data import DataUnavailable
    from leadline.evidence.parameters import BadInput
    from leadline.stochastic import advise
    from leadline.training.recipes import RecipeError

    command = f"leadline advise{'' if config is None else f' {config}'} --seed {seed}"
    with jax.enable_x64(True):
        try:
            with show.working("measuring the loss", quiet=json):
                problem, start = _problem(config, penalty)
                advice = advise(problem, start, accuracy=accuracy)
        except (RecipeError, DataUnavailable, ValueError) as mistake:
            raise BadInput(str(mistake)) from None
        trials = advice_report(advice, problem, start, seed=seed, command=command, max_steps=most)
        findings, entries = show.collect(trials, "following the advice", quiet=json)
    show.gallery(findings, entries, out)
    if json:
        import json as format

        record = {"advice": _record(advice), "findings": [f.to_json(figures=False) for f in findings]}
        print(format.dumps(record, ensure_ascii=False, indent=2))
    else:
        _show(advice)
        show.report(findings, entries, as_json=False, out=out, every=True)
    return 0


def _problem(config: Path | None, penalty: float) -> tuple[Any, Any]:
    import jax.numpy as jnp

    from leadline.optimisation import digits_softmax
    from leadline.stochastic import as_finite_sum, finite_softmax
    from leadline.training.recipes import read_recipe, row_loss

    if config is None:
        return finite_softmax(digits_softmax(penalty)), jnp.zeros(650)
    seen = row_loss(read_recipe(config))
    return as_finite_sum(seen.loss, seen.network, seen.data)


def _record(advice: "Advice") -> dict[str, Any]:
    from leadline.evidence.comparison import json_number

    estimates = {
        "smoothness": advice.smoothness,
        "convexity": advice.convexity,
        "gradient_noise": advice.noise.trace,
        "critical_batch": advice.noise.noise_scale,
        "floor_noise": advice.floor_noise,
    }
    return {
        **{name: {k: json_number(v) for k, v in estimate._asdict().items()} for name, estimate in estimates.items()},
        "convex": advice.convex,
        "certified": advice.certified,
        "condition": advice.condition,
        "step_limit": advice.step_limit,
        "gap": advice.gap,
        "accuracy": advice.accuracy,
        "plans": [plan._asdict() for plan in (advice.full, advice.batches)],
        "remarks": list(advice.remarks),
    }


def _show(advice: "Advice") -> None:
    from rich.table import Table

    from ...show import output

    constant = "strong convexity m" if advice.convex else "PL constant μ (here)"
    table = Table("constant", "value", "from", "to", "how", box=None, pad_edge=False, header_style="bold")
    for column in table.columns[1:4]:
        column.justify = "right"
    for name, e in (
        ("smoothness L", advice.smoothness),
        (constant, advice.convexity),
        ("gradient noise tr C, here", advice.noise.trace),
        ("critical batch tr C/‖g‖², here", advice.noise.noise_scale),
        ("gradient noise that sets the floor", advice.floor_noise),
    ):
        how = f"{'certified' if e.certified else 'measured'}: {e.how}"
        table.add_row(name, f"{e.value:.4g}", f"{e.low:.4g}", f"{e.high:.4g}", how)
    output.print(table, highlight=False)
    output.print(
        f"Condition number {advice.condition:.4g}; steps above 2/L = {advice.step_limit:.4g} diverge; gap "
        f"{advice.gap:.4g}, asked for {advice.accuracy:.3g}.",
        highlight=False,
    )
    for plan in (advice.full, advice.batches):
        floor = f"; floor {plan.floor:.3g}" if plan.floor else ""
        output.print(f"[bold]{plan}[/]{floor}", highlight=False)
    for remark in advice.remarks:
        output.print(f"[dim]Note: {remark}.[/]", highlight=False)
    output.print()
