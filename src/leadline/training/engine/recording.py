"""What is kept of a run: something of every step, and something of every so many."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree


class Seen(NamedTuple):
    """What one step saw and did. With several players `batch`, `rows`, `loss` and `gradient` are dictionaries by name,
    of each one's last turn in the round."""

    number: Int[Array, ""]  #: counted from 0 in this scan
    before: Any  #: what was carried into the step (`Carried`)
    batch: PyTree
    rows: PyTree  #: `RowLosses`
    loss: PyTree
    gradient: PyTree
    after: Any  #: what is carried on


class Recorder(eqx.Module):
    """keep(seen) is kept of every `every`-th step of an epoch.

    >>> Recorder(lambda seen: seen.loss, every=10).every
    10
    """

    keep: Callable[[Seen], PyTree]
    every: int = eqx.field(static=True, default=1)


def loss_seen(seen: Seen) -> PyTree:
    """The loss before the step."""
    return seen.loss


def scan_recorded(
    step: Callable[[Any, PyTree, Array], tuple[Any, Seen]],
    carried: Any,
    stream: PyTree,
    num_steps: int,
    *,
    measure: Callable[[Seen], PyTree],
    record: Callable[[Seen], PyTree] | None = None,
    every: int = 1,
) -> tuple[Any, PyTree, PyTree]:
    """Scan `step` over the stream: the end, `measure` of each step, and `record` of every `every`-th one (its last).

    Records come after steps every, 2 every, ...; a rest of fewer steps is made and not recorded.

    >>> step = lambda c, item, number: (c + item, Seen(number, c, item, None, c, None, c + item))
    >>> end, losses, sums = scan_recorded(step, jnp.array(0), jnp.arange(1, 6), 5, measure=loss_seen,
    ...                                   record=lambda seen: seen.after, every=2)
    >>> int(end), losses.tolist(), sums.tolist()
    (15, [0, 1, 3, 6, 10], [3, 10])
    """
    given = (jnp.arange(num_steps), stream)

    def plain(carried: Any, given: tuple) -> tuple[Any, tuple]:
        number, item = given
        carried, seen = step(carried, item, number)
        return carried, (measure(seen), record(seen) if record is not None and every == 1 else None)

    if record is None or every == 1:
        carried, (measured, recorded) = jax.lax.scan(plain, carried, given, length=num_steps)
        return carried, measured, recorded

    whole = num_steps // every
    shape = jax.eval_shape(lambda c, g: record(step(c, g[1], g[0])[1]), carried, jax.tree.map(lambda a: a[0], given))
    blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shape)

    def remembered(state: tuple, given: tuple) -> tuple[tuple, PyTree]:
        (carried, kept), (number, item) = state, given
        carried, seen = step(carried, item, number)
        kept = jax.lax.cond((number + 1) % every == 0, lambda: jax.tree.map(jnp.asarray, record(seen)), lambda: kept)
        return (carried, kept), measure(seen)

    def stretch(carried: Any, given: tuple) -> tuple[Any, tuple]:
        (carried, kept), measured = jax.lax.scan(remembered, (carried, blank), given)
        return carried, (measured, kept)

    cut = jax.tree.map(lambda a: a[: whole * every].reshape(whole, every, *a.shape[1:]), given)
    carried, (measured, recorded) = jax.lax.scan(stretch, carried, cut)
    measured = jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), measured)
    if whole * every < num_steps:
        rest = jax.tree.map(lambda a: a[whole * every :], given)
        carried, (more, _) = jax.lax.scan(plain, carried, rest)
        measured = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), measured, more)
    return carried, measured, recorded
