"""The theme of all figures, their data, and how a chart becomes a figure."""

import hashlib
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import lazy_loader as lazy
import numpy as np

from leadline.evidence.figure import Figure

alt = lazy.load("altair")

# Okabe and Ito's palette: distinct for colour-blind readers and in grey print; its yellow is too pale for lines.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
INK = "#222222"
QUIET = "#767676"
FONT = "Helvetica, Arial, Liberation Sans, sans-serif"

_THEME = {
    "background": "white",
    "font": FONT,
    "view": {"stroke": None, "continuousWidth": 460, "continuousHeight": 290},
    "title": {
        "anchor": "start",
        "fontSize": 15,
        "fontWeight": 600,
        "color": INK,
        "offset": 12,
        "subtitleColor": QUIET,
        "subtitleFontSize": 12,
    },
    "axis": {
        "labelFontSize": 12,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "labelColor": INK,
        "titleColor": INK,
        "gridColor": "#e6e6e6",
        "domainColor": "#999999",
        "tickColor": "#999999",
        "titlePadding": 8,
        "labelOverlap": True,
        "labelFlush": False,
    },
    "legend": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelColor": INK,
        "titleColor": INK,
        "symbolStrokeWidth": 2,
        "symbolOpacity": 1,
        "labelLimit": 320,
    },
    "range": {"category": list(PALETTE)},
    "mark": {"tooltip": True},
}

_TITLE_CHARACTERS = 68


def finish(chart: Any, tables: "Tables", title: str, subtitle: str = "") -> Figure:
    """Give a chart its title, its data and the theme, and turn it into plain data."""
    heading: dict[str, Any] = {"text": _wrap(title)}
    if subtitle:
        heading["subtitle"] = subtitle
    spec = chart.properties(title=alt.TitleParams(**heading)).to_dict(validate=False)
    spec["datasets"] = tables.values
    spec["config"] = _THEME
    return Figure(title, spec)


def beside(title: str, *figures: Figure, columns: int = 2) -> Figure:
    """Several figures as panels of one, row by row."""
    panels, datasets = [], {}
    for figure in figures:
        panel = {k: v for k, v in figure.spec.items() if k not in ("config", "$schema", "datasets")}
        datasets |= figure.spec["datasets"]
        panel["title"] = panel["title"] | {"text": _wrap(figure.title, 56), "fontSize": 13, "fontWeight": "normal"}
        panels.append(panel)
    return Figure(
        title,
        {
            "$schema": figures[0].spec["$schema"],
            "title": {"text": _wrap(title, 68 * min(columns, len(figures)))},
            "concat": panels,
            "columns": columns,
            "spacing": 30,
            "resolve": {"scale": {"color": "independent", "shape": "independent", "strokeDash": "independent"}},
            "datasets": datasets,
            "config": _THEME,
        },
    )


class Tables:
    """The data of a chart by name, kept out of the chart until it is finished: Altair checks what it holds slowly."""

    def __init__(self) -> None:
        self.values: dict[str, list[dict[str, Any]]] = {}

    def __call__(self, **columns: Any) -> Any:
        """A table from columns; scalars are repeated, rows with a value that is not finite are left out."""
        arrays = {name: _column(values) for name, values in columns.items()}
        length = 0 if any(len(a) == 0 for a in arrays.values()) else max(len(a) for a in arrays.values())
        full = [a * length if len(a) == 1 else a for a in arrays.values()]
        records = (dict(zip(arrays, record, strict=True)) for record in zip(*full, strict=True))
        kept = [r for r in records if None not in r.values()]
        name = hashlib.blake2b(repr(kept).encode(), digest_size=8).hexdigest()
        self.values[name] = kept
        return alt.NamedData(name=name)


def number(value: float) -> float | None:
    """Six significant digits are more than a figure shows; None for what cannot be drawn."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def extent(values: Iterable[Any], margin: float = 0.05) -> tuple[float, float]:
    """The interval that holds all values, a little widened."""
    flat = np.concatenate([np.asarray(v, float).ravel() for v in values])
    low, high = float(np.nanmin(flat)), float(np.nanmax(flat))
    pad = margin * ((high - low) or abs(high) or 1.0)
    return low - pad, high + pad


def series_colour(names: Sequence[str]) -> Any:
    """One colour a series, with a legend below the chart where there is more than one."""
    scale = alt.Scale(domain=list(names), range=[PALETTE[i % len(PALETTE)] for i in range(len(names))])
    return alt.Color("series:N", scale=scale, legend=_legend(names))


def series_shape(names: Sequence[str], pointed: Sequence[str], ringed: Sequence[str] = ()) -> Any:
    """Another shape for each series drawn as points; rings are circles; the others show as a stroke."""
    shapes = {name: SHAPES[i % len(SHAPES)] for i, name in enumerate(pointed)} | dict.fromkeys(ringed, "circle")
    scale = alt.Scale(domain=list(names), range=[shapes.get(name, "stroke") for name in names])
    return alt.Shape("series:N", scale=scale, legend=_legend(names))


def _legend(names: Sequence[str]) -> Any:
    if len(names) < 2:
        return None
    return alt.Legend(title=None, orient="bottom", columns=2 if len(names) > 3 else 3)


def reference_lines(rules: Mapping[str, tuple[str, float]], tables: Tables) -> list[Any]:
    """Labelled dashed lines across the chart: {"capacity 0.138": ("x", 0.138)}."""
    layers = []
    for label, (axis, value) in rules.items():
        data = tables(at=[float(value)], label=label)
        channel = alt.X("at:Q") if axis == "x" else alt.Y("at:Q")
        layers.append(alt.Chart(data).mark_rule(strokeDash=[5, 4], color=QUIET).encode(channel))
        if axis == "x":
            text = alt.Chart(data).mark_text(align="left", baseline="top", dx=4, dy=2, color=QUIET, fontSize=11)
            layers.append(text.encode(alt.X("at:Q"), alt.YValue(0), text="label:N"))
        else:
            text = alt.Chart(data).mark_text(align="left", baseline="bottom", dx=4, dy=-2, color=QUIET, fontSize=11)
            layers.append(text.encode(alt.XValue(0), alt.Y("at:Q"), text="label:N"))
    return layers


def _column(values: Any) -> list[Any]:
    if isinstance(values, str):
        return [values]
    array = np.asarray(values).ravel()
    if array.dtype.kind in "fiub":
        return [number(float(v)) for v in array]
    return [str(v) for v in array]


def _wrap(title: str, width: int = _TITLE_CHARACTERS) -> list[str]:
    return textwrap.wrap(title, width) or [title]
