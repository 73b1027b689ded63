"""What pages load beside themselves: one stylesheet, one script, the code that draws charts, the search index."""

import contextlib
import functools
import hashlib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from leadline._files import write_whole
from leadline.data.sources.cache import cache_directory
from leadline.evidence import entries
from leadline.presentation.gallery import stylesheet

from .pages.addresses import Addresses
from .pages.search_index import search_index

_STATIC = Path(__file__).parent / "static"
_SCRIPT = "text/javascript; charset=utf-8"


class Asset(NamedTuple):
    content: bytes
    media_type: str

    @property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.content).hexdigest()[:16]}"'


def asset(name: str) -> Asset | None:
    """The asset of this name; nothing but the few that are listed here has one."""
    if name not in _ASSETS:
        return None
    media_type, content = _ASSETS[name]
    return Asset(content().encode(), media_type)


def explorer_style() -> str:
    """The tokens that all of Leadline's pages share, then the layout and components of these."""
    return stylesheet() + (_STATIC / "explorer.css").read_text(encoding="utf-8")


def explorer_script() -> str:
    return (_STATIC / "explorer.js").read_text(encoding="utf-8")


@functools.cache
def vega_script() -> str:
    """Vega, Vega-Lite and Vega-Embed as a classic script that sets `vegaEmbed`; making it takes seconds, so it is kept.

    vl-convert gives the body of a module; the function around it keeps its hundreds of names out of the page's.
    """
    kept = cache_directory() / "explorer" / f"vega-{version('vl-convert-python')}.js"
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    import vl_convert

    script = f'(() => {{\n"use strict";\n{vl_convert.javascript_bundle()}\n}})();\n'
    with contextlib.suppress(OSError):  # a cache that cannot be written to: the next server makes it again
        write_whole(kept, script.encode())
    return script


@functools.cache
def _search_script() -> str:
    return search_index(entries(), Addresses())


_ASSETS: dict[str, tuple[str, Callable[[], str]]] = {
    "explorer.css": ("text/css; charset=utf-8", explorer_style),
    "explorer.js": (_SCRIPT, explorer_script),
    "vega.js": (_SCRIPT, vega_script),
    "search-index.js": (_SCRIPT, _search_script),
}
