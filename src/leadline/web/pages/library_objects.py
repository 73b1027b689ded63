"""What the library offers: packages, and the signature, documentation and example of each public name."""

import ast
import doctest
import functools
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import leadline

from .example_imports import imports
from .signatures import signature

_PRODUCT = ("audits", "claims", "cli", "evidence", "presentation", "studies", "web")
_DOCUMENTED = ast.FunctionDef | ast.ClassDef
_OPTION = re.compile(r"\s*# doctest: [+\-A-Z_, ]+$", re.MULTILINE)


class LibraryObject(NamedTuple):
    """A public function or class: `summary` is the first sentence of its documentation and `text` all of it as HTML,
    `example` the transcript with its prompts, `code` without them."""

    name: str
    signature: str
    summary: str
    text: str
    example: str
    code: str


class LibraryModule(NamedTuple):
    """What a package exports from one of its modules: the module's title, and the first sentence about each name."""

    title: str
    names: dict[str, str]


class LibraryPackage(NamedTuple):
    """A public package: what it is for, and the names that it exports, by module in the order of its stub."""

    name: str
    about: str
    modules: tuple[LibraryModule, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted((name for module in self.modules for name in module.names), key=str.casefold))


@functools.cache
def library_packages() -> dict[str, LibraryPackage]:
    """Every package of the library that exports names or packages, in alphabetical order; its stub lists them.

    Nothing is imported for it: a package is read from its text.
    """
    top = Path(leadline.__file__).parent
    found = {}
    for stub in sorted(top.rglob("__init__.pyi")):
        name = ".".join(stub.parent.relative_to(top).parts)
        if name and name.split(".")[0] not in _PRODUCT:
            about = (ast.get_docstring(_tree(stub.with_suffix(".py"))) or "").split("\n")[0]
            found[name] = LibraryPackage(name, about, tuple(_modules(stub)))
    return found


def packages_within(name: str) -> list[LibraryPackage]:
    """The packages directly inside of this one; inside of the library for an empty name."""
    return [package for package in library_packages().values() if package.name.rpartition(".")[0] == name]


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


def library_names() -> list[str]:
    """Every page of the library: packages, and each name that one exports."""
    packages = library_packages().values()
    return [name for p in packages for name in (p.name, *(f"{p.name}.{own}" for own in p.names))]


@functools.cache
def library_object(name: str) -> LibraryObject:
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
