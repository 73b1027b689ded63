"""What to say of a user's mistake: in one sentence, of bearable length."""

import difflib
from collections.abc import Iterable

MUCH_LESS = 0.4  # likeness, from 0 to 1
MOST_SHOWN = 80  # characters of a value, or of a library's reason, in a sentence


class BadInput(ValueError):
    """A user's mistake: its message is one sentence to print, without a traceback."""


def brief(text: object, most: int = MOST_SHOWN) -> str:
    """A text on one line, with its middle left out where it is longer than `most` characters.

    >>> brief("short"), brief("x" * 20_000, 20)
    ('short', 'xxxxxxxx ... xxxxxxx')
    """
    line = " ".join(str(text).split())
    if len(line) <= most:
        return line
    first = most // 2 - 2
    return f"{line[:first]} ... {line[len(line) - (most - first - 5) :]}"


def reason(error: BaseException) -> str:
    """The first line of what an exception says, or its name where it says nothing.

    >>> reason(ValueError("no\\nmore")), reason(KeyError("rows")), reason(MemoryError())
    ('no', "KeyError: 'rows'", 'MemoryError')
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    said = (str(error).strip().splitlines() or [""])[0].rstrip(".")
    if not said:
        return type(error).__name__
    plain = isinstance(error, ValueError | OSError | EOFError)
    return brief(said if plain else f"{type(error).__name__}: {said}", 2 * MOST_SHOWN)


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """One sentence for a name that does not exist, with the nearest that do.

    >>> unknown("dataset", "minst", ["digits", "mnist"])
    "There is no dataset 'minst'; did you mean mnist?"
    """
    known, name = [brief(k) for k in known], brief(name)
    near = _nearest(name, known) or [k for k in known if name in k][:3]
    if near:
        return f"There is no {kind} '{name}'; did you mean {' or '.join(near)}?"
    listed = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
    return f"There is no {kind} '{name}'" + (f"; there are {listed}." if known else "; there is none to set.")


def _nearest(name: str, known: list[str]) -> list[str]:
    """Up to three names that resemble this one, none much less than the best."""
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    alike = [difflib.SequenceMatcher(None, k, name).ratio() for k in near]
    return [k for k, ratio in zip(near, alike, strict=True) if ratio > alike[0] - MUCH_LESS]
