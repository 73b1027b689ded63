"""The index of all entries, written to `index.json`: run `python -m leadline.claims.indexing` after a change of one.

`leadline claims`, the pages and the completion of ids read it instead of importing the chapters. The same command
writes the index of the library, of which pages show signatures, documentation and examples.
"""

import ast
import importlib
import inspect
import json
from dataclasses import replace
from typing import Any

from leadline.evidence.registry import Entry
from leadline.presentation.library.reading import write_index

from . import INDEX, modules

_TOOLS = ("leadline.data.generator",)  # in nearly every body, and about no entry


def indexed() -> list[dict[str, Any]]:
    """Every entry in reading order, as its module declares it now."""
    from leadline.evidence import registry

    records = []
    for name in modules():
        module = importlib.import_module(name)
        own = [function for function in vars(module).values() if getattr(function, "__module__", "") == name]
        declared = [registry.declared(function) for function in own if callable(function)]
        records += [_with_its_body(entry).to_json() for entry in declared if entry is not None]
    return records


def _with_its_body(entry: Entry) -> Entry:
    """The entry with what its body tells: the library objects it names, before those named by hand, and errata."""
    module = importlib.import_module(entry.module)
    body = ast.parse(inspect.getsource(entry.run))
    called: dict[str, None] = {}
    for node in ast.walk(body):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            called |= _public(getattr(module, node.value.id, None), node.attr)
    errata = any(isinstance(node, ast.Name) and node.id == "erratum" for node in ast.walk(body))
    return replace(entry, shows=tuple(dict.fromkeys([*called, *entry.shows])), errata=errata)


def _public(package: Any, name: str) -> dict[str, None]:
    """{"package.name": None} where that is something public of the library."""
    place = getattr(package, "__name__", "")
    product = ("evidence", "presentation", "claims")
    if f"{place}.{name}" in _TOOLS:
        return {}
    if not inspect.ismodule(package) or not place.startswith("leadline.") or place.split(".")[1] in product:
        return {}
    found = name in getattr(package, "__all__", ()) and not inspect.ismodule(getattr(package, name))
    return {f"{place.removeprefix('leadline.')}.{name}": None} if found else {}


def main() -> None:
    """Write the indexes."""
    lines = ",\n".join(json.dumps(record, ensure_ascii=False) for record in indexed())  # one entry a line
    INDEX.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    write_index()


if __name__ == "__main__":
    main()
