"""The index of all entries, written to `index.json`: run `python -m leadline.claims.indexing` after a change of one.

`leadline claims`, the pages and the completion of ids read it instead of importing the chapters.
"""

import ast
import importlib
import inspect
import json
from dataclasses import replace
from typing import Any

from leadline.evidence.registry import Entry

from . import INDEX, modules

EVERYWHERE = ("data.generator",)  # what the body of most entries calls


def indexed() -> list[dict[str, Any]]:
    """Every entry in reading order, as its module declares it now."""
    from leadline.evidence import registry

    records = []
    for name in modules():
        module = importlib.import_module(name)
        own = [function for function in vars(module).values() if getattr(function, "__module__", "") == name]
        declared = [registry.declared(function) for function in own if callable(function)]
        records += [_with_what_it_calls(entry).to_json() for entry in declared if entry is not None]
    return records


def _with_what_it_calls(entry: Entry) -> Entry:
    """The entry with all library objects that its body names, before those that are named by hand.

    Those in `EVERYWHERE` tell nothing about an entry, and are shown only where they are named.
    """
    module = importlib.import_module(entry.module)
    body = ast.parse(inspect.getsource(entry.run))
    called: dict[str, None] = {}
    for node in ast.walk(body):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            called |= _public(getattr(module, node.value.id, None), node.attr)
    return replace(entry, shows=tuple(dict.fromkeys([*(n for n in called if n not in EVERYWHERE), *entry.shows])))


def _public(package: Any, name: str) -> dict[str, None]:
    """{"package.name": None} where that is something public of the library."""
    place = getattr(package, "__name__", "")
    product = ("evidence", "presentation", "claims")
    if not inspect.ismodule(package) or not place.startswith("leadline.") or place.split(".")[1] in product:
        return {}
    found = name in getattr(package, "__all__", ()) and not inspect.ismodule(getattr(package, name))
    return {f"{place.removeprefix('leadline.')}.{name}": None} if found else {}


def main() -> None:
    """Write the index."""
    lines = ",\n".join(json.dumps(record, ensure_ascii=False) for record in indexed())  # one entry a line
    INDEX.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
