"""Figures of pages, drawn only once."""

import os
from pathlib import Path

from leadline._files import write_whole
from leadline.evidence import Figure
from leadline.presentation.inline_svg import FORM, inline_svg

_MOST_BYTES = 256 * 2**20


class Drawings:
    """Drawings kept in a directory by what they show, so that a second book draws only what is new.

    A drawing takes about 0.1 s in one process; threads gain nothing, because vl-convert draws one at a time.
    """

    def __init__(self, directory: Path):
        self.directory = directory

    def svg(self, figure: Figure) -> str:
        """The figure as SVG, drawn if it was not before."""
        file = self.directory / f"{figure.digest(FORM)}.svg"
        try:
            drawn = file.read_text(encoding="utf-8")
            os.utime(file)  # what is in use is the last to be removed
        except FileNotFoundError:
            drawn = inline_svg(figure)
            write_whole(file, drawn.encode())
        return drawn

    def prune(self, most: int = _MOST_BYTES) -> None:
        """Remove the drawings that were not used for longest, beyond `most` bytes in all."""
        seen = [(file.stat(), file) for file in self.directory.glob("*.svg")]
        for status, file in sorted(seen, key=lambda one: -one[0].st_mtime_ns):
            most -= status.st_size
            if most < 0:
                file.unlink(missing_ok=True)
