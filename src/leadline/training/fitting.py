"""`fit`: a training run that reports as it goes, can be stopped at any moment and goes on as if it had not been."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Num, PRNGKeyArray, PyTree

from .divergence import Diverged, likely_cause
from .logbook import Logbook, checksum
from .loop import Loop, Metrics, State, Steps
from .objectives import Loss, Sample, checked_sample, loss_called
from .progress import Bar

Model = TypeVar("Model", bound=PyTree)

WORK_PER_CALL = 1e11  # floating-point operations between two returns to Python: about a second on two cores


@dataclass(frozen=True)
class Run(Generic[Model]):
    """What came out of training."""

    model: Model  #: after the last epoch
    best: Model  #: with the least validation loss (training loss where nothing was held out)
    history: dict[str, Num[np.ndarray, " epochs"]]  #: loss, accuracy, ... of each epoch
    epochs: int
    reason: str  #: "finished", "stopped early" or "diverged"
    warnings: tuple[str, ...] = ()


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


def fit(
    model: Model,
    train: tuple[Any, Any],
    *,
    optimiser: optax.GradientTransformation,
    epochs: int,
    batch: int = 128,
    loss: str | Loss = "cross-entropy",
    validation: tuple[Any, Any] | None = None,
    patience: int | None = None,
    key: PRNGKeyArray,
    directory: str | Path | None = None,
    keep: int = 3,
    every: int | None = None,
    resume: bool = False,
    progress: bool = False,
    on_epoch: Callable[[dict[str, float]], None] | None = None,
) -> Run[Model]:
    """Train `model` on the pair (inputs, targets) with any Optax optimiser; clipping and schedules are part of it.

    `model` maps one input to its outputs; `loss` is "cross-entropy", "squared" or a function of a batch's (outputs,
    targets). Every epoch is a new permutation that depends on `key` alone. `patience` stops after so many epochs
    without a smaller validation loss. With a `directory`, metrics go to metrics.jsonl and checkpoints to checkpoints/
    (the last `keep` and the best; after `every` epochs, or about every five seconds); a run that was interrupted,
    however, and is called again with resume=True ends with the same bits. A loss that is not finite raises `Diverged`.

    >>> from leadline.networks import MLP
    >>> x = jnp.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> net = MLP((2, 16, 2), "tanh", key=jax.random.key(0))
    >>> xor = jnp.array([0, 1, 1, 0])
    >>> run = fit(net, (x, xor), optimiser=optax.adam(0.05), epochs=100, batch=4, key=jax.random.key(1))
    >>> float(run.history["accuracy"][-1]), run.reason
    (1.0, 'finished')
    """
    sample = checked_sample(model, train, loss)
    held = None if validation is None else checked_sample(model, validation, loss, "validation")
    _check_numbers(epochs, batch, len(sample.inputs), patience, every, resume and directory is None)
    parameters, rest = eqx.partition(model, eqx.is_inexact_array)
    loop = Loop(rest, loss_called(loss), optimiser, batch, patience)
    steps = len(sample.inputs) // batch
    size = sum(leaf.size for leaf in jax.tree.leaves(parameters))
    schedule = Schedule.of(size, batch, steps, epochs if directory is None else every or epochs)
    settings = {  # what must be the same when a run is resumed
        "batch": batch,
        "patience": patience,
        "loss": loss if isinstance(loss, str) else getattr(loss, "__qualname__", type(loss).__qualname__),
        "key": np.asarray(jax.random.key_data(key)).tolist(),
        "training data": checksum(sample) if directory else "",
        "validation data": checksum(held) if directory else "",
    }
    with Logbook(directory, keep, every, settings) as log:
        state = log.open(_start(loop, parameters), resume=resume)
        ended, before = loop.ended(state), state
        with Bar(epochs, len(log.records), steps * batch, shown=progress) as bar:
            while len(log.records) < epochs and not ended:
                earlier, before, count = before, state, min(schedule.epochs, epochs - len(log.records))
                state, measured = _advance(loop, state, sample, held, key, count, schedule.parts, bar)
                for record, bad in _records(measured, len(log.records), steps):
                    if bad >= 0:
                        raise _diverged(loop, (earlier, before), sample, held, key, log, bad)
                    log.add(record)
                    if on_epoch is not None:
                        on_epoch(record)
                ended = loop.ended(state)
                bar.epoch(len(log.records), log.records[-1])
                log.offer(state, last=ended or len(log.records) >= epochs)
    return _run(loop, state, log, "stopped early" if ended else "finished")


_start = eqx.filter_jit(Loop.start)
_epochs = eqx.filter_jit(Loop.epochs)
_steps = eqx.filter_jit(Loop.steps)
_rows = eqx.filter_jit(Loop.rows)
_finish = eqx.filter_jit(Loop.finish)


def _advance(
    loop: Loop, state: State, train: Sample, held: Sample | None, key: PRNGKeyArray, count: int, parts: int, bar: Bar
) -> tuple[State, Metrics]:
    """`count` epochs in one call, or one epoch in several with the bar moved between them."""
    if parts == 1:
        return _epochs(loop, state, train, held, key, count)
    rows = _rows(loop, train, state.epoch, key)
    size, measured = -(-len(rows) // parts), []
    for begin in range(0, len(rows), size):
        state, steps = _steps(loop, state, train, rows[begin : begin + size], jnp.asarray(begin))
        measured.append(steps)
        bar.within((begin + size) * loop.batch, float(steps.loss[-1]))
        if not np.isfinite(steps.loss).all():
            break
    joined = Steps(*(jnp.concatenate(part) for part in zip(*measured, strict=True)))
    state, metrics = _finish(loop, state, joined, held)
    return state, Metrics(*(value[None] for value in metrics))


def _records(metrics: Metrics, done: int, num_steps: int) -> list[tuple[dict[str, float], int]]:
    """For each epoch that ran its metrics (those that were measured) and its first bad step, or -1."""
    records, host = [], jax.device_get(metrics)
    for index in np.flatnonzero(host.run):
        values = {name: value[index].item() for name, value in host._asdict().items()}
        bad, _ = values.pop("bad_step"), values.pop("run")
        epoch = done + len(records) + 1
        measured = {name: value for name, value in values.items() if np.isfinite(value)}
        records.append(({"epoch": epoch, "step": epoch * num_steps, **measured}, bad))
    return records


def _diverged(
    loop: Loop,
    states: tuple[State, State],
    train: Sample,
    held: Sample | None,
    key: PRNGKeyArray,
    log: Logbook,
    bad: int,
) -> Diverged:
    """What to raise for step `bad` of the epoch after those in the log, from the states before the last two calls."""
    per_epoch = len(train.inputs) // loop.batch
    epoch = len(log.records)
    step = epoch * per_epoch + bad
    calm = next((s for s in reversed(states) if int(s.epoch) * per_epoch < step), states[0])
    cause = likely_cause(loop, calm, train, key, step - int(calm.epoch) * per_epoch)
    finite = max(epoch - (bad == 0), 0)  # the last epoch at whose start the loss was finite
    if finite > calm.epoch:
        calm = _epochs(loop, calm, train, held, key, finite - int(calm.epoch))[0]
    log.offer(calm, last=True)
    where = log.newest(finite)
    kept = f"; the last finite state is in the checkpoint {where}" if where else ""
    message = f"The loss stopped being finite at step {step} (epoch {epoch + 1}){kept}. Likely cause: {cause}."
    return Diverged(message, step=step, epoch=epoch, cause=cause, run=_run(loop, calm, log, "diverged"))


def _check_numbers(
    epochs: int, batch: int, samples: int, patience: int | None, every: int | None, nowhere: bool
) -> None:
    for name, value in (("epochs", epochs), ("patience", patience), ("every", every)):
        if value is not None and value < 1:
            raise ValueError(f"fit got {name}={value}; give 1 or more.")
    if not 1 <= batch <= samples:
        raise ValueError(f"fit got batch={batch} for {samples} training examples; choose 1 to {samples}.")
    if nowhere:
        raise ValueError("fit got resume=True without a directory; say which run to resume.")


def _run(loop: Loop, state: State, log: Logbook, reason: str) -> Run:
    model, best = (eqx.combine(p, loop.rest) for p in (state.parameters, state.best))
    return Run(model, best, log.history(), len(log.records), reason, log.warnings)
