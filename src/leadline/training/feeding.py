"""How a run is cut into calls of compiled code, and what each call is fed."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray, PyTree

from .engine.averages import averages_from
from .engine.engine import Carried
from .engine.epochs import Loop, Measured, Metrics, State
from .engine.streams import Drawn, Hosted, Shuffled
from .progress import Bar

WORK_PER_CALL = 1e11  # floating-point operations between two returns to Python: about a second on two cores
HOSTED_BYTES = 2**24  # larger arrays of the host are not copied to the device as a whole
BYTES_PER_CALL = 2**22  # of batches that go to the device at once


class Schedule(NamedTuple):
    """How a run is cut into calls of compiled code: whole epochs at once, or parts of one epoch."""

    epochs: int
    parts: int

    @classmethod
    def of(cls, parameters: int, batch: int, num_steps: int, most: int) -> "Schedule":
        """From the work of one step, six operations for each parameter and example; `most` epochs at once.

        >>> Schedule.of(parameters=5000, batch=128, num_steps=10, most=1000)
        Schedule(epochs=1000, parts=1)
        >>> Schedule.of(parameters=700_000, batch=128, num_steps=468, most=1000)
        Schedule(epochs=1, parts=3)
        """
        at_once = max(int(WORK_PER_CALL / (6 * max(parameters, 1) * batch)), 1)
        return cls(int(np.clip(at_once // num_steps, 1, most)), -(-num_steps // at_once))


epochs = eqx.filter_jit(Loop.epochs)


@eqx.filter_jit
def _items(source: Shuffled | Drawn, epoch: Any, key: PRNGKeyArray) -> PyTree:
    return source.items(epoch, key=key)


@eqx.filter_jit(donate="all-except-first")
def _steps(given: tuple[Loop, Any, PyTree, Any], carried: Carried) -> tuple[Carried, Measured, PyTree]:
    """The steps on some items, in the memory of what is carried."""
    loop, source, items, first = given
    return loop.steps(carried, source, items, first)


@eqx.filter_jit
def _finish(loop: Loop, state: State, measured: Measured, held: PyTree | None) -> tuple[State, Metrics]:
    """The end of an epoch, without a copy of the parameters, carried or best."""
    state, metrics = loop.finish(state, measured, held)
    return state._replace(carried=None, best=None, best_state=None), metrics


@eqx.filter_jit
def _fresh(loop: Loop, parameters: PyTree, key: PRNGKeyArray, state: PyTree) -> State:
    begun = loop.start(parameters, key, state)
    return begun._replace(carried=begun.carried._replace(parameters=None, averages=()), best=None)


def start(loop: Loop, parameters: PyTree, key: PRNGKeyArray, state: PyTree) -> State:
    """The state before the first step, in which the parameters are not copied."""
    fresh = _fresh(loop, parameters, key, state)
    averages = averages_from(loop.engine.decays, parameters)
    return fresh._replace(carried=fresh.carried._replace(parameters=parameters, averages=averages), best=parameters)


def source_of(data: PyTree, batch: int, together: int) -> Shuffled | Hosted:
    """Rows on the device, or on the host where they are many and are there already."""
    leaves = jax.tree.leaves(data)
    large = sum(leaf.nbytes for leaf in leaves) > HOSTED_BYTES
    if large and all(isinstance(leaf, np.ndarray) for leaf in leaves):
        return Hosted(jax.tree.map(_canonical, data), batch, together)
    return Shuffled(jax.device_put(data), batch, together)


def _canonical(array: np.ndarray) -> np.ndarray:
    """Of the type that the device would have."""
    return array.astype(jax.dtypes.canonicalize_dtype(array.dtype), copy=False)


def advance(
    loop: Loop,
    state: State,
    source: Shuffled | Drawn | Hosted,
    held: PyTree | None,
    key: PRNGKeyArray,
    schedule: Schedule,
    bar: Bar,
) -> tuple[State, Metrics, PyTree]:
    """`schedule.epochs` epochs in one call, or one epoch in several with the bar moved between them.

    Metrics have an axis over epochs, records one over records.
    """
    if schedule.parts == 1 and not isinstance(source, Hosted):
        state, metrics, recorded = epochs(loop, state, source, held, key, schedule.epochs)
        return state, metrics, jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), recorded)
    items = source.items(state.epoch, key=key) if isinstance(source, Hosted) else _items(source, state.epoch, key)
    size = _part_size(len(items), source, schedule.parts, 1 if loop.recorder is None else loop.recorder.every)
    found, carried = [], jax.tree.map(jnp.copy, state.carried)
    for begin in range(0, len(items), size):
        part = items[begin : begin + size]
        fetched, part = (source.given, source.take(part)) if isinstance(source, Hosted) else (source, part)
        carried, measured, recorded = _steps((loop, fetched, part, jnp.asarray(begin)), carried)
        found.append((measured, recorded))
        bar.within((begin + size) / len(items), float(measured.losses[loop.engine.players[-1].name][-1]))
        if not np.asarray(measured.finite).all():
            break
    measured, recorded = jax.tree.map(lambda *parts: jnp.concatenate(parts), *found)
    closed, metrics = _finish(loop, state._replace(carried=carried), measured, held)
    if int(closed.waited) == 0:  # this epoch was the best
        state = state._replace(best=carried.parameters, best_state=carried.state)
    closed = closed._replace(carried=carried, best=state.best, best_state=state.best_state)
    return closed, jax.tree.map(lambda a: a[None], metrics), recorded


def _part_size(num_steps: int, source: Shuffled | Drawn | Hosted, parts: int, every: int) -> int:
    """Steps to a call: as the work allows, and as the batches do that go to the device; whole records."""
    if isinstance(source, Hosted):
        parts = max(parts, -(-num_steps // max(BYTES_PER_CALL // source.step_bytes, 1)))
    size = -(-num_steps // parts)
    return -(-size // every) * every


def items_of(source: Shuffled | Drawn | Hosted, first: int, count: int, key: PRNGKeyArray) -> tuple[Any, PyTree]:
    """The items of `count` steps from the beginning of epoch `first` on, with the source that fetches them."""
    numbers = range(first, first + -(-count // source.num_steps))
    if isinstance(source, Hosted):
        return source.given, source.take(np.concatenate([source.items(e, key=key) for e in numbers])[:count])
    return source, jnp.concatenate([_items(source, jnp.asarray(e), key) for e in numbers])[:count]


def run_steps(loop: Loop, state: State, source: Any, items: PyTree) -> Measured:
    """What is measured in the steps on some items."""
    return _steps((loop, source, items, jnp.asarray(0)), jax.tree.map(jnp.copy, state.carried))[1]
