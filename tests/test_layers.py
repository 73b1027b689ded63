"""Imports go downwards only, packages do not import each other in a circle, and no folder holds too much."""

import ast
import functools
from graphlib import TopologicalSorter
from pathlib import Path

import leadline

PACKAGE = Path(leadline.__file__).parent
PRODUCT = ("evidence", "presentation", "claims", "audits", "studies", "web", "cli")  # each may import those before it
MODULES = 14  # about a dozen: beyond it a folder is two folders


def layer(package: str) -> int:
    top = package.split(".")[0]
    return PRODUCT.index(top) + 2 if top in PRODUCT else 0 if top == "data" else 1


def is_public(parts: list[str]) -> bool:
    """Whether this is a package that exports names of its own, or one at the top."""
    folder = PACKAGE.joinpath(*parts)
    return (folder / "__init__.pyi").exists() or (len(parts) == 1 and (folder / "__init__.py").exists())


def package_of(parts: list[str]) -> str:
    """The innermost public package on the way to a module: networks.signal.mean_field is of networks."""
    return next((".".join(parts[:k]) for k in range(len(parts), 0, -1) if is_public(parts[:k])), "")


def imported_packages(file: Path) -> set[str]:
    """The public packages of leadline that a file imports, at its top or inside its functions."""
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
        found |= {package_of(name[1:]) for name in names if name[0] == "leadline" and len(name) > 1}
    return found - {""}


@functools.cache
def packages() -> dict[str, set[str]]:
    uses: dict[str, set[str]] = {}
    for file in PACKAGE.rglob("*.py"):
        own = package_of(list(file.relative_to(PACKAGE).with_suffix("").parts))
        if own:
            uses.setdefault(own, set()).update(imported_packages(file) - {own})
    return uses


def test_no_package_imports_one_above_it():
    assert [(a, b) for a, uses in packages().items() for b in uses if layer(b) > layer(a)] == []


def test_packages_do_not_import_each_other_in_a_circle():
    order = list(TopologicalSorter(packages()).static_order())
    assert {"cli", "claims", "evidence", "data", "networks.dissection"} <= set(order)


def test_packages_of_the_library_import_their_own_modules_relatively():
    absolute = []
    for file in PACKAGE.rglob("*.py"):
        own = package_of(list(file.relative_to(PACKAGE).with_suffix("").parts))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            module = (node.module or "") if isinstance(node, ast.ImportFrom) and not node.level else ""
            if module.startswith("leadline.") and package_of(module.split(".")[1:]) == own and layer(own) <= 1:
                absolute.append(f"{file.relative_to(PACKAGE)}:{node.lineno}")
    assert absolute == []


def test_every_folder_says_what_it_holds():
    folders = {file.parent for file in PACKAGE.rglob("*.py")}
    silent = [f for f in folders if not ast.get_docstring(ast.parse((f / "__init__.py").read_text(encoding="utf-8")))]
    assert silent == []


def test_no_folder_holds_more_than_about_a_dozen_modules():
    crowded = {}
    for folder in {file.parent for file in PACKAGE.rglob("*.py")} - {PACKAGE}:
        held = [f for f in folder.iterdir() if f.suffix == ".py" and f.stem != "__init__"]
        if len(held) > MODULES:
            crowded[folder.relative_to(PACKAGE).as_posix()] = len(held)
    assert crowded == {}


def test_no_file_is_named_after_nothing():
    vague = {"utils", "util", "helpers", "helper", "misc", "common", "base", "core", "stuff"}
    assert [f for f in PACKAGE.rglob("*.py") if f.stem in vague] == []
