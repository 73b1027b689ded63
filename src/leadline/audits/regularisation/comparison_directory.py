"""The directory of a comparison of regularisers: trained arms, the log of readings of the test rows, the result."""

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from leadline._dependencies import source_digest
from leadline._files import reading, write_whole
from leadline._records import append_line, read_lines
from leadline.evidence import BadInput, Figure, RunDirectory
from leadline.learning import SealedPart
from leadline.regularisation import Arm
from leadline.regularisation.arms.arm_training import TrainedArm
from leadline.training import load_weights, save_weights

SETTINGS, READINGS, RESULT, PICTURE = "settings.json", "test-readings.jsonl", "result.json", "comparison.svg"
_ADVICE = "remove it, or choose another --out"


class ComparisonDirectory:
    """`settings.json`, `arms/` with weights, `test-readings.jsonl`, and at the end `result.json` and `comparison.svg`.

    A comparison that was interrupted goes on with the arms that are there. The test rows are read once: a comparison
    with other settings in the same directory is refused and counted, for its arms would be chosen knowing the errors.
    """

    def __init__(self, path: Path, settings: dict[str, Any]):
        self.path, self.settings = path, settings

    @contextlib.contextmanager
    def open(self) -> Iterator["ComparisonDirectory"]:
        """Hold the directory, which is free or has this comparison; BadInput where it has another."""
        with RunDirectory(self.path).open():
            there = self._json(SETTINGS)
            if there is not None and there != json.loads(json.dumps(self.settings)):
                raise self._refusal(there)
            yield self

    @property
    def readings(self) -> list[dict[str, Any]]:
        """What the test rows were asked for, in order: when, why, and whether it was granted."""
        return read_lines(self.path / READINGS, _reading)[0]

    @property
    def refusals(self) -> int:
        return sum(not one["granted"] for one in self.readings)

    def result(self) -> dict[str, Any] | None:
        """The result, if the comparison is finished."""
        return self._json(RESULT)

    def finish(self, record: dict[str, Any], picture: Figure) -> None:
        """Keep the result and its figure."""
        write_whole(self.path / PICTURE, picture.svg().encode())
        self._write(RESULT, record)

    def keep(self, arm: Arm, train: Callable[[], TrainedArm], untrained: Callable[[], TrainedArm]) -> TrainedArm:
        """The arm from its file, or trained now and kept; the first one makes the directory this comparison's."""
        if self._json(SETTINGS) is None:
            self._write(SETTINGS, self.settings)
        return kept_arm(self.path / "arms", arm, train, untrained)

    def sealed(self, x: Any, y: Any) -> SealedPart:
        """The test rows, whose reading is on the disk before it happens."""
        return _LoggedPart(x, y, log=self._log)

    def _log(self, reason: str, granted: bool) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        append_line(self.path / READINGS, json.dumps({"when": now, "reason": reason, "granted": granted}))

    def _refusal(self, there: dict[str, Any]) -> BadInput:
        """What to say of a directory with other settings; a refusal that concerns the test rows is logged."""
        name = next(n for n in {**there, **self.settings} if there.get(n) != self.settings.get(n))
        read = next((one for one in self.readings if one["granted"]), None)
        if read is None:
            return BadInput(f"{self.path} has a comparison with another value of '{name}'; choose another --out.")
        self._log(f"a comparison with another value of '{name}'", granted=False)
        return BadInput(
            f"The test rows of {self.path} were read on {read['when'][:10]} for {read['reason']}; another comparison "
            f"on them, with another value of '{name}', is refused (refusals so far: {self.refusals}): bring new test "
            "rows and another --out."
        )

    def _json(self, name: str) -> dict[str, Any] | None:
        try:
            with reading(self.path / name, "JSON", _ADVICE):
                found = json.loads((self.path / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        if not isinstance(found, dict):
            raise BadInput(f"{self.path / name} is not what a comparison writes; {_ADVICE}.")
        return found

    def _write(self, name: str, record: dict[str, Any]) -> None:
        write_whole(self.path / name, (json.dumps(record, ensure_ascii=False, indent=2) + "\n").encode())


def kept_arm(place: Path, arm: Arm, train: Callable[[], TrainedArm], untrained: Callable[[], TrainedArm]) -> TrainedArm:
    """The arm from its file in a directory, which the same source wrote, or trained now and kept there."""
    file = place / f"{re.sub('[^a-z0-9.]+', '-', arm.name.lower())}-{_version()}.safetensors"
    with contextlib.suppress(FileNotFoundError, BadInput):  # a damaged file is trained anew
        return load_weights(file, untrained())
    found = train()
    save_weights(file, found)
    return found


class _LoggedPart(SealedPart):
    def __init__(self, *arrays: Any, log: Callable[[str, bool], None]):
        super().__init__(*arrays, limit=1)
        self._log = log

    def open(self, reason: str) -> tuple[Any, ...]:
        self._log(reason, not self.accesses)
        return super().open(reason)


def _reading(line: str) -> dict[str, Any]:
    record = json.loads(line)
    return {"when": str(record["when"]), "reason": str(record["reason"]), "granted": bool(record["granted"])}


def _version() -> str:
    """What a kept arm rests on: the source that trains it, and JAX."""
    import jax

    about = f"{source_digest('leadline.regularisation.arms.regulariser_comparison')} {jax.__version__}"
    return hashlib.sha256(about.encode()).hexdigest()[:8]
