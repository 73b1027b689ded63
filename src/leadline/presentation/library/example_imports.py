"""The imports that a docstring's example needs outside of its module."""

import ast
import builtins
import functools
import importlib.util
import inspect
import symtable
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

from .signatures import source_tree


class Import(NamedTuple):
    """`from source import name`, or `import source` where the name is empty, under the name `known_as`."""

    source: str
    name: str
    known_as: str

    @property
    def words(self) -> str:
        own = self.name or self.source
        return own if own == self.known_as else f"{own} as {self.known_as}"


def imports(code: str, thing: Any) -> str:
    """The lines that make `code`, the example of `thing`, run on its own.

    Examples are written where the names of their module are at hand. What that module imports is imported here in the
    same way; what it or a neighbour defines comes from the package, if that exports it.
    """
    module = inspect.getmodule(inspect.unwrap(thing))
    needed = sorted({_import_of(name, module) for name in _free_names(code)}) if module else []
    names: dict[str, list[str]] = {}
    for one in needed:
        if one.name:
            names.setdefault(one.source, []).append(one.words)
    plain = [f"import {one.words}" for one in needed if not one.name]
    return "\n".join(plain + [f"from {source} import {', '.join(words)}" for source, words in names.items()])


def _free_names(code: str) -> set[str]:
    """Names that the code reads and nobody in it binds."""
    top = symtable.symtable(code, "example", "exec")
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    read = {s.get_name() for table in _tables(top) for s in table.get_symbols() if s.is_referenced() and _global(s)}
    return read - bound - set(dir(builtins))


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _global(symbol: symtable.Symbol) -> bool:
    return symbol.is_global() or (symbol.is_referenced() and not symbol.is_local() and not symbol.is_free())


def _import_of(name: str, module: ModuleType) -> Import:
    """How a name of a module is had from outside it."""
    found = _imported(module).get(name, Import(module.__name__, name, name))
    parts = found.source.split(".")
    for depth in range(len(parts), 1, -1):
        package = ".".join(parts[:depth])
        if parts[0] == "leadline" and found.name in getattr(importlib.import_module(package), "__all__", ()):
            return found._replace(source=package)
    return found


@functools.cache
def _imported(module: ModuleType) -> dict[str, Import]:
    """What the import statements of a module bind."""
    bound: dict[str, Import] = {}
    package = module.__spec__.parent if module.__spec__ else module.__name__
    for node in source_tree(module).body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                source = alias.name if alias.asname else alias.name.split(".")[0]
                bound[alias.asname or source] = Import(source, "", alias.asname or source)
        elif isinstance(node, ast.ImportFrom):
            source = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            for alias in node.names:
                bound[alias.asname or alias.name] = Import(source, alias.name, alias.asname or alias.name)
    return bound
