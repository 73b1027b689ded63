"""The budget of a study: minutes and memory, shared out to its instruments, which ask it how much fits."""

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from leadline.evidence import BadInput

MINUTES = 3.0
MOST_MEMORY = 4 * 2**30  # taken where none is asked for and so much is free
LEAST_ROOM = 2**28  # bytes that an instrument may use however little is left
WORKING = 0.6  # of an instrument's time goes to what was asked for here; the rest to compiling and to what is small

#: The share of the whole that each instrument may take; others take OTHER. The bar of a study moves by them.
SHARES = {
    "anatomy": 0.03,
    "sight": 0.04,
    "signal": 0.08,
    "modes": 0.04,
    "memory": 0.04,
    "tangent": 0.11,
    "curvature": 0.13,
    "optimisation": 0.12,
    "generalisation": 0.12,
    "calibration": 0.06,
    "robustness": 0.11,
    "symmetry": 0.06,
    "memorisation": 0.06,
}
OTHER = 0.06

_UNITS = {"": 1, "b": 1} | {
    f"{letter}{end}": base**power
    for power, letter in enumerate("kmgt", 1)
    for end, base in (("", 1024), ("b", 1000), ("ib", 1024))
}


class PassCosts(NamedTuple):
    """What one row costs in a forward pass and in a gradient of its loss: seconds, and bytes of working memory.

    `resident` are the bytes that the process held when this was measured: data, parameters, compiled programs.
    """

    forward: float
    gradient: float
    forward_bytes: float
    gradient_bytes: float
    resident: float

    @property
    def product(self) -> float:
        """Seconds per row of a product with the Hessian: a gradient, differentiated forwards."""
        return 2 * self.gradient


class Choice(NamedTuple):
    """How many of `most` were taken; `limit` names what allowed no more, empty where all were."""

    what: str
    taken: int
    most: int
    limit: str = ""

    @property
    def sentence(self) -> str:
        """What was left out, in words; empty where nothing was."""
        if not self.limit:
            return ""
        if not self.taken:
            return f"left out {self.what}: {self.limit} does not allow it"
        verb = "looked at" if self.what.endswith("rows") else "made do with"
        return f"{verb} {self.taken:,} of {self.most:,} {self.what}: {self.limit} allows no more"


class Budget:
    """How long a study may take and how much memory; what fits follows from what one row costs, never from the clock.

    `probe` measures that once, when it is first needed. All choices are functions of minutes, memory and costs alone,
    so that a study which keeps these three makes the same choices again. `choices` are those since `begin()`.

    >>> budget = Budget(costs=PassCosts(0.01, 0.03, 1e6, 2e6, 1e9))
    >>> budget.rows("curvature", 100 * budget.costs.product, most=1000)  # 100 products with the Hessian
    2
    >>> budget.left_out
    ('looked at 2 of 1,000 rows: the budget of 3 minutes allows no more',)
    """

    def __init__(
        self,
        minutes: float = MINUTES,
        memory: int | str | None = None,
        *,
        costs: PassCosts | None = None,
        probe: Callable[[], PassCosts] | None = None,
    ):
        self._probe, self._costs = probe, costs
        self.minutes, self.asked_memory = MINUTES, None
        self._memory: int | None = None
        self.choices: dict[str, Choice] = {}
        self.limit(minutes, memory)

    def limit(self, minutes: float | None = None, memory: int | str | None = None) -> None:
        """Set what is given; BadInput where it is no budget."""
        if minutes is not None:
            if not (isinstance(minutes, int | float) and 0 < minutes < math.inf):
                raise BadInput(f"The budget is {minutes} minutes; give a finite number above 0.")
            self.minutes = float(minutes)
        if memory is not None:
            self.asked_memory = self._memory = memory_of(memory)

    def restore(self, costs: PassCosts, memory: int) -> None:
        """Take the costs and the memory that were found before, in place of measuring them."""
        self._costs, self._memory = costs, memory

    @property
    def costs(self) -> PassCosts:
        """What one row costs, to two digits: measured when it is first asked for."""
        if self._costs is None:
            if self._probe is None:
                raise ValueError("This budget knows no costs; give it some, or a probe that measures them.")
            self._costs = PassCosts(*(float(f"{value:.2g}") for value in self._probe()))
        return self._costs

    @property
    def memory(self) -> int:
        """Bytes that the process may hold in all: what was asked for, or what is free, 4 GiB at most."""
        if self._memory is None:
            self._memory = min(MOST_MEMORY, free_memory())
        return self._memory

    @property
    def room(self) -> float:
        """Bytes that one instrument may use beside what the process holds anyway."""
        return max(self.memory - self.costs.resident, LEAST_ROOM)

    @property
    def kernel_room(self) -> float:
        """Bytes that signals behind a kernel may take: a third of the room, 1 GiB at most."""
        return min(self.room / 3, 2.0**30)

    def seconds(self, instrument: str) -> float:
        """What an instrument may spend on the counts that it asks for."""
        return 60 * self.minutes * share(instrument) * WORKING

    def rows(
        self,
        instrument: str,
        seconds_per_row: float,
        most: int,
        *,
        bytes_per_row: float = 0.0,
        part: float = 1.0,
        least: int = 1,
        of: int | None = None,
        what: str = "rows",
    ) -> int:
        """As many rows as fit (see `count`); `of` is how many there are, where more than `most` are of no use."""
        return self.count(
            instrument, what, most, seconds=seconds_per_row, bytes=bytes_per_row, part=part, least=least, of=of
        )

    def count(
        self,
        instrument: str,
        what: str,
        most: int,
        *,
        seconds: float = 0.0,
        bytes: float = 0.0,
        part: float = 1.0,
        least: int = 1,
        of: int | None = None,
    ) -> int:
        """The largest number up to `most` that fits where each takes `seconds` and `bytes`; at least `least`.

        Where not all fit it is a power of two, which small errors of the costs seldom change. `part` is the part of
        the instrument's time, and of the room, that may go to it.
        """
        if most <= least:
            return self._noted(Choice(what, most, of or most))
        allowed = {
            self._told_minutes: part * self.seconds(instrument) / seconds if seconds > 0 else math.inf,
            self._told_memory: part * self.room / bytes if bytes > 0 else math.inf,
        }
        limit = min(allowed, key=lambda name: allowed[name])
        if allowed[limit] >= most:
            return self._noted(Choice(what, most, of or most))
        taken = max(2 ** math.floor(math.log2(max(allowed[limit], 1.0))), least)
        return self._noted(Choice(what, taken, of or most, limit if taken < most else ""))

    def fits(self, instrument: str, what: str, *, seconds: float = 0.0, bytes: float = 0.0, part: float = 1.0) -> bool:
        """Whether something that cannot be made smaller fits; where it does not, that is noted."""
        limit = ""
        if seconds > part * self.seconds(instrument):
            limit = self._told_minutes
        elif bytes > part * self.room:
            limit = self._told_memory
        return bool(self._noted(Choice(what, 0 if limit else 1, 1, limit)))

    def note(self, what: str, taken: int, most: int, limit: str) -> None:
        """Note that fewer than `most` were taken because of something else than the budget."""
        if taken < most:
            self._noted(Choice(what, taken, most, limit))

    def begin(self) -> None:
        """Forget the choices made so far: another instrument begins."""
        self.choices = {}

    @property
    def left_out(self) -> tuple[str, ...]:
        """What the choices since `begin()` left out, in words."""
        return tuple(choice.sentence for choice in self.choices.values() if choice.sentence)

    @property
    def sizes(self) -> dict[str, int]:
        """The choices since `begin()`: how many were taken of what there can be many of."""
        return {what: choice.taken for what, choice in self.choices.items() if choice.most > 1}

    def _noted(self, choice: Choice) -> int:
        self.choices[choice.what] = choice
        return choice.taken

    @property
    def _told_minutes(self) -> str:
        return f"the budget of {self.minutes:g} minute{'' if self.minutes == 1 else 's'}"

    @property
    def _told_memory(self) -> str:
        return f"the memory of {self.memory / 2**30:.2g} GiB"


def share(instrument: str) -> float:
    """The share of a whole study that one instrument may take."""
    return SHARES.get(instrument, OTHER)


def memory_of(given: int | float | str) -> int:
    """Bytes from a number or a text; BadInput where it is neither.

    >>> memory_of("4GiB") == 4 * 2**30, memory_of("500 MB"), memory_of(1e9)
    (True, 500000000, 1000000000)
    """
    found = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([a-z]*)\s*", str(given).lower())
    try:
        number = 0.0 if found is None else float(found[1]) * _UNITS[found[2]]
    except (ValueError, KeyError):
        number = 0.0
    if not 2**20 <= number < math.inf:
        raise BadInput(f"The memory is {given!r}; give a size of 1 MiB or more, as in 4GiB, 500MB or 2e9.")
    return int(number)


def free_memory() -> int:
    """Bytes that could be had without swapping; where the machine does not say, 4 GiB."""
    try:
        told = re.search(r"MemAvailable:\s*(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"))
        return MOST_MEMORY if told is None else int(told[1]) * 1024 + resident_memory()
    except OSError:
        return MOST_MEMORY


def resident_memory() -> int:
    """Bytes that this process holds; where the machine does not say, half a GiB."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 2**29
