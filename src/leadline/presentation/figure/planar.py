"""Pictures in the plane: points with decision regions, and graphs."""

from collections.abc import Mapping, Sequence
from typing import Any

import lazy_loader as lazy
import numpy as np

from .canvas import INK, PALETTE, QUIET, Figure, Tables, extent, finish, series_colour, series_shape

alt = lazy.load("altair")

_SIDE = 380

Point = tuple[float, float]


def plane(
    title: str,
    x: str,
    y: str,
    *,
    points: Mapping[str, Any] = {},
    lines: Mapping[str, tuple[Any, Any]] = {},
    arrows: Mapping[str, tuple[Any, Any]] = {},
    regions: tuple[Any, Any, Any] | None = None,
    sizes: Mapping[str, Any] = {},
    circles: Mapping[str, Any] = {},
    labels: Sequence[tuple[float, float, str]] = (),
    domain: tuple[Point, Point] | None = None,
    axes: bool = True,
) -> Figure:
    """Points (n, 2) by class, curves, arrows and ringed points on equal axes, over regions (xs, ys, values).

    Region values are drawn from orange (lowest) over white to blue (highest), values[i, j] at (xs[j], ys[i]).
    Without `axes` the plane is only paper: a maze, a board.
    """
    tables = Tables()
    (x0, x1), (y0, y1) = domain or _domain(points, lines, arrows, regions)
    unit = _SIDE / max(x1 - x0, y1 - y0)
    axis = alt.Undefined if axes else None
    horizontal = alt.X("x:Q", title=x, axis=axis, scale=alt.Scale(domain=[x0, x1], nice=False, zero=False))
    vertical = alt.Y("y:Q", title=y, axis=axis, scale=alt.Scale(domain=[y0, y1], nice=False, zero=False))
    names = list(dict.fromkeys([*points, *lines, *arrows, *circles]))
    colour, shape = series_colour(names), series_shape(names, list(points), list(circles))
    layers = [_cells(regions, tables, horizontal, vertical)] if regions is not None else []
    for name, (xs, ys) in lines.items():
        data = tables(x=xs, y=ys, series=name, order=np.arange(np.size(xs)))
        mark = alt.Chart(data).mark_line(strokeWidth=2, clip=True)
        layers.append(mark.encode(horizontal, vertical, colour, order="order:Q"))
    for name, array in points.items():
        array = np.asarray(array, float).reshape(-1, 2)
        data = tables(x=array[:, 0], y=array[:, 1], series=name, size=np.asarray(sizes.get(name, 60.0), float))
        mark = alt.Chart(data).mark_point(filled=True, opacity=0.9, clip=True)
        layers.append(
            mark.encode(horizontal, vertical, colour, shape, size=alt.Size("size:Q", scale=None, legend=None))
        )
    for name, array in circles.items():
        array = np.asarray(array, float).reshape(-1, 2)
        mark = alt.Chart(tables(x=array[:, 0], y=array[:, 1], series=name)).mark_point(size=190, strokeWidth=2)
        layers.append(mark.encode(horizontal, vertical, colour))
    for name, (start, end) in arrows.items():
        layers += _arrow(name, start, end, tables, horizontal, vertical, colour)
    if labels:
        data = tables(x=[a for a, _, _ in labels], y=[b for _, b, _ in labels], label=[c for _, _, c in labels])
        mark = alt.Chart(data).mark_text(align="left", dx=7, dy=-7, fontSize=12, color=INK)
        layers.append(mark.encode(horizontal, vertical, text="label:N"))
    size = {"width": unit * (x1 - x0), "height": unit * (y1 - y0)}
    return finish(alt.layer(*layers).properties(**size), tables, title)


def graph(
    title: str, *, nodes: Sequence[tuple[float, float, str, float]], edges: Sequence[tuple[int, int, float]]
) -> Figure:
    """Nodes (x, y, label, value in [0, 1], dark when 1) and weighted edges (from, to, weight): blue +, orange -."""
    tables = Tables()
    xs, ys = [n[0] for n in nodes], [n[1] for n in nodes]
    (x0, x1), (y0, y1) = extent([xs], 0.12), extent([ys], 0.12)
    horizontal = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[x0, x1], nice=False, zero=False))
    vertical = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[y0, y1], nice=False, zero=False))
    layers = []
    if edges:
        heaviest = max(abs(w) for _, _, w in edges) or 1.0
        data = tables(
            x=[xs[i] for i, _, _ in edges],
            y=[ys[i] for i, _, _ in edges],
            x2=[xs[j] for _, j, _ in edges],
            y2=[ys[j] for _, j, _ in edges],
            width=[0.6 + 2.4 * abs(w) / heaviest for _, _, w in edges],
            ink=[PALETTE[0] if w >= 0 else PALETTE[1] for _, _, w in edges],
        )
        layers.append(
            alt.Chart(data)
            .mark_rule(opacity=0.7)
            .encode(
                horizontal,
                vertical,
                alt.X2("x2:Q"),
                alt.Y2("y2:Q"),
                alt.Color("ink:N", scale=None),
                alt.StrokeWidth("width:Q", scale=None),
            )
        )
    fills = [_blend("#ffffff", PALETTE[0], float(np.clip(v, 0, 1))) for *_, v in nodes]
    data = tables(x=xs, y=ys, label=[n[2] for n in nodes], fill=fills)
    layers.append(
        alt.Chart(data)
        .mark_point(size=620, filled=True, stroke=QUIET, strokeWidth=1.2, opacity=1)
        .encode(horizontal, vertical, alt.Fill("fill:N", scale=None))
    )
    inks = ["#ffffff" if v > 0.6 else INK for *_, v in nodes]
    data = tables(x=xs, y=ys, label=[n[2] for n in nodes], ink=inks)
    layers.append(
        alt.Chart(data)
        .mark_text(fontSize=11)
        .encode(horizontal, vertical, text="label:N", color=alt.Color("ink:N", scale=None))
    )
    return finish(alt.layer(*layers).properties(width=520, height=320), tables, title)


def _cells(regions: tuple[Any, Any, Any], tables: Tables, horizontal: Any, vertical: Any) -> Any:
    xs, ys, values = (np.asarray(r, float) for r in regions)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    share = (values - low) / ((high - low) or 1.0)
    fills = [
        _blend(PALETTE[1], "#ffffff", 2 * s) if s < 0.5 else _blend("#ffffff", PALETTE[0], 2 * s - 1)
        for s in share.ravel()
    ]
    dx, dy = (xs[1] - xs[0]) / 2, (ys[1] - ys[0]) / 2
    gx, gy = np.meshgrid(xs, ys)
    data = tables(x=gx - dx, x2=gx + dx, y=gy - dy, y2=gy + dy, fill=fills)
    mark = alt.Chart(data).mark_rect(opacity=0.3, strokeWidth=0, clip=True)
    return mark.encode(horizontal, alt.X2("x2:Q"), vertical, alt.Y2("y2:Q"), alt.Color("fill:N", scale=None))


def _arrow(name: str, start: Any, end: Any, tables: Tables, horizontal: Any, vertical: Any, colour: Any) -> list[Any]:
    (x0, y0), (x1, y1) = ((float(a), float(b)) for a, b in (start, end))
    angle = float(np.degrees(np.arctan2(x1 - x0, y1 - y0)))
    shaft = alt.Chart(tables(x=[x0, x1], y=[y0, y1], series=name)).mark_line(strokeWidth=2.5, clip=True)
    head = alt.Chart(tables(x=x1, y=y1, series=name)).mark_point(
        shape="triangle", size=130, filled=True, opacity=1, angle=angle % 360
    )
    return [shaft.encode(horizontal, vertical, colour), head.encode(horizontal, vertical, colour)]


def _domain(points, lines, arrows, regions) -> tuple[Point, Point]:
    if regions is not None:
        return extent([regions[0]], 0.0), extent([regions[1]], 0.0)
    ends = [np.asarray(p, float) for pair in arrows.values() for p in pair]
    clouds = [np.asarray(p, float).reshape(-1, 2) for p in points.values()] + [e[None] for e in ends]
    if clouds:
        together = np.concatenate(clouds)
        return extent([together[:, 0]], 0.1), extent([together[:, 1]], 0.1)
    return extent([xs for xs, _ in lines.values()]), extent([ys for _, ys in lines.values()])


def _blend(a: str, b: str, share: float) -> str:
    mixed = (round(int(a[k : k + 2], 16) * (1 - share) + int(b[k : k + 2], 16) * share) for k in (1, 3, 5))
    return "#" + "".join(f"{m:02x}" for m in mixed)
