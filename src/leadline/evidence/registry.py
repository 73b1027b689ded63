"""The registry: every entry of the curriculum under its id, of whatever kind, all executable in the same way."""

import importlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from leadline._messages import unknown

from .parameters import BadInput, Parameter, parameters_of
from .sources import SOURCES
from .statement import read_statement

KINDS = ("model", "method", "instrument", "claim")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry of the curriculum: what it states, and a function that shows whether it is so.

    `run(key, **parameters)` yields comparisons and figures. `shows` names library objects (as "package.name") that
    belong to it beside those that its function calls. `slow` says how long a slow entry takes, `errata` whether it
    runs a form that a source has wrong beside its repair.
    """

    id: str
    kind: str
    title: str
    statement: str
    run: Callable[..., Iterator[Any]] = field(compare=False)
    module: str = ""
    chapter: str = ""
    section: str = ""
    formula: str = ""
    assumes: tuple[str, ...] = ()
    check: str = ""
    sources: tuple[str, ...] = ()
    shows: tuple[str, ...] = ()
    slow: str = ""
    empirical: bool = False
    errata: bool = False
    parameters: tuple[Parameter, ...] = ()

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Entry":
        """The entry that an index describes: its module is imported when it is run."""
        lists = {name: tuple(record[name]) for name in ("assumes", "sources", "shows")}
        parameters = tuple(Parameter.from_json(p) for p in record["parameters"])
        run = _Deferred(record["module"], record["id"])
        fields: dict[str, Any] = record | lists | {"parameters": parameters, "run": run}
        return cls(**fields)

    def to_json(self) -> dict[str, Any]:
        plain = (
            "id",
            "kind",
            "title",
            "chapter",
            "section",
            "module",
            "statement",
            "formula",
            "check",
            "slow",
            "empirical",
            "errata",
        )
        lists = ("assumes", "sources", "shows")
        record: dict[str, Any] = {name: getattr(self, name) for name in plain}
        record |= {name: list(getattr(self, name)) for name in lists}
        return record | {"parameters": [p.to_json() for p in self.parameters]}


class _Deferred:
    """Runs the entry of a module that is not imported yet."""

    def __init__(self, module: str, id: str):
        self.module, self.__name__ = module, id.replace("-", "_")

    def __call__(self, key: Any, **parameters: Any) -> Iterator[Any]:
        return getattr(importlib.import_module(self.module), self.__name__)(key, **parameters)


def stated(kind: str, function: Callable, *, id: str = "", **more: Any) -> Entry:
    """The entry that a function is: its name is the id and its docstring the statement (see `read_statement`)."""
    said = read_statement(function.__doc__ or "")
    return Entry(
        id=id or function.__name__.replace("_", "-"),
        kind=kind,
        title=said.title,
        statement=said.text,
        formula=said.formula,
        assumes=said.assumes,
        check=said.check,
        module=function.__module__,
        run=function,
        **more,
    )


_ENTRIES: dict[str, Entry] = {}
_DECLARED: dict[Callable, Entry] = {}


def _decorator(kind: str) -> Callable:
    def declare(
        *, sources: tuple[str, ...] = (), shows: tuple[str, ...] = (), slow: str = "", empirical: bool = False
    ) -> Callable[[Callable], Callable]:
        def register(function: Callable) -> Callable:
            chapter, section = _place(function.__module__)
            entry = stated(
                kind,
                function,
                chapter=chapter,
                section=section,
                sources=sources,
                shows=shows,
                slow=slow,
                empirical=empirical,
                parameters=parameters_of(function),
            )
            for source in sources:
                if source not in SOURCES:
                    raise TypeError(f"{entry.id}: " + unknown("source", source, SOURCES))
            _DECLARED[function] = entry
            known = _ENTRIES.get(entry.id)
            if known is None:
                _ENTRIES[entry.id] = entry
            elif known.module != entry.module:
                raise TypeError(f"{entry.id} is declared twice: in {known.module} and in {entry.module}.")
            elif not isinstance(known.run, _Deferred):
                _ENTRIES[entry.id] = entry  # the module is imported anew
            return function

        return register

    declare.__doc__ = f"Declare a {kind} of the curriculum: its docstring states it, its body yields comparisons."
    return declare


model, method, instrument, claim = (_decorator(kind) for kind in KINDS)


def _place(module: str) -> tuple[str, str]:
    """leadline.claims.neurons.units.logic → (neurons, units); a module elsewhere is a chapter of its own."""
    parts = module.split(".")
    return (parts[2], parts[3]) if parts[:2] == ["leadline", "claims"] and len(parts) > 4 else (parts[-1], "")


def declared(function: Callable) -> Entry | None:
    """The entry that a function was declared to be, if it was."""
    return _DECLARED.get(function)


def declare(indexed: Iterable[Entry]) -> None:
    """Make the entries of an index known, in its order, before their modules are imported."""
    for entry in indexed:
        _ENTRIES.setdefault(entry.id, entry)


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
        and all(w in f"{e.id} {e.title} {e.statement} {' '.join(e.assumes)}".lower() for w in words)
    ]
