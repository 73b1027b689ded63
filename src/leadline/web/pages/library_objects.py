"""What the library offers under an entry: signature, documentation and example."""

import doctest
import functools
import importlib
import inspect
import re
from typing import Any, NamedTuple

from .example_imports import imports
from .signatures import signature

_OPTION = re.compile(r"\s*# doctest: [+\-A-Z_, ]+$", re.MULTILINE)


class LibraryObject(NamedTuple):
    """A public function or class: `text` is HTML, `example` the transcript with its prompts, `code` without them."""

    name: str
    signature: str
    text: str
    example: str
    code: str


@functools.cache
def library_object(name: str) -> LibraryObject:
    """The object "room.name"."""
    room, _, own = name.rpartition(".")
    thing = getattr(importlib.import_module(f"leadline.{room}"), own)
    parts = doctest.DocTestParser().parse(_documentation(thing))
    examples = [part for part in parts if isinstance(part, doctest.Example)]
    prose = "".join(part for part in parts if isinstance(part, str))
    code = "".join(_OPTION.sub("", e.source) for e in examples)
    top = imports(code, thing) if code else ""
    return LibraryObject(
        name, signature(own, thing), prose_html(prose), "".join(map(_transcript, examples)).rstrip("\n"),
        f"{top}\n\n{code}".lstrip("\n"),
    )  # fmt: skip


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
