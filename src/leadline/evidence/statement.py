"""What an entry states, read from its docstring: title, statement, formula, assumptions, and how it is checked."""

import inspect
from typing import NamedTuple

_ASSUMES, _CHECK = "Assumes: ", "Check: "


class Statement(NamedTuple):
    """The parts of a docstring, each on its own: see `read_statement`."""

    title: str
    text: str
    formula: str = ""
    assumes: tuple[str, ...] = ()
    check: str = ""


def read_statement(docstring: str) -> Statement:
    r"""The statement that a docstring makes, paragraph by paragraph.

    The first line is the title; a paragraph between double dollars is the formula, in LaTeX; one that begins with
    "Assumes: " lists the assumptions with semicolons; one with "Check: " says how it is checked; the others are the
    statement itself, with mathematics in its sentences between single dollars.

    >>> read_statement("Title.\n\nIt holds.\n\n$$a \\le b$$\n\nAssumes: b > 0; a is real.")
    Statement(title='Title', text='It holds.', formula='a \\le b', assumes=('b > 0', 'a is real'), check='')
    """
    title, *paragraphs = [" ".join(p.split()) for p in inspect.cleandoc(docstring).split("\n\n") if p.strip()] or [""]
    formula, assumes, check, text = "", (), "", []
    for paragraph in paragraphs:
        if paragraph.startswith("$$") and paragraph.endswith("$$"):
            formula = paragraph.strip("$").strip()
        elif paragraph.startswith(_ASSUMES):
            assumes = tuple(paragraph.removeprefix(_ASSUMES).removesuffix(".").split("; "))
        elif paragraph.startswith(_CHECK):
            check = paragraph.removeprefix(_CHECK)
        else:
            text.append(paragraph)
    return Statement(title.removesuffix("."), "\n\n".join(text), formula, assumes, check)
