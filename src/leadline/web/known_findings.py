"""What has been found already: findings that pages show without running anything."""

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from leadline._files import is_regular, whole_file
from leadline._records import UNREADABLE, append_line
from leadline.evidence import BadInput, Entry, Finding, RunDirectory, Task, entries, entry, versions
from leadline.presentation.gallery import finding_tone
from leadline.presentation.words import finding_verdict, mark

_IN_MEMORY = 64
_WASTE = 2**20  # bytes of findings by other versions that the explorer's own file may hold

_log = logging.getLogger("uvicorn.error")  # what the server writes to stderr


class State(NamedTuple):
    """How an entry came out at its defaults: in words, as a shape and as a tone (good, warn, bad, quiet)."""

    verdict: str
    mark: str
    tone: str

    @classmethod
    def of(cls, finding: Finding, entry: Entry) -> "State":
        return cls(finding_verdict(finding, entry), mark(finding), finding_tone(finding, entry))


class _Place(NamedTuple):
    """Where a finding is kept, and whether it is one of a run that did not end."""

    file: Path
    start: int
    length: int
    error: bool


class KnownFindings:
    """Findings of the present version: of a directory of `leadline check --out`, of the explorer's own file and of
    this session.

    Entries must be loaded before. Files may be large: their figures stay there until they are asked for. `directory`
    is only read; to `own` findings at the defaults are added. All methods may be called from any thread.
    """

    def __init__(self, directory: Path | None = None, own: Path | None = None):
        self._own = own
        self._read = 0  # bytes of the own file
        self._lock = threading.RLock()
        self._tasks = {task.key: task for task in (Task.of(e) for e in entries())}
        self._places: dict[tuple, _Place] = {}
        self._defaults: dict[str, Finding] = {}  # by id, without their figures
        self._states: dict[str, State] = {}
        self._recent: OrderedDict[tuple, Finding] = OrderedDict()
        if directory is not None:
            self._index(RunDirectory(directory).existing().file)
        if own is not None:
            self._open_own(own)

    def find(self, task: Task) -> Finding | None:
        """The finding of this task, if it is known."""
        with self._lock:
            recent = self._recent.get(task.key)
            if recent is not None:
                self._recent.move_to_end(task.key)
                return recent
            place = self._places.get(task.key)
        return None if place is None else _load(place, task.key)

    def keep(self, finding: Finding) -> None:
        """Remember a finding; on the disk if it is at the defaults and has no error, else for this session."""
        with self._lock:
            if finding.error and self._known_well(finding.key):
                return
            self._note_default(finding)
            if finding.key in self._tasks and not finding.error and self._own is not None:
                try:
                    append_line(self._own, finding.dumps())
                    self._read = self._index(self._own, self._read)
                except (OSError, BadInput) as failure:  # a full or read-only disk: the session goes on without it
                    _log.warning("Findings are not kept on the disk any more: %s", failure)
                    self._own = None
            self._recent[finding.key] = finding
            self._recent.move_to_end(finding.key)
            while len(self._recent) > _IN_MEMORY:
                self._recent.popitem(last=False)

    def state(self, id: str) -> State | None:
        """How the entry came out at its defaults with seed 0, if it was run."""
        return self._states.get(id)

    def findings(self) -> Iterator[Finding]:
        """What is known of each entry at its defaults with seed 0, without figures, in the order of the curriculum."""
        for task in self._tasks.values():
            finding = self._defaults.get(task.entry.id)
            if finding is not None:
                yield finding

    def _known_well(self, key: tuple) -> bool:
        if key in self._recent:
            return not self._recent[key].error
        return key in self._places and not self._places[key].error

    def _note_default(self, finding: Finding) -> None:
        task = self._tasks.get(finding.key)
        if task is not None:
            self._defaults[finding.id] = replace(finding, figures=())
            self._states[finding.id] = State.of(finding, task.entry)

    def _open_own(self, own: Path) -> None:
        """Index the own file, after dropping what other versions wrote to it once that is much."""
        try:
            own.parent.mkdir(parents=True, exist_ok=True)
            if is_regular(own):
                self._read = self._index(own)
                kept = [p for p in self._places.values() if p.file == own]
                if own.stat().st_size - sum(p.length + 1 for p in kept) > _WASTE:
                    lines = [_bytes(place) for place in kept]
                    with whole_file(own) as file:
                        file.writelines(line + b"\n" for line in lines)
                    self._read = self._index(own)
        except (OSError, BadInput) as failure:
            _log.warning("Findings are not kept on the disk: %s", failure)
            self._own = None

    def _index(self, file: Path, start: int = 0) -> int:
        """Note where each readable finding of a file stands, from a byte on; the byte after the last whole line."""
        with file.open("rb") as lines:
            lines.seek(start)
            for line in lines:
                if not line.endswith(b"\n"):
                    break  # torn, or being written
                finding = _without_figures(line)
                if finding is not None and not (finding.error and self._known_well(finding.key)):
                    self._places[finding.key] = _Place(file, start, len(line) - 1, bool(finding.error))
                    self._note_default(finding)
                start += len(line)
        return start


def _without_figures(line: bytes) -> Finding | None:
    """What a line says of its finding, if it can be read and is by the present version."""
    try:
        finding = Finding.from_json(json.loads(line) | {"figures": []})
        hash(finding.key)
    except UNREADABLE:
        return None
    return finding if finding.versions == _versions_now(finding.id) else None


def _versions_now(id: str) -> dict[str, str]:
    """What a finding of this entry would be made with now; nothing for an entry that there is no more."""
    try:
        return versions(entry(id).module)
    except BadInput:
        return {}


def _load(place: _Place, key: tuple) -> Finding | None:
    """The finding at a place; None if something else is there by now."""
    try:
        finding = Finding.loads(_bytes(place).decode())
    except (OSError, *UNREADABLE):
        return None
    return finding if finding.key == key else None


def _bytes(place: _Place) -> bytes:
    with place.file.open("rb") as file:
        file.seek(place.start)
        return file.read(place.length)
