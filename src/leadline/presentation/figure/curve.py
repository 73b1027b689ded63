"""Charts over an axis: curves, histograms, bars."""

import math
from collections.abc import Mapping
from typing import Any

import lazy_loader as lazy
import numpy as np

from .canvas import Figure, Tables, finish, number, reference_lines, series_colour, series_shape

alt = lazy.load("altair")

_CHARACTER = 6.5  # pixels of one in a label, about
MOST_NAMES = 40  # of bars, all of them written

_ROWS_OF_A_LINE, _POINTS_OF_A_RUN = 300, 120

_DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [4, 2], [12, 4])

Curve = tuple[Any, ...]


def curves(
    title: str,
    x: str,
    y: str,
    *,
    lines: Mapping[str, Curve] = {},
    points: Mapping[str, Curve] = {},
    bands: Mapping[str, Curve] = {},
    steps: Mapping[str, Curve] = {},
    rules: Mapping[str, tuple[str, float]] = {},
    log: str = "",
) -> Figure:
    """Predictions as lines (xs, ys), measurements as points (xs, ys) or (xs, ys, low, high), in one picture.

    A band is (xs, low, high); a step curve (xs, ys) holds its value until the next x. A line and points of
    one name share a colour. `log` names the logarithmic axes: "x", "y" or "xy"; what such an axis cannot show (zero,
    negative numbers) is left out. Of a long run along x as many rows are drawn as can be told apart.
    """
    lines, bands, steps = ({k: _thinned(c, log, _ROWS_OF_A_LINE) for k, c in s.items()} for s in (lines, bands, steps))
    points = {k: _thinned(c, log, _POINTS_OF_A_RUN) for k, c in points.items()}
    tables = Tables()
    names = list(dict.fromkeys([*lines, *steps, *points, *bands]))
    colour, shape = series_colour(names), series_shape(names, list(points))
    drawn = [*lines.values(), *steps.values(), *points.values(), *bands.values()]
    across, along = _axis("x" in log, *(c[0] for c in drawn)), _axis("y" in log, *(v for c in drawn for v in c[1:]))
    horizontal = alt.X("x:Q", title=x, axis=across, scale=_scale("x" in log))
    vertical = alt.Y("y:Q", title=y, axis=along, scale=_scale("y" in log))
    layers = []
    for name, (xs, low, high) in bands.items():
        data = _visible(tables, log, x=xs, y=low, y2=high, series=name)
        layers.append(alt.Chart(data).mark_area(opacity=0.18).encode(horizontal, vertical, alt.Y2("y2:Q"), colour))
    for i, (name, (xs, ys)) in enumerate(lines.items()):
        data = _visible(tables, log, x=xs, y=ys, series=name, order=np.arange(np.size(xs)))
        mark = alt.Chart(data).mark_line(strokeWidth=2, strokeDash=_DASHES[i % len(_DASHES)], clip=True)
        layers.append(mark.encode(horizontal, vertical, colour, order="order:Q"))
    for name, (xs, ys) in steps.items():
        data = _visible(tables, log, x=xs, y=ys, series=name, order=np.arange(np.size(xs)))
        mark = alt.Chart(data).mark_line(strokeWidth=1.8, interpolate="step-after")
        layers.append(mark.encode(horizontal, vertical, colour, order="order:Q"))
    for name, values in points.items():
        xs, ys, *bars = values
        if bars:
            data = _visible(tables, log, x=xs, y=bars[0], y2=bars[1], series=name)
            layers.append(
                alt.Chart(data).mark_rule(strokeWidth=1.5).encode(horizontal, vertical, alt.Y2("y2:Q"), colour)
            )
        data = _visible(tables, log, x=xs, y=ys, series=name)
        crowded = np.size(xs) > 200
        mark = alt.Chart(data).mark_point(filled=True, size=18 if crowded else 55, opacity=0.55 if crowded else 0.95)
        layers.append(mark.encode(horizontal, vertical, colour, shape))
    both = (lines or bands) and points
    return finish(
        alt.layer(*layers, *reference_lines(rules, tables)),
        tables,
        title,
        "lines: predicted, points: measured" if both else "",
    )


def histogram(
    title: str,
    x: str,
    *,
    samples: Mapping[str, Any],
    lines: Mapping[str, Curve] = {},
    rules: Mapping[str, tuple[str, float]] = {},
    bins: int = 40,
) -> Figure:
    """Samples as bars of a density, predicted densities as lines (xs, density)."""
    tables = Tables()
    names = list(dict.fromkeys([*samples, *lines]))
    colour = series_colour(names)
    pooled = np.concatenate([np.asarray(s, float).ravel() for s in samples.values()])
    edges = np.histogram_bin_edges(pooled, bins=bins)
    horizontal, vertical = alt.X("x:Q", title=x, scale=alt.Scale(zero=False, nice=False)), alt.Y("y:Q", title="density")
    layers = []
    for name, sample in samples.items():
        density, _ = np.histogram(np.asarray(sample, float), bins=edges, density=True)
        data = tables(x=edges[:-1], x2=edges[1:], y=density, zero=0.0, series=name)
        bar = alt.Chart(data).mark_rect(opacity=0.45, stroke="white", strokeWidth=0.5)
        layers.append(bar.encode(horizontal, alt.X2("x2:Q"), vertical, alt.Y2("zero:Q"), colour))
    for i, (name, (xs, ys)) in enumerate(lines.items()):
        line = alt.Chart(tables(x=xs, y=ys, series=name)).mark_line(strokeWidth=2, strokeDash=_DASHES[i % len(_DASHES)])
        layers.append(line.encode(horizontal, vertical, colour))
    return finish(
        alt.layer(*layers, *reference_lines(rules, tables)),
        tables,
        title,
        "lines: predicted, bars: measured" if lines else "",
    )


def bars(
    title: str,
    x: str,
    y: str,
    *,
    values: Mapping[str, Mapping[str, float]],
    log: bool = False,
    rules: Mapping[str, tuple[str, float]] = {},
) -> Figure:
    """Grouped bars: {series: {category: value}}; on a logarithmic axis each bar starts at the axis' lowest value."""
    tables = Tables()
    flat = [(str(c), float(v), s) for s, group in values.items() for c, v in group.items()]
    categories = list(dict.fromkeys(c for c, _, _ in flat))
    positive = [v for _, v, _ in flat if v > 0]
    floor = 10 ** np.floor(np.log10(min(positive)) - 0.01) if log and positive else 0.0
    if log:
        flat = [f for f in flat if f[1] > 0]
    data = tables(x=[c for c, _, _ in flat], y=[v for _, v, _ in flat], y2=floor, series=[s for _, _, s in flat])
    chart = (
        alt.Chart(data)
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            alt.X("x:N", title=x, sort=categories, axis=_names_axis(categories)),
            alt.Y(
                "y:Q", title=y, axis=_axis(log, floor, positive), scale=_scale(True) if log else alt.Scale(), stack=None
            ),
            alt.Y2("y2:Q"),
            series_colour(list(values)),
            *([alt.XOffset("series:N", sort=list(values))] if len(values) > 1 else []),
        )
    )
    width = float(np.clip(len(categories) * max(22, 18 * len(values)), 240, 640))
    return finish(alt.layer(chart, *reference_lines(rules, tables)).properties(width=width), tables, title)


def _thinned(curve: Curve, log: str, most: int) -> Curve:
    """At most about `most` rows, evenly spread over the axis, where xs rise (a run); a cloud of points stays whole."""
    xs = np.asarray(curve[0], float)
    if xs.ndim != 1 or xs.size <= most or not np.all(np.diff(xs) > 0):
        return curve
    axis = np.log(np.maximum(xs, xs[xs > 0].min())) if "x" in log and xs[-1] > 0 else xs
    kept = np.unique(np.searchsorted(axis, np.linspace(axis[0], axis[-1], most)).clip(0, xs.size - 1))
    return tuple(np.asarray(column)[kept] for column in curve)


def _names_axis(categories: list[str], band: float = math.inf) -> Any:
    """Every name is written, level where they are short and fit into the pixels of a band, else slanted.

    Of very many, as many as fit.
    """
    longest = max(map(len, categories))
    short = longest * len(categories) < 70 and _CHARACTER * longest < band
    return alt.Axis(labelAngle=0 if short else -40, labelOverlap=len(categories) > MOST_NAMES, labelLimit=240)


def _scale(logarithmic: bool) -> Any:
    return alt.Scale(type="log", nice=False) if logarithmic else alt.Scale(zero=False)


def _axis(logarithmic: bool, *values: Any) -> Any:
    """A logarithmic axis has a few round labels: powers of ten, and 2 and 5 times them where these are close."""
    if not logarithmic:
        return alt.Undefined
    flat = np.concatenate([np.asarray(v, float).ravel() for v in values])
    flat = flat[np.isfinite(flat) & (flat > 0)]
    if not flat.size:
        return alt.Undefined
    low, high = np.log10(flat.min()), np.log10(flat.max())
    decades = 10.0 ** np.arange(np.floor(low), np.ceil(high) + 1, max(1, round((high - low) / 7)))
    ticks = decades if high - low > 2.5 else np.outer(decades, (1, 2, 5)).ravel()
    label = "format(datum.value, datum.value >= 1e5 || datum.value < 1e-3 ? '~e' : '~g')"
    return alt.Axis(values=[number(float(t)) for t in ticks], labelExpr=label)


def _visible(tables: Tables, log: str, **columns: Any) -> Any:
    """Rows without the points that a logarithmic axis cannot show."""
    for axis in log:
        for name in (axis, f"{axis}2"):
            if name in columns:
                values = np.asarray(columns[name], float)
                columns[name] = np.where(values > 0, values, np.nan)
    return tables(**columns)
