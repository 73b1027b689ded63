"""What to say of a name that does not exist."""

import difflib
from collections.abc import Iterable


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """One sentence for a name that does not exist, with the nearest that do.

    >>> unknown("dataset", "minst", ["digits", "mnist"])
    "There is no dataset 'minst'; did you mean mnist?"
    """
    known = list(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5) or [k for k in known if name in k][:3]
    if near:
        return f"There is no {kind} '{name}'; did you mean {' or '.join(near)}?"
    listed = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
    return f"There is no {kind} '{name}'" + (f"; there are {listed}." if known else "; there is none to set.")
