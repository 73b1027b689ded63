"""What to say of a name that does not exist."""

import difflib
from collections.abc import Iterable

MUCH_LESS = 0.4  # likeness, from 0 to 1


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """One sentence for a name that does not exist, with the nearest that do.

    >>> unknown("dataset", "minst", ["digits", "mnist"])
    "There is no dataset 'minst'; did you mean mnist?"
    """
    known = list(known)
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
