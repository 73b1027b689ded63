"""Who is next: visitors take turns, so that one who asks for much makes nobody else wait for all of it."""

import bisect
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple


class _Place(NamedTuple):
    turn: int
    arrival: int
    visitor: str
    one: Any


class Turns:
    """What waits, in the order of its turns.

    The first thing of a visitor is for the turn that is being taken, and each further one for the turn after the one
    before: start-time fair queueing (Goyal, Vin and Cheng 1996) with equal weights. Nobody can be passed for ever.

    >>> turns = Turns()
    >>> for visitor, what in [("a", 1), ("a", 2), ("a", 3), ("b", 4)]:
    ...     turns.add(visitor, what)
    >>> list(turns)
    [1, 4, 2, 3]
    >>> turns.next(lambda what: what > 1), list(turns)
    (4, [1, 2, 3])
    """

    def __init__(self) -> None:
        self._places: list[_Place] = []
        self._arrivals = count()
        self._turn = 0  # that is being taken
        self._later: dict[str, int] = {}  # the next turn of visitors who had, or will have, the present one

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Any]:
        return (place.one for place in self._places)

    def __contains__(self, one: Any) -> bool:
        return any(place.one is one for place in self._places)

    def of(self, visitor: str) -> int:
        """How many things of this visitor wait."""
        return sum(place.visitor == visitor for place in self._places)

    def add(self, visitor: str, one: Any) -> None:
        """Let something wait."""
        turn = max(self._turn, self._later.get(visitor, 0))
        self._later[visitor] = turn + 1
        bisect.insort(self._places, _Place(turn, next(self._arrivals), visitor, one))

    def remove(self, one: Any) -> None:
        """Let something wait no longer."""
        self._places = [place for place in self._places if place.one is not one]

    def next(self, may: Callable[[Any], bool] = lambda _: True) -> Any:
        """Take what is next, of what may begin now; None if that is nothing."""
        for place in self._places:
            if may(place.one):
                self.remove(place.one)
                self._turn = max(self._turn, place.turn)
                self._later = {visitor: turn for visitor, turn in self._later.items() if turn > self._turn}
                return place.one
        return None
