"""What a page asks for, read from its address or from the JSON that it sends, with every value checked."""

import json
import re
from collections.abc import Iterable
from typing import Any

from leadline._messages import unknown
from leadline.evidence import BadInput, Entry, Task, entry

from ..runs.run_events import LARGEST_SEED, Wanted, checked_seed

_SEED = "seed"
_FIELDS: dict[str, tuple[type, ...]] = {
    "kind": (str,),
    "id": (str,),
    "parameters": (dict,),
    _SEED: (int, str),
    "budget": (int, float),
    "object": (str,),
    "page": (str,),
}
_NAMES = {str: "text", int: "a whole number", float: "a number", dict: "an object of parameters"}
_LONGEST_PAGE = 100


class NoSuchEntry(BadInput):
    """An id that does not exist."""


def entry_named(id: str) -> Entry:
    try:
        return entry(id)
    except BadInput as mistake:
        raise NoSuchEntry(str(mistake)) from None


def task_of_address(entry: Entry, query: Iterable[tuple[str, str]]) -> Task:
    """The task that an address such as /entries/ID?margin=0.2&seed=7 means."""
    given: dict[str, str] = {}
    for name, value in query:
        if name in given:
            raise BadInput(f"{name} is given twice; give it once.")
        given[name] = value
    seed = _seed(given.pop(_SEED, "0"))
    return Task.of(entry, given, seed)


def wanted_by(body: bytes) -> Wanted:
    """The run that a page asks for in JSON; BadInput says what is wrong with it."""
    record = _record(body)
    for name, value in record.items():
        if name not in _FIELDS:
            raise BadInput(unknown("field", name, _FIELDS))
        if not isinstance(value, _FIELDS[name]) or isinstance(value, bool):
            raise BadInput(f"{name} must be {' or '.join(_NAMES[t] for t in _FIELDS[name])}.")
    if len(record.get("page", "")) > _LONGEST_PAGE:
        raise BadInput(f"page must be at most {_LONGEST_PAGE} characters long.")
    wanted = Wanted(
        kind=record.get("kind", "check"),
        entry=entry_named(record.get("id", "")),
        parameters=record.get("parameters", {}),
        seed=_seed(record.get(_SEED, 0)),
        budget=float(record.get("budget", 30)),
        object=record.get("object", ""),
        page=record.get("page", ""),
    )
    wanted.task()
    return wanted


def _record(body: bytes) -> dict[str, Any]:
    try:
        record = json.loads(body, parse_int=_whole_number)
    except (ValueError, RecursionError):
        raise BadInput('The request is not JSON; send an object such as {"kind": "check", "id": "..."}.') from None
    if not isinstance(record, dict):
        raise BadInput('The request is not a JSON object; send one such as {"kind": "check", "id": "..."}.')
    return record


def _whole_number(digits: str) -> int | float:
    """Beyond what a float can hold a whole number is infinite, which no parameter may be."""
    return int(digits) if len(digits) < 20 else float(digits)


def _seed(value: int | str) -> int:
    if isinstance(value, str) and not re.fullmatch("[0-9]{1,10}", value):
        raise BadInput(f"seed = '{value[:40]}' is not a whole number; give one from 0 to {LARGEST_SEED}.")
    return checked_seed(int(value))
