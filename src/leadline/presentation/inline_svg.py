"""A figure as SVG inside a page: small, the same on every run, and one image with a label for those who hear it."""

import functools
import json
import re
from html import escape
from typing import Any

import lazy_loader as lazy

from leadline.evidence import Figure

vl_convert = lazy.load("vl_convert")

FORM = "2"  # of what `inline_svg` makes of a figure; what is kept of another one is drawn anew

_TAG = re.compile(r'<\w(?:[^">]|"[^"]*")*>')
_SPOKEN = re.compile(r' (?:role|aria-\w+)="[^"]*"')
_GEOMETRY = re.compile(r' (d|transform|x|y|x1|x2|y1|y2|width|height|viewBox)="([^"]*)"')
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")
_COLOUR = re.compile(r'"rgb\((\d+), (\d+), (\d+)\)"')
_IDENTITY = re.compile(r'(?<= id=")[^"]+(?=")')

_DRAWN_AS = {"line": "lines", "point": "points", "bar": "bars", "tick": "lines", "area": "bands"}


def inline_svg(figure: Figure) -> str:
    """The figure as compact SVG with its title, axes and series for those who do not see it.

    Vega writes numbers in full and a label on every single mark: half of the text, and nothing that a listener could
    use. It numbers clip paths on from the drawing before, so that the same figure would not be the same twice, and two
    drawings from different processes could collide in a page.
    """
    return _drawn(figure.digest(FORM), json.dumps(figure.spec), described(figure))


@functools.lru_cache(maxsize=256)
def _drawn(digest: str, spec: str, label: str) -> str:
    whole = json.loads(spec)
    silent = whole | {"config": whole.get("config", {}) | {"aria": False}}
    svg = vl_convert.vegalite_to_svg(silent, allowed_base_urls=[])
    svg = _COLOUR.sub(lambda m: '"#{:02x}{:02x}{:02x}"'.format(*map(int, m.groups())), _TAG.sub(_compact, svg))
    for number, name in enumerate(dict.fromkeys(_IDENTITY.findall(svg)), start=1):
        own = f"drawing-{digest}-{number}"
        svg = svg.replace(f' id="{name}"', f' id="{own}"').replace(f"url(#{name})", f"url(#{own})")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)


def described(figure: Figure) -> str:
    """The title of a figure, what its axes are, and which series are lines, points or bars.

    >>> from leadline.presentation import figure
    >>> described(figure.curves("It rises", "t", "v", lines={"law": ([0, 1], [0, 1])}, points={"seen": ([0], [0])}))
    'It rises. v over t; lines: law; points: seen.'
    """
    panels = figure.spec.get("concat", [figure.spec])
    told = [_panel(panel, figure.spec.get("datasets", {})) for panel in panels]
    return " ".join([figure.title.rstrip(".") + ".", *dict.fromkeys(filter(None, told))])


def _panel(panel: dict[str, Any], datasets: dict[str, list[dict[str, Any]]]) -> str:
    axes: dict[str, str] = {}
    series: dict[str, dict[str, None]] = {}
    for layer in panel.get("layer", [panel]):
        encoding = layer.get("encoding", {})
        for axis in ("x", "y"):
            if encoding.get(axis, {}).get("title"):
                axes.setdefault(axis, encoding[axis]["title"])
        mark = layer.get("mark", {})
        kind = _DRAWN_AS.get(mark if isinstance(mark, str) else mark.get("type", ""))
        if kind:
            name = layer.get("data", panel.get("data", {})).get("name", "")  # the data of a single layer stand above it
            rows = datasets.get(name, [])
            series.setdefault(kind, {}).update(dict.fromkeys(str(row["series"]) for row in rows if "series" in row))
    over = [" over ".join(axes[a] for a in ("y", "x") if a in axes)] if axes else []
    named = [f"{kind}: {', '.join(names)}" for kind, names in series.items() if names]
    return "; ".join([*over, *named]) + "." if over or named else ""


def _compact(tag: re.Match) -> str:
    """A tag with its lengths to a hundredth of a pixel and without what is said of it."""
    shown = _SPOKEN.sub("", tag[0])
    return _GEOMETRY.sub(lambda a: f' {a[1]}="{_LONG_NUMBER.sub(_hundredths, a[2])}"', shown)


@functools.lru_cache(maxsize=4096)
def _short(text: str) -> str:
    short = f"{float(text):.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def _hundredths(number: re.Match) -> str:
    return _short(number[0])
