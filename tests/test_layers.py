"""Imports go downwards only: cli and web, study, claims, evidence, then the library rooms, then data."""

import ast
import functools
from graphlib import TopologicalSorter
from pathlib import Path

import leadline

PACKAGE = Path(leadline.__file__).parent
PRODUCT = {"cli": 5, "web": 5, "study": 4, "claims": 3, "evidence": 2}
LIBRARY, DATA = 1, 0


def layer(room: str) -> int:
    return DATA if room == "data" else PRODUCT.get(room, LIBRARY)


def imported_rooms(file: Path) -> set[str]:
    """The rooms of leadline that a file imports, at its top or inside its functions."""
    here = ["leadline", *file.relative_to(PACKAGE).with_suffix("").parts]
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level] if node.level else []
            prefix = base + (node.module.split(".") if node.module else [])
            names = [[*prefix, alias.name] for alias in node.names]
        else:
            continue
        found |= {name[1] for name in names if name[0] == "leadline" and len(name) > 1}
    return {room for room in found if (PACKAGE / room).is_dir()}


@functools.cache
def rooms() -> dict[str, set[str]]:
    return {
        room.name: set().union(*(imported_rooms(f) for f in room.rglob("*.py"))) - {room.name}
        for room in PACKAGE.iterdir()
        if (room / "__init__.py").exists()
    }


def test_no_room_imports_one_above_it():
    upwards = [(a, b) for a, uses in rooms().items() for b in uses if layer(b) > layer(a)]
    assert upwards == []


def test_rooms_of_one_layer_do_not_import_each_other_in_a_circle():
    order = list(TopologicalSorter(rooms()).static_order())
    assert {"cli", "claims", "evidence", "data"} <= set(order)


def test_no_file_is_named_after_nothing():
    vague = {"utils", "util", "helpers", "helper", "misc", "common", "base", "core", "stuff"}
    assert [f for f in PACKAGE.rglob("*.py") if f.stem in vague] == []
