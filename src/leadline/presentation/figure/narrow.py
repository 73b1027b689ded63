"""A figure drawn anew for a phone: as wide as the screen, with letters of the same size."""

import textwrap
from typing import Any

from .canvas import QUIET, Figure

WIDTH = 262  # of the plot: with the numbers of its axis about 328 px, a phone of 360 px less its margins
_LETTERS = 42  # of a line of a title


def narrow(figure: Figure) -> Figure | None:
    """The figure for a narrow screen, its panels below each other; None if it has pictures, which cannot be narrower.

    The title is left out, because a page sets it as text; what is below it stays.
    """
    panels = figure.spec.get("concat", [figure.spec])
    if any(_has_pictures(panel) for panel in panels):
        return None
    spec = _with_short_legends(figure.spec)
    config = spec.get("config", {})
    view = config.get("view", {}) | {"continuousWidth": WIDTH, "continuousHeight": 230}
    below = {"orient": "bottom", "labelLimit": WIDTH}
    spec["config"] = config | {"view": view, "legend": config.get("legend", {}) | below}
    subtitle = spec.pop("title", {}).get("subtitle")
    if subtitle:
        spec["title"] = {"text": subtitle, "fontSize": 12, "fontWeight": "normal", "color": QUIET}
    if "concat" not in spec:
        return Figure(figure.title, _shrunk(spec))
    panels = [_shrunk(panel | {"title": _wrapped(panel.get("title", {}))}) for panel in spec["concat"]]
    return Figure(figure.title, spec | {"concat": panels, "columns": 1})


def _has_pictures(panel: dict[str, Any]) -> bool:
    """Whether there is no horizontal axis: small images on a grid."""
    layers = panel.get("layer", [panel])
    return any("axis" in x and x["axis"] is None for x in (layer.get("encoding", {}).get("x", {}) for layer in layers))


def _shrunk(view: dict[str, Any]) -> dict[str, Any]:
    """A view of a given width at most as wide as the screen, and as much lower."""
    width = view.get("width")
    if not isinstance(width, int | float) or width <= WIDTH:
        return view
    height = {"height": view["height"] * WIDTH / width} if isinstance(view.get("height"), int | float) else {}
    return view | {"width": WIDTH} | height


def _wrapped(title: dict[str, Any]) -> dict[str, Any]:
    text = title.get("text", "")
    whole = " ".join(text) if isinstance(text, list) else text
    return title | {"text": textwrap.wrap(whole, _LETTERS) or [whole]}


def _with_short_legends(part: Any) -> Any:
    """The same with the names of series below each other."""
    if isinstance(part, list):
        return [_with_short_legends(each) for each in part]
    if not isinstance(part, dict):
        return part
    short = {k: v if k == "datasets" else _with_short_legends(v) for k, v in part.items()}
    legend = short.get("legend")
    return short | {"legend": legend | {"columns": 1}} if isinstance(legend, dict) and "columns" in legend else short
