"""The figure type: a chart as plain data, drawn without a network."""

import functools
import hashlib
import json
from dataclasses import dataclass
from typing import Any

import lazy_loader as lazy

from leadline._records import fitting

vl_convert = lazy.load("vl_convert")

# Pictures without a browser have no fallback for single characters; this font has those of mathematics.
_FONT = "DejaVu Sans"


@dataclass(frozen=True)
class Figure:
    """A chart as a Vega-Lite specification with its data inside; the title says what was found."""

    title: str
    spec: dict[str, Any]

    def svg(self) -> str:
        return self._drawn

    @functools.cached_property
    def _drawn(self) -> str:
        """Drawn once: a report is written anew after every card."""
        return vl_convert.vegalite_to_svg(self.spec)

    def png(self, scale: float = 2.0) -> bytes:
        drawn = (config := self.spec["config"]) | {"font": f"{_FONT}, {config.get('font', 'sans-serif')}"}
        return vl_convert.vegalite_to_png(self.spec | {"config": drawn}, scale=scale)

    def digest(self, *form: Any) -> str:
        """A name for what vl-convert draws of this figure, and for the `form` that is given to it after."""
        shown = json.dumps([*form, vl_convert.__version__, self.title, self.spec], sort_keys=True)
        return hashlib.sha256(shown.encode()).hexdigest()[:24]

    def to_json(self) -> dict[str, Any]:
        return {"title": self.title, "spec": self.spec}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Figure":
        return fitting(cls(record["title"], record["spec"]))

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, Any]:
        return {"image/svg+xml": self.svg(), "text/plain": f"Figure({self.title!r})"}
