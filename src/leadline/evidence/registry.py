"""The registry: every entry of the curriculum under its id, of whatever kind, all executable in the same way."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from leadline.suggestions import unknown

from .parameters import BadInput, Parameter, parameters_of
from .sources import SOURCES

KINDS = ("model", "method", "instrument", "claim")


@dataclass(frozen=True)
class Entry:
    """One entry of the curriculum: what it says, and a function that shows whether it is so.

    `run(key, **parameters)` yields comparisons and figures. `shows` names the library objects (as
    "room.name") that a model, method or instrument consists of. `slow` says how long a slow entry takes.
    """

    id: str
    kind: str
    chapter: str
    module: str
    says: str
    formula: str
    sources: tuple[str, ...]
    assumes: tuple[str, ...]
    shows: tuple[str, ...]
    slow: str
    empirical: bool
    parameters: tuple[Parameter, ...]
    run: Callable[..., Iterator[Any]] = field(compare=False)

    def to_json(self) -> dict[str, Any]:
        plain = ("id", "kind", "chapter", "says", "formula", "slow", "empirical")
        lists = ("sources", "assumes", "shows")
        record: dict[str, Any] = {name: getattr(self, name) for name in plain}
        record |= {name: list(getattr(self, name)) for name in lists}
        return record | {"parameters": [p.to_json() for p in self.parameters]}


_ENTRIES: dict[str, Entry] = {}


def _decorator(kind: str) -> Callable:
    def declare(
        id: str,
        *,
        says: str,
        formula: str = "",
        sources: tuple[str, ...] = (),
        assumes: tuple[str, ...] = (),
        shows: tuple[str, ...] = (),
        slow: str = "",
        empirical: bool = False,
    ) -> Callable[[Callable], Callable]:
        for source in sources:
            if source not in SOURCES:
                raise TypeError(f"{id}: " + unknown("source", source, SOURCES))

        def register(function: Callable) -> Callable:
            known = _ENTRIES.get(id)
            if known and (known.module, known.run.__name__) != (function.__module__, function.__name__):
                raise TypeError(f"{id} is declared twice: in {known.module} and in {function.__module__}.")
            _ENTRIES[id] = Entry(
                id, kind, _chapter(function.__module__), function.__module__, says, formula, sources,
                assumes, shows, slow, empirical, parameters_of(function), function,
            )  # fmt: skip
            return function

        return register

    declare.__doc__ = f"Declare a {kind} of the curriculum: the decorated function yields comparisons and figures."
    return declare


model, method, instrument, claim = (_decorator(kind) for kind in KINDS)


def _chapter(module: str) -> str:
    """leadline.claims.neurons.margins -> neurons; a module elsewhere is a chapter of its own."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["leadline", "claims"] and len(parts) > 2 else parts[-1]


def entry(id: str) -> Entry:
    """The entry with this id, or BadInput with the nearest ids."""
    if id not in _ENTRIES:
        raise BadInput(unknown("entry", id, _ENTRIES))
    return _ENTRIES[id]


def entries(*, chapter: str = "", kind: str = "", text: str = "") -> list[Entry]:
    """Entries in the order of the curriculum, by chapter, kind and free text (every word must occur)."""
    chapters = list(dict.fromkeys(e.chapter for e in _ENTRIES.values()))
    if chapter and chapter not in chapters:
        raise BadInput(unknown("chapter", chapter, chapters))
    if kind and kind not in KINDS:
        raise BadInput(unknown("kind", kind, KINDS))
    words = text.lower().split()
    return [
        e
        for e in _ENTRIES.values()
        if chapter in ("", e.chapter)
        and kind in ("", e.kind)
        and all(w in f"{e.id} {e.says} {' '.join(e.assumes)}".lower() for w in words)
    ]
