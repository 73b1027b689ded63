"""The rules by which the auditor names a cause, in the order in which one explains another."""

from collections.abc import Iterator
from typing import NamedTuple

from .layer_findings import LayerFinding, Offset
from .modal_networks import BATCH_NORM, DROPOUT

NOISY = 0.5  # of the outputs' spread: what batch statistics may add before a batch is too small
DIFFERENT = 1e-3  # of the outputs' spread: beyond rounding

CAUSES = (
    "dropout left on",
    "batch statistics left on",
    "mode forgotten in one branch",
    "wrong axis",
    "frozen buffers",
    "stale statistics",
    "tiny batch",
    "domain shift",
)


class Fault(NamedTuple):
    """A cause by its name, the layers it is about, and what was seen."""

    cause: str
    layers: tuple[str, ...]
    evidence: str


class Observed(NamedTuple):
    """All that the rules look at."""

    layers: tuple[LayerFinding, ...]
    repeat: float  #: difference of two passes as given
    alone: float  #: difference of a row alone and in its batch
    random: tuple[str, ...]  #: dropout layers that draw as given
    moved: tuple[str, ...]  #: batch normalisations whose statistics a pass as given updates
    trains: bool  #: whether it can be run in training mode
    coupled: bool | None  #: whether rows influence each other in training
    noise: float | None  #: of batch statistics at the batch size of training
    batch: int | None

    def of(self, kind: str) -> list[LayerFinding]:
        """The layers of one kind."""
        return [layer for layer in self.layers if layer.kind == kind]


def named_faults(seen: Observed) -> tuple[Fault, ...]:
    """The faults that explain what was observed."""
    found = [*_modes(seen)]
    if not found:
        found += _axis(seen)
    if any(fault.cause == "wrong axis" for fault in found):
        return tuple(found)
    return (*found, *_statistics(seen))


def _modes(seen: Observed) -> Iterator[Fault]:
    """Layers that are in the mode of training where the network is used."""
    dropouts, norms = ([layer.name for layer in seen.of(kind)] for kind in (DROPOUT, BATCH_NORM))
    flagged = {layer.name for layer in seen.layers if layer.active}
    on = [name for name in (*dropouts, *norms) if name in flagged or name in seen.random or name in seen.moved]
    told = f"two passes differ by {seen.repeat:.2g} of the outputs' spread" if seen.repeat else "a pass updates them"
    if not on:
        if seen.repeat > 0:
            yield Fault("mode forgotten in one branch", (), f"{told}, and no layer says that it draws")
        return
    how = "flagged as in training" if set(on) <= flagged else "in training although their flags say use"
    evidence = f"{', '.join(on)} {'is' if len(on) == 1 else 'are'} {how}; {told}"
    live = {name for name in dropouts if name in on}
    if dropouts and len(live) == len(dropouts) and (len(on) == len(live) or len(on) == len(dropouts) + len(norms)):
        yield Fault("dropout left on", tuple(on), evidence)
    elif not dropouts and len(on) == len(norms):
        yield Fault("batch statistics left on", tuple(on), evidence)
    else:
        yield Fault("mode forgotten in one branch", tuple(on), evidence)


def _axis(seen: Observed) -> Iterator[Fault]:
    norms = tuple(layer.name for layer in seen.of(BATCH_NORM))
    if not norms:
        return
    if seen.alone > DIFFERENT:
        how = "is not taken" if seen.alone == float("inf") else f"differs by {seen.alone:.2g} of the outputs' spread"
        yield Fault("wrong axis", norms, f"in use a row by itself {how} from the same row in its batch")
    elif not seen.trains:
        yield Fault("wrong axis", norms, "in training the statistics are not those of a batch: the pass fails")
    elif seen.coupled is False and all(layer.moves for layer in seen.of(BATCH_NORM)):
        yield Fault("wrong axis", norms, "in training no row's output changes with the other rows of its batch")


def _statistics(seen: Observed) -> Iterator[Fault]:
    norms = seen.of(BATCH_NORM)
    frozen = tuple(layer.name for layer in norms if layer.moves is False)
    if frozen:
        yield Fault("frozen buffers", frozen, "a pass in training leaves their running statistics as they were")
    empty = tuple(layer.name for layer in norms if layer.seen == 0 and layer.name not in frozen)
    if empty:
        yield Fault("stale statistics", empty, "they have seen no batch: mean 0 and variance 1 as at the start")
    rest = {layer.name: layer.train for layer in norms if layer.train is not None}
    if frozen or empty or not rest:
        return
    nearest, first = next(iter(rest.items()))
    if seen.noise is not None and seen.noise > NOISY:
        told = f"outputs by the statistics of {seen.batch} examples differ by {seen.noise:.2g} of their spread from "
        yield Fault("tiny batch", tuple(rest), f"{told}those of all rows")
    elif first.shift < 0.25 and 0.4 < first.ratio < 0.7 and first.spread < 0.5:
        told = f"the running variance of {nearest} is {first.ratio:.2f} of the data's, as with batches of about "
        yield Fault("tiny batch", (nearest,), f"{told}{1 / (1 - first.ratio):.0f}")
    elif off := {name: offset for name, offset in rest.items() if offset.off}:
        yield Fault("stale statistics", tuple(off), _told(off, "the training"))
    elif off := {layer.name: layer.new for layer in norms if layer.new is not None and layer.new.off}:
        yield Fault("domain shift", tuple(off), _told(off, "new"))


def _told(off: dict[str, Offset], which: str) -> str:
    name, offset = next(iter(off.items()))
    return (
        f"{name}: {offset.share:.0%} of its features are off, its mean by {offset.shift:.2g} standard deviations "
        f"of {which} inputs and its variance by a factor of {offset.ratio:.2g} (medians)"
    )
