"""A trial of an audit: an entry whose statement is made of what was measured before it."""

from collections.abc import Callable, Iterator
from typing import Any

from leadline.evidence.registry import Entry


def trial(id: str, statement: str, run: Callable[..., Iterator[Any]], *, kind: str = "trial", **more: Any) -> Entry:
    """An entry that is run once, by its audit; its title is its id in words."""
    title = id.replace("-", " ").capitalize()
    return Entry(id=id, kind=kind, title=title, statement=statement, run=run, module=__name__, **more)
