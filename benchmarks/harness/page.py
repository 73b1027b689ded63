"""docs/benchmarks.md: the tables, their figure, and what the numbers were measured on."""

from collections.abc import Mapping
from pathlib import Path
from statistics import median

from leadline._files import write_whole

from .outcome import GrowthOutcome, Outcome, SideOutcome
from .results import Measured, Results

_INTRODUCTION = """\
# Benchmarks

`./run bench` makes this page. Each side has a process of its own; before anything is timed, all must have come to the
same answer. Then they run in turn. A *ratio* is the median time of the fastest rival over Leadline's: above 1,
Leadline is faster. In brackets is a 95% interval from resampling the repetitions. *Asked* is the ratio we set out to
reach; below a table is what bounds the cases that miss it, or that are below half of the limit. *Memory* is how far a
process rose above what it held before a run. *Of the limit* is how much of Leadline's time the matrix products (or the
bytes) that the work cannot do without would take at the rate measured in the same run.

Compilation and start-up are not timed, except where they are the case. [How it works](../benchmarks/README.md).

![Ratios with their intervals, one line a case](images/benchmarks.png)
"""


def write_page(results: Results, reasons: Mapping[str, Mapping[str, str]], docs: Path) -> None:
    """The page of all results; `reasons`, suite by suite, say what bounds a case."""
    parts = [_INTRODUCTION]
    for name, suite in results.suites.items():
        parts += [f"## {name.capitalize()}", "", *_tables(suite, reasons[name]), _conditions(suite), ""]
    write_whole(docs / "benchmarks.md", "\n".join(parts).encode())
    if (picture := _picture(results)) is not None:
        write_whole(docs / "images" / "benchmarks.png", picture)


def _tables(suite: Measured, reasons: Mapping[str, str]) -> list[str]:
    races = [o for o in suite.outcomes if isinstance(o, Outcome)]
    growths = [o for o in suite.outcomes if isinstance(o, GrowthOutcome)]
    lines = []
    if races:
        lines += _table(
            ("case", "Leadline", "rivals", "ratio", "asked", "memory", "of the limit"),
            [_race_row(outcome) for outcome in races],
        )
    if growths:
        lines += _table(
            ("case", "sizes", "seconds", "slope", "in theory"), [_growth_row(outcome) for outcome in growths]
        )
    told = [
        f"- {outcome.case}: {reasons[outcome.case] or 'not profiled yet.'}"
        for outcome in suite.outcomes
        if outcome.wants_reason
    ]
    return lines + ([*told, ""] if told else [])


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows)] + [""]


def _race_row(outcome: Outcome) -> tuple[str, ...]:
    ours, rivals = outcome.sides[0], outcome.sides[1:]
    return (
        outcome.case,
        _shown_time(ours, outcome.count),
        "<br>".join(f"{side.name} {_shown_time(side, outcome.count)}" for side in rivals),
        shown_ratio(outcome),
        "" if outcome.asked is None else f"{outcome.asked:g}",
        "<br>".join(f"{side.name} {_bytes(side.bytes)}" for side in outcome.sides if side.bytes and not side.failure),
        "" if outcome.limit_share is None else f"{outcome.limit_share:.0%}",
    )


def _shown_time(side: SideOutcome, count: int) -> str:
    return _time(side.median, count) if side.median is not None else side.failure or "not timed"


def _growth_row(outcome: GrowthOutcome) -> tuple[str, ...]:
    sizes = ", ".join(f"{size:,}" for size in outcome.sizes)
    times = outcome.failure or ", ".join(f"{median(group):.3g}" for group in outcome.seconds)
    return outcome.case, sizes, times, shown_slope(outcome), f"{outcome.predicted:g}"


def shown_slope(outcome: GrowthOutcome) -> str:
    if outcome.slope is None:
        return "none"
    low, high = outcome.interval
    return f"{outcome.slope:.2f} ({low:.2f} to {high:.2f}){' ✗' if outcome.behind else ''}"


def shown_ratio(outcome: Outcome) -> str:
    if outcome.ratio is None:
        return "none"
    interval = f" ({_figure(outcome.interval[0])} to {_figure(outcome.interval[1])})" if outcome.interval else ""
    mark = "" if outcome.asked is None else (" ✓" if outcome.ratio >= outcome.asked else " ✗")
    return f"{_figure(outcome.ratio)}{interval}{mark}"


def _figure(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def _time(seconds: float, count: int) -> str:
    """Seconds of one of the things that a run does, in a unit that fits.

    >>> _time(2.0, 1000)
    '2.00 ms'
    """
    one = seconds / count
    unit, size = next((u, s) for u, s in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("µs", 0.0)) if one >= s)
    shown = one / (size or 1e-6)
    return f"{shown:.3g} {unit}" if shown >= 10 else f"{shown:.2f} {unit}"


def _bytes(number: float) -> str:
    return f"{number / 2**20:.0f} MiB" if number >= 2**20 else f"{number / 2**10:.0f} KiB"


def _conditions(suite: Measured) -> str:
    machine, limits = suite.machine, suite.limits
    rivals = "".join(f", {name} {version}" for name, version in suite.rivals.items())
    repeated = max((len(group) for outcome in suite.outcomes for group in _times(outcome)), default=0)
    times = "once" if repeated == 1 else f"{repeated} times"
    return (
        f"Measured {times} on {suite.date}: {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB, "
        f"Python {machine['python']}, JAX {machine['jax']}{rivals}. The machine's limits then: "
        f"{limits['float32'] / 1e9:.0f} GFlop/s in single and {limits['float64'] / 1e9:.0f} in double precision, "
        f"{limits['bandwidth'] / 1e9:.1f} GB/s of copying.{suite.remark and f' {suite.remark}'}\n"
    )


def _times(outcome: Outcome | GrowthOutcome) -> list[list[float]]:
    return outcome.seconds if isinstance(outcome, GrowthOutcome) else [side.seconds for side in outcome.sides]


def _picture(results: Results) -> bytes | None:
    """Every case's ratio on a logarithmic axis, with its interval and what was asked."""
    import altair as alt

    from leadline.presentation.figure.canvas import INK, QUIET, Tables, finish

    shown = [
        (outcome, name)
        for name, suite in results.suites.items()
        for outcome in suite.outcomes
        if isinstance(outcome, Outcome) and outcome.interval is not None and not outcome.with_itself
    ]
    if not shown:
        return None
    tables, names = Tables(), [outcome.case for outcome, _ in shown]
    place = alt.Y("case:N", title=None, sort=names, axis=alt.Axis(labelLimit=460, labelOverlap=False))
    ratio = alt.X("ratio:Q", title="time of the fastest rival / time of Leadline", scale=alt.Scale(type="log"))
    colour = alt.Color("suite:N", sort=list(results.suites), title="suite")
    data = tables(
        case=names,
        suite=[suite for _, suite in shown],
        ratio=[outcome.ratio for outcome, _ in shown],
        low=[outcome.interval[0] for outcome, _ in shown],
        high=[outcome.interval[1] for outcome, _ in shown],
    )
    asked = [outcome for outcome, _ in shown if outcome.asked is not None]
    wanted = tables(case=[outcome.case for outcome in asked], ratio=[outcome.asked for outcome in asked])
    layers = alt.layer(
        alt.Chart(tables(ratio=[1.0])).mark_rule(color=QUIET, strokeDash=[4, 3]).encode(ratio),
        alt.Chart(data).mark_rule(strokeWidth=2).encode(alt.X("low:Q"), alt.X2("high:Q"), place, colour),
        alt.Chart(data).mark_point(filled=True, size=60, opacity=1).encode(ratio, place, colour),
        alt.Chart(wanted).mark_tick(color=INK, thickness=2, size=14).encode(ratio, place),
    ).properties(width=420, height=20 * len(names))
    ahead = sum(outcome.interval[0] > 1 for outcome, _ in shown)
    behind = sum(outcome.interval[1] < 1 for outcome, _ in shown)
    title = (
        f"{len(shown)} cases: ahead of the fastest rival in {ahead}, behind in {behind}, no difference seen in the rest"
    )
    subtitle = "points: measured, with 95% intervals; ticks: what was asked"
    return finish(layers, tables, title, subtitle).png(scale=1.25)
