"""A hypothesis that is written down before the numbers are seen, and judged by the test that it named."""

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import jax
import numpy as np
from jaxtyping import Array, Real

from leadline._files import reading, write_whole

from .paired_comparisons import PairedDifference, paired_difference

_TESTS = ("t", "bootstrap", "sign-flip")


@dataclass(frozen=True)
class Hypothesis:
    """'The loss of `better` is below that of `worse`': by which test, at which level, over which seeds, and when."""

    better: str
    worse: str
    measure: str
    seeds: tuple[int, ...]
    test: str
    level: float
    stated: str  # the time, UTC

    def judge(
        self, better: Real[Array | np.ndarray, " _"], worse: Real[Array | np.ndarray, " _"]
    ) -> tuple[bool, PairedDifference]:
        """Whether better − worse is settled below 0 at the level, and the difference; one loss for each seed stated."""
        if len(better) != len(self.seeds) or len(worse) != len(self.seeds):
            raise ValueError(
                f"The hypothesis names {len(self.seeds)} seeds and got {len(better)} and {len(worse)} losses; give one "
                "for each of its seeds, no more and no fewer."
            )
        key = jax.random.key(self.seeds[0])
        found = paired_difference(better, worse, self.test, level=self.level, key=key)
        return found.settled and found.mean < 0, found


def state_hypothesis(
    path: Path | str,
    *,
    better: str,
    worse: str,
    measure: str,
    seeds: tuple[int, ...],
    test: str = "t",
    level: float = 0.95,
) -> Hypothesis:
    """Write the hypothesis to a file before any number is there, and return it; a file is never overwritten.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "decay.json"
    ...     stated = state_hypothesis(path, better="decay", worse="none", measure="test error", seeds=(0, 1, 2))
    ...     read_hypothesis(path) == stated
    True
    """
    if test not in _TESTS or not 0 < level < 1 or len(seeds) < 2 or len(set(seeds)) < len(seeds):
        raise ValueError(
            f"state_hypothesis got test '{test}', level {level} and seeds {tuple(seeds)}; give one of "
            f"{', '.join(_TESTS)}, a level between 0 and 1, and at least two different seeds."
        )
    path = Path(path)
    if path.exists():
        raise ValueError(f"There is a hypothesis in {path} already; state another one in a file of its own.")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    stated = Hypothesis(better, worse, measure, tuple(int(s) for s in seeds), test, level, now)
    write_whole(path, (json.dumps(asdict(stated), indent=2, ensure_ascii=False) + "\n").encode())
    return stated


def read_hypothesis(path: Path | str) -> Hypothesis:
    """The hypothesis that `state_hypothesis` wrote."""
    with reading(path, "a hypothesis", "give the file that state_hypothesis wrote"):
        record = json.loads(Path(path).read_text(encoding="utf-8"))
        return Hypothesis(**record | {"seeds": tuple(record["seeds"])})
