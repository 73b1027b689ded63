"""What the library offers, read from its source: packages, and signature, documentation and example of each name."""

import ast
import doctest
import functools
import importlib
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leadline

from .example_imports import imports
from .offer import INDEX, LibraryModule, LibraryObject, LibraryPackage
from .signatures import signature

_PRODUCT = ("audits", "claims", "cli", "evidence", "presentation", "studies", "web")
_DOCUMENTED = ast.FunctionDef | ast.ClassDef
_OPTION = re.compile(r"\s*# doctest: [+\-A-Z_, ]+$", re.MULTILINE)


def offered() -> dict[str, list]:
    """What the index holds: every package, and every object that one exports, as the source has them now."""
    packages = list(read_packages())
    return {"packages": packages, "objects": [read_object(f"{p.name}.{own}") for p in packages for own in p.names]}


def write_index() -> None:
    """Write the index, with one package or object a line."""
    tables = (
        f'"{kind}": [\n' + ",\n".join(json.dumps(record, ensure_ascii=False) for record in records) + "\n]"
        for kind, records in offered().items()
    )
    INDEX.write_text("{" + ",\n".join(tables) + "}\n", encoding="utf-8")


def read_packages() -> Iterator[LibraryPackage]:
    """Every package of the library that exports names or packages, in alphabetical order; its stub lists them.

    Nothing is imported for it: a package is read from its text.
    """
    top = Path(leadline.__file__).parent
    for stub in sorted(top.rglob("__init__.pyi")):
        name = ".".join(stub.parent.relative_to(top).parts)
        if name and name.split(".")[0] not in _PRODUCT:
            about = (ast.get_docstring(_tree(stub.with_suffix(".py"))) or "").split("\n")[0]
            yield LibraryPackage(name, about, tuple(_modules(stub)))


def _modules(stub: Path) -> Iterator[LibraryModule]:
    """The modules from which a stub takes names."""
    for node in _tree(stub).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            folder = stub.parents[node.level - 1].joinpath(*node.module.split("."))
            tree = _tree(folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py"))
            about = {n.name: summary(ast.get_docstring(n) or "") for n in tree.body if isinstance(n, _DOCUMENTED)}
            title = (ast.get_docstring(tree) or "").split("\n")[0].rstrip(".")
            yield LibraryModule(title, {a.name: about.get(a.name, "") for a in node.names})


@functools.cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def summary(documentation: str) -> str:
    """The first sentence.

    >>> summary("Minimise f, e.g. by steps\\ndownhill. Stops early.")
    'Minimise f, e.g. by steps downhill.'
    """
    first = " ".join(documentation.split("\n\n")[0].split())
    return re.split(r"(?<=[^.]\.) (?=[^a-z])", first.removesuffix(":"))[0]


def read_object(name: str) -> LibraryObject:
    """The object "package.name"."""
    package, _, own = name.rpartition(".")
    thing = getattr(importlib.import_module(f"leadline.{package}"), own)
    parts = doctest.DocTestParser().parse(_documentation(thing))
    examples = [part for part in parts if isinstance(part, doctest.Example)]
    prose = "".join(part for part in parts if isinstance(part, str))
    code = "".join(_OPTION.sub("", e.source) for e in examples)
    top = imports(code, thing) if code else ""
    return LibraryObject(
        name,
        signature(own, thing),
        summary(prose),
        prose_html(prose),
        "".join(map(_transcript, examples)).rstrip("\n"),
        f"{top}\n\n{code}".lstrip("\n"),
    )


def _documentation(thing: Any) -> str:
    """The docstring of a function or class; a table has none of its own, but that of its type."""
    return inspect.cleandoc(thing.__doc__ or "") if callable(thing) else ""


def _transcript(example: doctest.Example) -> str:
    """An example as a session shows it."""
    return prompted(_OPTION.sub("", example.source)) + example.want


def prompted(source: str) -> str:
    """Code as it is typed: `>>>` before the first line, `...` before the others."""
    first, *others = source.splitlines()
    return "".join([f">>> {first}\n", *(f"... {line}".rstrip() + "\n" for line in others)])


def prose_html(prose: str) -> str:
    """Prose as HTML: paragraphs, lists, code in backticks and indented formulas.

    Nothing else is markup, because mathematics has * and _ and < in it.
    """
    return _markdown().render(prose)


@functools.cache
def _markdown() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("zero").enable(["code", "list", "backticks"])
