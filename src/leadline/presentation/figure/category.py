"""Charts over names: what was predicted and what was measured of each."""

from collections.abc import Mapping
from typing import Any

import lazy_loader as lazy
import numpy as np

from .canvas import Figure, Tables, finish, reference_lines, series_colour, series_shape
from .curve import _axis, _names_axis, _scale

alt = lazy.load("altair")

Named = Mapping[str, float | tuple[float, float, float]]

_BAND = 46  # pixels of a name


def categories(
    title: str,
    x: str,
    y: str,
    *,
    lines: Mapping[str, Mapping[str, float]] = {},
    points: Mapping[str, Named] = {},
    rules: Mapping[str, tuple[str, float]] = {},
    log: bool = False,
) -> Figure:
    """Predictions as short level lines and measurements as points over names: {series: {name: value}}.

    A point may be (value, low, high). A rule, a dashed line across all names, is {"chance": ("y", 0.5)}.
    On a logarithmic axis what it cannot show (zero, negative numbers) is left out.
    """
    tables = Tables()
    series = list(dict.fromkeys([*lines, *points]))
    names = list(dict.fromkeys(name for group in (*lines.values(), *points.values()) for name in group))
    drawn = [_flat(value) for group in (*lines.values(), *points.values()) for value in group.values()]
    colour, shape = series_colour(series), series_shape(series, list(points))
    width = float(np.clip(_BAND * len(names), 200, 640))
    across = alt.X("x:N", title=x, sort=names, axis=_names_axis(names, width / len(names)))
    along = alt.Y("y:Q", title=y, axis=_axis(log, *drawn), scale=_scale(log))
    layers = []
    for name, group in lines.items():
        data = tables(**_columns(group, log), series=name)
        mark = alt.Chart(data).mark_tick(orient="horizontal", thickness=3, size=0.7 * width / len(names), opacity=1)
        layers.append(mark.encode(across, along, colour))
    for name, group in points.items():
        ranged = {k: v for k, v in group.items() if isinstance(v, tuple)}
        if ranged:
            _, low, high = zip(*ranged.values(), strict=True)
            data = tables(x=list(ranged), y=low, y2=high, series=name)
            layers.append(alt.Chart(data).mark_rule(strokeWidth=1.5).encode(across, along, alt.Y2("y2:Q"), colour))
        data = tables(**_columns(group, log), series=name)
        mark = alt.Chart(data).mark_point(filled=True, size=55, opacity=0.95)
        layers.append(mark.encode(across, along, colour, shape))
    both = (lines or rules) and points
    chart = alt.layer(*layers, *reference_lines(rules, tables)).properties(width=width)
    return finish(chart, tables, title, "lines: predicted, points: measured" if both else "")


def _flat(value: Any) -> np.ndarray:
    return np.atleast_1d(np.asarray(value, float))


def _columns(group: Named, log: bool) -> dict[str, list]:
    middle = {name: float(_flat(value)[0]) for name, value in group.items()}
    kept = {name: value for name, value in middle.items() if not log or value > 0}
    return {"x": list(kept), "y": list(kept.values())}
