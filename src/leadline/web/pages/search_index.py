"""The index that pages search as you type: one small classic script, because a page on a disk may not fetch."""

import json
from collections import Counter
from collections.abc import Sequence

from leadline.evidence.registry import Entry
from leadline.evidence.sources import SOURCES
from leadline.presentation.plain_mathematics import plain

from .addresses import Addresses

Row = list[str]


def search_index(entries: Sequence[Entry], to: Addresses) -> str:
    """A script that sets `globalThis.leadlineIndex` to a list of what can be found.

    Every item has `id`, `kind` (claim, method, model, instrument; chapter; page), `chapter`, `title`, `statement`,
    `more` (further words: assumptions, names in the library) and `at`, its address. `to` are the addresses as seen
    from the script itself: in the page `new URL(item.at, script.src)` leads there, in the explorer and on a disk alike.
    """
    rows = [*(_row(e) for e in entries), *_chapters(entries, to), *_pages(to)]
    before, after = map(_script_text, to.entry("*").split("*"))
    return (
        f"globalThis.leadlineIndex = {_script_text(rows)}.map(\n"
        f'  ([id, kind, chapter, title, statement, more = "", at = {before} + id + {after}]) =>\n'
        "    ({ id, kind, chapter, title, statement, more, at }));\n"
    )


def _row(entry: Entry) -> Row:
    statement, *assumes = (plain(text).replace("`", "") for text in (entry.statement, *entry.assumes))
    further = " ".join([*assumes, *entry.shows])
    return [entry.id, entry.kind, entry.chapter, entry.title, statement, *([further] if further else [])]


def _chapters(entries: Sequence[Entry], to: Addresses) -> list[Row]:
    return [
        [
            name,
            "chapter",
            "",
            name.capitalize(),
            f"Chapter with {n} {'entry' if n == 1 else 'entries'}.",
            "",
            to.chapter(name),
        ]
        for name, n in Counter(e.chapter for e in entries).items()
    ]


def _pages(to: Addresses) -> list[Row]:
    texts = " ".join(source.citation for source in SOURCES.values())
    wrong = "Where texts have a formula that does not hold, each failing beside its repair."
    library = "Every public function and class, by package."
    return [
        ["sources", "page", "", "Sources", "The texts that the curriculum is made from.", texts, to.sources],
        ["errata", "page", "", "Errata", wrong, "misprints mistakes corrections", to.errata],
        ["library", "page", "", "Library", library, "api functions classes", to.library],
    ]


def _script_text(value: list[Row] | str) -> str:
    """JSON that may stand in a script: no text in it ends the script or a line of it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
