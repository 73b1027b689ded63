"""`fit`: a training run that reports as it goes, can be stopped at any moment and goes on as if it had not been."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import jax
import numpy as np
import optax
from jax.sharding import Mesh
from jaxtyping import Num, PRNGKeyArray, PyTree

from .divergence import Diverged, likely_cause
from .engine.epochs import Loop, Metrics, State
from .engine.objective import Objective
from .engine.players import Player
from .engine.recording import Recorder
from .feeding import Schedule, advance
from .logbook import Logbook, checksum
from .objectives import Loss
from .planning import Plan, plan
from .progress import Bar
from .weights import gathered

Model = TypeVar("Model", bound=PyTree)


@dataclass(frozen=True)
class Run(Generic[Model]):
    """What came out of training."""

    model: Model  #: after the last epoch
    best: Model  #: with the least validation loss (training loss where nothing was held out)
    history: dict[str, Num[np.ndarray, " epochs"]]  #: loss, accuracy, ... of each epoch
    epochs: int
    reason: str  #: "finished", "stopped early" or "diverged"
    warnings: tuple[str, ...] = ()
    state: PyTree = None  #: the objective's, after the last epoch
    averages: tuple[Model, ...] = ()  #: exponential moving averages of the weights, one for each decay
    recorded: PyTree = None  #: what the recorder kept, stacked
    best_state: PyTree = None  #: the objective's, beside `best`


def fit(
    model: Model,
    train: Any,
    *,
    optimiser: optax.GradientTransformation | None = None,
    epochs: int,
    batch: int = 128,
    loss: str | Loss = "cross-entropy",
    objective: Objective | None = None,
    players: Sequence[Player] = (),
    state: PyTree = None,
    averages: Sequence[float] = (),
    micro: int = 1,
    recorder: Recorder | None = None,
    num_steps: int | None = None,
    validation: Any = None,
    patience: int | None = None,
    key: PRNGKeyArray,
    directory: str | Path | None = None,
    keep: int = 3,
    every: int | None = None,
    resume: bool = False,
    progress: bool = False,
    on_epoch: Callable[[dict[str, float]], None] | None = None,
    mesh: Mesh | None = None,
    shard: bool = False,
) -> Run[Model]:
    """Train `model` with any Optax optimiser; clipping and schedules are part of it.

    Plainly: `train` is the pair (inputs, targets), `model` maps one input to its outputs, and `loss` is
    "cross-entropy", "squared" or a function of a batch's (outputs, targets).

    In general: `objective(model, batch, key, state) -> (row losses, state)`. A batch is rows of `train`, any pytree of
    arrays; or `train` is a function draw(key) of which `num_steps` batches are called an epoch. The losses may have any
    shape, with a mask or weights and further measurements as `RowLosses`; each step has a key of its own (dropout,
    noise); `state` is what the objective carries from step to step (batch statistics: `eqx.nn.make_with_state`).
    Validation has `eqx.nn.inference_mode` on. Several `players` take turns on a dictionary of models, each with an
    objective and an optimiser of its own. `averages` are decays of moving averages of the weights; `micro` cuts a
    batch into so many parts whose gradients are summed; `recorder` keeps what it likes of steps.

    Every epoch is a new permutation that depends on `key` alone. `patience` stops after so many epochs without a
    smaller validation loss. With a `directory`, metrics go to metrics.jsonl and checkpoints to checkpoints/ (the last
    `keep` and the best; after `every` epochs, or about every five seconds); a run that was interrupted, however, and is
    called again with resume=True ends with the same bits. A loss that is not finite raises `Diverged`.

    On a `mesh` of devices, of one process or many, each takes a share of every batch, and with `shard` a part of the
    parameters (`training.Layout`).

    >>> import jax.numpy as jnp
    >>> from leadline.networks import MLP
    >>> x = jnp.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> net = MLP((2, 16, 2), "tanh", key=jax.random.key(0))
    >>> xor = jnp.array([0, 1, 1, 0])
    >>> run = fit(net, (x, xor), optimiser=optax.adam(0.05), epochs=100, batch=4, key=jax.random.key(1))
    >>> float(run.history["accuracy"][-1]), run.reason
    (1.0, 'finished')

    Least squares with noise that is drawn anew at every step, and the average of the slopes on the way:

    >>> def denoise(w, batch, key, state):
    ...     return (w * batch["x"] - batch["y"] - 0.1 * jax.random.normal(key, batch["x"].shape)) ** 2, state
    >>> data = {"x": np.linspace(-1, 1, 64), "y": 3 * np.linspace(-1, 1, 64)}
    >>> run = fit(jnp.array(0.0), data, objective=denoise, optimiser=optax.sgd(0.1), epochs=30, batch=16,
    ...           averages=(0.9,), key=jax.random.key(0))
    >>> bool(abs(run.averages[0] - 3) < 0.2)
    True
    """
    given = plan(
        model,
        train,
        validation,
        optimiser=optimiser,
        batch=batch,
        loss=loss,
        objective=objective,
        players=players,
        state=state,
        averages=averages,
        micro=micro,
        recorder=recorder,
        num_steps=num_steps,
        patience=patience,
        key=key,
        mesh=mesh,
        shard=shard,
    )
    _check_numbers(epochs, patience, every, resume and directory is None)
    loop, source = given.loop, given.source
    size = sum(leaf.size for leaf in jax.tree.leaves(given.parameters))
    schedule = Schedule.of(size, batch, source.num_steps, epochs if directory is None else every or epochs)
    settings = given.settings
    if directory is not None:
        settings |= {"training data": checksum(train), "validation data": checksum(validation)}
    with Logbook(directory, keep, every, settings) as log:
        at = given.placed(log.open(given.begin(), resume=resume, records=given.no_records() if resume else None))
        resumed = at if log.records else None
        ended = loop.ended(at)
        with Bar(epochs, len(log.records), source.num_steps * batch, shown=progress) as bar:
            while len(log.records) < epochs and not ended:
                before, cut = at, schedule._replace(epochs=min(schedule.epochs, epochs - len(log.records)))
                at, measured, recorded = advance(loop, at, source, given.held, key, cut, bar)
                records = _records(measured, len(log.records), source.num_steps)
                log.record(_of_epochs(recorded, len(records), len(measured.run)), len(log.records) + len(records))
                for record, bad in records:
                    if bad >= 0:
                        step = given.steps_before(len(log.records)) + bad
                        begun = before if given.steps_before(before.epoch) < step else resumed or given.begin()
                        raise _diverged(given, begun, log, step)
                    log.add(record)
                    if on_epoch is not None:
                        on_epoch(record)
                ended = loop.ended(at)
                bar.epoch(len(log.records), log.records[-1])
                log.offer(at, last=ended or len(log.records) >= epochs)
    return _run(loop, at, log, "stopped early" if ended else "finished")


def _records(metrics: Metrics, done: int, num_steps: int) -> list[tuple[dict[str, float], int]]:
    """For each epoch that ran its metrics (those that were measured) and its first bad step, or -1."""
    records, host = [], jax.device_get(metrics)
    for index in np.flatnonzero(host.run):
        values = {name: value[index].item() for name, value in host.columns().items()}
        epoch = done + len(records) + 1
        measured = {name: value for name, value in values.items() if np.isfinite(value)}
        records.append(({"epoch": epoch, "step": epoch * num_steps, **measured}, host.bad_step[index].item()))
    return records


def _of_epochs(recorded: PyTree, ran: int, called: int) -> PyTree:
    """The records of the epochs that ran, of those that a call was for, on the host."""
    return jax.tree.map(lambda a: np.asarray(a)[: len(a) // called * ran], recorded)


def _diverged(given: Plan, calm: State, log: Logbook, step: int) -> Diverged:
    """What to raise for a loss that is not finite at a step in the epoch after those in the log."""
    loop, epoch = given.loop, len(log.records)
    cause = likely_cause(loop, calm, given.source, given.key, step - given.steps_before(calm.epoch))
    finite = max(epoch - (step == given.steps_before(epoch)), 0)  # the last epoch at whose start the loss was finite
    while int(calm.epoch) < finite:
        calm, _, _ = advance(loop, calm, given.source, given.held, given.key, Schedule(1, 1), Bar(1, 0, 1, shown=False))
    log.offer(calm, last=True)
    where = log.newest(finite)
    kept = f"; the last finite state is in the checkpoint {where}" if where else ""
    message = f"The loss stopped being finite at step {step} (epoch {epoch + 1}){kept}. Likely cause: {cause}."
    return Diverged(message, step=step, epoch=epoch, cause=cause, run=_run(loop, calm, log, "diverged"))


def _check_numbers(epochs: int, patience: int | None, every: int | None, nowhere: bool) -> None:
    for name, value in (("epochs", epochs), ("patience", patience), ("every", every)):
        if value is not None and value < 1:
            raise ValueError(f"fit got {name}={value}; give 1 or more.")
    if nowhere:
        raise ValueError("fit got resume=True without a directory; say which run to resume.")


def _run(loop: Loop, state: State, log: Logbook, reason: str) -> Run:
    carried, best, best_state = gathered((state.carried, state.best, state.best_state))
    model, best, *averages = (loop.engine.model(p) for p in (carried.parameters, best, *carried.averages))
    return Run(
        model,
        best,
        log.history(),
        len(log.records),
        reason,
        log.warnings,
        carried.state,
        tuple(averages),
        log.all_recorded(),
        best_state,
    )
