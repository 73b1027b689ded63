"""Charts made of cells: heat maps and grids of small images."""

from collections.abc import Sequence
from typing import Any

import lazy_loader as lazy
import numpy as np

from .canvas import INK, Figure, Tables, finish

alt = lazy.load("altair")

_GAP = 0.12


def heatmap(
    title: str,
    x: str,
    y: str,
    *,
    values: Any,
    xs: Sequence[Any] | None = None,
    ys: Sequence[Any] | None = None,
    colour: str = "value",
    text: bool = False,
    diverging: bool = False,
) -> Figure:
    """A matrix as coloured cells, row by row from the top; `text` writes each number in its cell."""
    tables = Tables()
    matrix = np.asarray(values, float)
    height, width = matrix.shape
    columns = [_label(v) for v in (range(width) if xs is None else xs)]
    lines = [_label(v) for v in (range(height) if ys is None else ys)]
    i, j = np.indices(matrix.shape)
    data = tables(x=[columns[k] for k in j.ravel()], y=[lines[k] for k in i.ravel()], value=matrix)
    cell = float(np.clip(420 / max(width, height), 6, 44))
    across = max(cell, min(44, 420 / width)) if text else cell  # numbers need room, squares are for pictures
    horizontal = alt.X("x:O", title=x, sort=columns, axis=alt.Axis(labelAngle=0, labelOverlap=True))
    vertical = alt.Y("y:O", title=y, sort=lines, axis=alt.Axis(labelOverlap=True))
    chart = (
        alt.Chart(data)
        .mark_rect()
        .encode(horizontal, vertical, alt.Color("value:Q", title=colour, scale=_colours(matrix, diverging)))
    )
    if text:
        middle = (np.nanmin(matrix) + np.nanmax(matrix)) / 2
        ink = np.where(matrix.ravel() > middle, "#ffffff", INK) if not diverging else np.full(matrix.size, INK)
        written = tables(
            x=[columns[k] for k in j.ravel()],
            y=[lines[k] for k in i.ravel()],
            text=[f"{v:.3g}" for v in matrix.ravel()],
            ink=ink,
        )
        label = (
            alt.Chart(written)
            .mark_text(fontSize=11)
            .encode(horizontal, vertical, text="text:N", color=alt.Color("ink:N", scale=None))
        )
        chart = alt.layer(chart, label).resolve_scale(color="independent")
    return finish(chart.properties(width=across * width, height=cell * height), tables, title)


def images(title: str, *, images: Sequence[tuple[str, Any]], columns: int = 10, diverging: bool = False) -> Figure:
    """Small images in a grid, each with its label below, on one common scale of greys (or two colours around 0)."""
    tables = Tables()
    arrays = [np.asarray(a, float) for _, a in images]
    height, width = arrays[0].shape
    step_x, step_y = width * (1 + _GAP), height * (1 + _GAP) + max(height * 0.14, 1.6)
    parts: dict[str, list[Any]] = {"x": [], "y": [], "value": []}
    for k, array in enumerate(arrays):
        i, j = np.indices(array.shape)
        parts["x"].append(j.ravel() + (k % columns) * step_x)
        parts["y"].append(i.ravel() + (k // columns) * step_y)
        parts["value"].append(array.ravel())
    px, py, value = (np.concatenate(parts[name]) for name in ("x", "y", "value"))
    across, down = min(columns, len(images)), -(-len(images) // columns)
    pixel = float(np.clip(900 / (across * step_x), 2, 12))
    size = {"width": pixel * across * step_x, "height": pixel * down * step_y}
    horizontal = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, across * step_x], nice=False))
    vertical = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[down * step_y, 0], nice=False))
    scale = _colours(value, True) if diverging else _greys(value)
    cells = (
        alt.Chart(tables(x=px, x2=px + 1, y=py, y2=py + 1, value=value))
        .mark_rect(strokeWidth=0.4)  # a stroke in the colour of the pixel closes the seams between pixels
        .encode(
            horizontal,
            alt.X2("x2:Q"),
            vertical,
            alt.Y2("y2:Q"),
            alt.Fill("value:Q", legend=None, scale=scale),
            alt.Stroke("value:Q", legend=None, scale=scale),
        )
    )
    labels = (
        alt.Chart(
            tables(
                x=[(k % columns) * step_x + width / 2 for k in range(len(images))],
                y=[(k // columns) * step_y + height * 1.02 for k in range(len(images))],
                label=[label for label, _ in images],
            )
        )
        .mark_text(baseline="top", fontSize=11, color=INK, limit=pixel * step_x)
        .encode(horizontal, vertical, text="label:N")
    )
    return finish(alt.layer(cells, labels).properties(**size), tables, title)


def _greys(values: np.ndarray) -> Any:
    return alt.Scale(domain=[float(np.nanmin(values)), float(np.nanmax(values))], range=["#f4f4f4", "#1a1a1a"])


def _colours(values: np.ndarray, diverging: bool) -> Any:
    if not diverging:
        return alt.Scale(scheme="blues" if np.nanmin(values) >= 0 else "viridis")
    reach = float(np.nanmax(np.abs(values))) or 1.0
    return alt.Scale(domain=[-reach, 0, reach], range=["#D55E00", "#f7f7f7", "#0072B2"])


def _label(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float | np.number) else str(value)
