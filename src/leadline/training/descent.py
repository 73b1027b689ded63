"""The plain descent: an objective, a starting point, an Optax rule, a number of steps; one compiled scan."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from leadline.data import batch_sequence

from .engine.engine import as_it_is, engine_of
from .engine.objective import Objective
from .engine.players import Player
from .engine.recording import Seen, loss_seen

Model = TypeVar("Model", bound=PyTree)


class Steps(NamedTuple):
    """What came of a scan of steps."""

    model: Any
    opt_state: PyTree
    state: PyTree  #: the objective's
    averages: tuple[Any, ...]  #: models, one for each decay
    measured: PyTree  #: of every step; the loss before it, unless told otherwise
    recorded: PyTree  #: of every so many


def scan_steps(
    objective: Objective | Sequence[Player],
    start: PyTree,
    optimiser: optax.GradientTransformation | None,
    stream: PyTree,
    *,
    num_steps: int | None = None,
    fetch: Callable[[PyTree], PyTree] = as_it_is,
    gradient: Callable[..., PyTree] | None = None,
    key: PRNGKeyArray | None = None,
    state: PyTree = None,
    opt_state: PyTree = None,
    averages: Sequence[float] = (),
    micro: int = 1,
    measure: Callable[[Seen], PyTree] = loss_seen,
    record: Callable[[Seen], PyTree] | None = None,
    every: int = 1,
) -> Steps:
    """Steps of an optimiser on objective(model, batch, key, state) -> (row losses, state) over a stream of batches.

    Pure, to be jitted and mapped by the caller. The items of `stream` (its leaves' first axis; with None,
    `num_steps` steps without) are made batches by `fetch`, row numbers into rows say. `start` is any pytree; its
    floating-point arrays are moved, along `gradient(model, batch, key, state)` where that is given. Instead of one
    objective there may be several players and no optimiser. `measure` of what each step saw is kept, and `record` of
    every `every`-th. `opt_state` goes on where an earlier scan ended.

    >>> import jax.numpy as jnp
    >>> noisy = lambda w, y, key, state: ((w - y - jax.random.normal(key)) ** 2, state + 1)
    >>> ran = scan_steps(noisy, jnp.array(0.0), optax.sgd(0.1), jnp.ones(200), key=jax.random.key(0),
    ...                  state=jnp.array(0), averages=(0.95,), record=lambda seen: seen.after.parameters, every=50)
    >>> int(ran.state), ran.measured.shape, ran.recorded.shape, bool(abs(ran.averages[0] - 1) < 0.5)
    (200, (200,), (4,), True)
    """
    players = objective if isinstance(objective, Sequence) else Player(objective, optimiser, gradient=gradient)
    engine, parameters = engine_of(start, players, averages=averages, micro=micro)
    at = engine.start(parameters, key, state)
    at = at if opt_state is None else at._replace(opt_state=opt_state)
    end, measured, recorded = engine.run(
        at, stream, num_steps=num_steps, fetch=fetch, measure=measure, record=record, every=every
    )
    means = tuple(engine.model(average) for average in end.averages)
    return Steps(engine.model(end.parameters), end.opt_state, end.state, means, measured, recorded)


@eqx.filter_jit
def minimise(
    objective: Callable[..., Float[Array, ""]],
    start: Model,
    optimiser: optax.GradientTransformation,
    num_steps: int,
    *arrays: PyTree,
    batch: int | None = None,
    key: PRNGKeyArray | None = None,
) -> tuple[Model, Float[Array, " steps"]]:
    """Minimise objective(model, *arrays) from `start`; returns the last model and the loss before each step.

    `start` is any pytree, an Equinox module say; its floating-point arrays are moved. With `batch` the objective sees
    rows of the arrays, permuted anew in every epoch by `key`. Pure: it may be mapped over models, data and keys.
    `scan_steps` is its general form.

    >>> import jax.numpy as jnp
    >>> end, losses = minimise(lambda w, y: jnp.sum((w - y) ** 2), jnp.zeros(2), optax.sgd(0.25), 30, jnp.ones(2))
    >>> end.round(3).tolist(), losses[:2].tolist()
    ([1.0, 1.0], [2.0, 0.5])
    """
    rows = None
    if batch is not None:
        if key is None:
            raise ValueError("minimise got a batch size and no key; pass key=jax.random.key(seed) to draw batches.")
        rows = batch_sequence(jax.tree.leaves(arrays)[0].shape[0], batch, num_steps, key=key)

    def whole(model: Model, rows: Array | None, key: None, state: None) -> tuple[Float[Array, ""], None]:
        seen = arrays if rows is None else jax.tree.map(lambda a: a[rows], arrays)
        return objective(model, *seen), None

    ran = scan_steps(whole, start, optimiser, rows, num_steps=num_steps)
    return ran.model, ran.measured
