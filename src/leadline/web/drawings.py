"""Figures as SVG inside pages: small, the same on every run, and drawn only once."""

import functools
import os
import re
from html import escape
from pathlib import Path

import lazy_loader as lazy

from leadline._files import write_whole
from leadline.evidence import Figure

vl_convert = lazy.load("vl_convert")

_FORM = "1"  # of what `draw` makes of a figure; another one is kept under another name
_MOST_BYTES = 256 * 2**20

_TAG = re.compile(r'<\w(?:[^">]|"[^"]*")*>')
_SPOKEN = re.compile(r' (?:role|aria-\w+)="[^"]*"')
_GEOMETRY = re.compile(r' (d|transform|x|y|x1|x2|y1|y2|width|height|viewBox)="([^"]*)"')
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")
_COLOUR = re.compile(r'"rgb\((\d+), (\d+), (\d+)\)"')
_IDENTITY = re.compile(r'(?<= id=")[^"]+(?=")')


class Drawings:
    """Drawings kept in a directory by what they show, so that a second book draws only what is new.

    A drawing takes about 0.1 s in one process; threads gain nothing, because vl-convert draws one at a time.
    """

    def __init__(self, directory: Path):
        self.directory = directory

    def svg(self, figure: Figure) -> str:
        """The figure as SVG, drawn if it was not before."""
        file = self.directory / f"{figure.digest(_FORM)}.svg"
        try:
            drawn = file.read_text(encoding="utf-8")
            os.utime(file)  # what is in use is the last to be removed
        except FileNotFoundError:
            drawn = draw(figure)
            write_whole(file, drawn.encode())
        return drawn

    def prune(self, most: int = _MOST_BYTES) -> None:
        """Remove the drawings that were not used for longest, beyond `most` bytes in all."""
        seen = [(file.stat(), file) for file in self.directory.glob("*.svg")]
        for status, file in sorted(seen, key=lambda one: -one[0].st_mtime_ns):
            most -= status.st_size
            if most < 0:
                file.unlink(missing_ok=True)


def draw(figure: Figure) -> str:
    """The figure as compact SVG with its title for those who do not see it.

    Vega writes numbers in full and a label on every single mark: half of the text, and nothing that a listener could
    use. It numbers clip paths on from the drawing before, so that the same figure would not be the same twice, and two
    drawings from different processes could collide in a page.
    """
    spec = figure.spec | {"config": figure.spec.get("config", {}) | {"aria": False}}
    svg = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    svg = _COLOUR.sub(lambda m: '"#{:02x}{:02x}{:02x}"'.format(*map(int, m.groups())), _TAG.sub(_compact, svg))
    for number, name in enumerate(dict.fromkeys(_IDENTITY.findall(svg)), start=1):
        own = f"drawing-{figure.digest(_FORM)}-{number}"
        svg = svg.replace(f' id="{name}"', f' id="{own}"').replace(f"url(#{name})", f"url(#{own})")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(figure.title)}" ', 1)


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
