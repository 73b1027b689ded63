"""Making a subject of whatever a user has: any network that `as_apply` takes, its data and its loss."""

import inspect
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from leadline._messages import reason
from leadline._network import Network, as_apply
from leadline.evidence import BadInput
from leadline.training import one_hot_squared_error
from leadline.training.objectives import LOSSES, Loss

from .subject import Rows, Subject, TrainingHistory

FEWEST = 20  # training rows of a study


class FlatOutputs(eqx.Module):
    """apply(params, inputs) → (n, k) from a network whose outputs may have any shape.

    `shape` is the shape in which the network takes an example, where it is not that of the data.
    """

    function: Callable
    shape: tuple[int, ...] | None = eqx.field(static=True, default=None)

    def __call__(self, params: PyTree, inputs: Array | np.ndarray) -> Array:
        inputs = jnp.asarray(inputs)
        inputs = inputs if self.shape is None else inputs.reshape(len(inputs), *self.shape)
        return self.function(params, inputs).reshape(len(inputs), -1)


class TwoScores(eqx.Module):
    """The scores (0, z) of two classes from the single output z of a binary classifier."""

    apply: Callable

    def __call__(self, params: PyTree, inputs: Array | np.ndarray) -> Array:
        return jnp.pad(self.apply(params, inputs), ((0, 0), (1, 0)))


def as_subject(
    model: Any,
    train: Any,
    test: Any = None,
    *,
    loss: str | Loss | None = None,
    start: Any = None,
    step_size: float | None = None,
    batch: int | None = None,
    past: TrainingHistory | None = None,
    name: str = "",
    data: str = "",
    rows: int = 1000,
    seed: int = 0,
) -> Subject:
    """A network, its data and its loss as one subject; BadInput says in one sentence what does not fit.

    `model` is a network of one example or of a batch as `as_apply` takes it: an Equinox, Flax or Haiku network, or a
    function with its parameters, (f, params). `train` and `test` are pairs (inputs, targets). The loss is cross-entropy
    where targets are integers and the squared error otherwise, unless given: a name, or a function of outputs and
    targets with one loss per row. `start` is the network (or its parameters) before training; `step_size` and `batch`
    are those it was trained with.

    >>> from leadline import networks
    >>> net = networks.MLP((4, 8, 3), key=jax.random.key(0))
    >>> x = np.random.default_rng(0).normal(size=(60, 4))
    >>> subject = as_subject(net, (x[:40], np.arange(40) % 3), (x[40:], np.arange(20) % 3))
    >>> subject.loss, subject.outputs, subject.size
    ('cross-entropy', 3, 67)
    """
    if not rows >= FEWEST:
        raise BadInput(f"rows is {rows}; a study needs to look at {FEWEST} rows or more.")
    if step_size is not None and not 0 < step_size < math.inf:
        raise BadInput(f"The step size is {step_size}; give a finite number above 0, or leave it out.")
    if batch is not None and batch < 1:
        raise BadInput(f"The batch size is {batch}; give 1 or more, or leave it out.")
    network = _opened(model)
    weights = network.params
    dtype = np.dtype(jnp.result_type(*jax.tree.leaves(weights)))
    seen = _checked_rows(train, "training", dtype)
    unseen = None if test is None else _checked_rows(test, "test", dtype)
    if seen.count < FEWEST:
        raise BadInput(f"There are {seen.count} training rows; a study needs {FEWEST} or more.")
    if unseen is not None and unseen.inputs.shape[1:] != seen.inputs.shape[1:]:
        raise BadInput(
            f"Training inputs have shape {seen.inputs.shape[1:]} and test inputs {unseen.inputs.shape[1:]}; "
            "give both alike."
        )
    apply, width = _batched(model, network, seen.inputs)
    named, criterion = _loss(loss, seen)
    labelled = seen.targets.dtype.kind == "i" and seen.targets.ndim == 1 and (width > 1 or named == "cross-entropy")
    if labelled or named == "cross-entropy":
        if width == 1:
            apply, width = TwoScores(apply), 2
        _check_labels(seen, unseen, width, named)
        criterion = one_hot_squared_error if named == "squared" else criterion
    else:
        seen, unseen = (rows and _real_targets(rows, width, named) for rows in (seen, unseen))
    order = np.random.default_rng(seed).permutation(seen.count)
    past = past or TrainingHistory()
    past = past._replace(
        start=past.start if start is None else _start(start, weights),
        step=past.step if step_size is None else step_size,
        batch=past.batch if batch is None else batch,
    )
    subject = Subject(
        name or _name(model),
        apply,
        weights,
        Rows(seen.inputs[order], seen.targets[order]),
        unseen,
        criterion,
        named,
        _module(model),
        past,
        data,
        rows,
        seed,
    )
    _check_outputs(subject)
    return subject


def _opened(model: Any, batched: bool | None = None) -> Network:
    try:
        return as_apply(model, batched=batched)
    except ValueError as mistake:
        raise BadInput(str(mistake)) from None


def _name(model: Any) -> str:
    module = _module(model)
    return "function" if module is None else type(module).__name__


def _module(model: Any) -> Any:
    """The network as it was given, without what was given beside it; None for a function."""
    module = model[0] if type(model) in (tuple, Network) else model
    return None if inspect.isfunction(module) else module


def _batched(model: Any, network: Network, inputs: np.ndarray) -> tuple[Callable, int]:
    """The function of batches and its number of outputs.

    A network is first taken as those of its library are, of one example or of a batch, then as the other; images may be
    taken as they are, as one row of numbers, or with a channel axis before or behind.
    """
    given, one = inputs.shape[1:], jax.ShapeDtypeStruct((3, *inputs.shape[1:]), inputs.dtype)
    arrangements = [None, (int(np.prod(given)),), (1, *given), (*given, 1)] if len(given) > 1 else [None]
    other = _opened(model, batched=getattr(network.apply, "mapped", False)).apply
    why = ""
    for shape in arrangements:
        for function in (network.apply, other):
            apply = FlatOutputs(function, shape)
            try:
                outputs = jax.eval_shape(apply, network.params, one)
            except Exception as error:  # whatever a user's network raises on inputs that it does not take
                why = why or reason(error)
                continue
            if not jnp.issubdtype(outputs.dtype, jnp.floating):
                raise BadInput(f"The network's outputs have type {outputs.dtype}; a study needs real numbers (floats).")
            return apply, outputs.shape[1]
    raise BadInput(f"The network does not take inputs of shape {given}: {why}")


def _checked_rows(given: Any, what: str, dtype: np.dtype) -> Rows:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise BadInput(f"The {what} data must be a pair (inputs, targets); give one array of each.")
    x, y = (np.asarray(part) for part in given)
    if x.ndim < 2 or y.ndim == 0 or len(x) != len(y) or not len(x):
        raise BadInput(
            f"The {what} data have inputs of shape {x.shape} and targets of shape {y.shape}; give one row per example."
        )
    for part, name in ((x, "input"), (y, "target")):
        if part.dtype.kind not in "biuf":
            raise BadInput(f"The {what} {name}s have type {part.dtype}; convert them to numbers.")
        if part.dtype.kind == "f" and not np.isfinite(part).all():
            row = int(np.argwhere(~np.isfinite(part))[0][0])
            raise BadInput(f"The {what} {name} in row {row} is not a finite number; remove or repair such rows.")
    return Rows(x.astype(dtype), y.astype(np.int64) if y.dtype.kind in "bu" else y)


def _loss(loss: str | Loss | None, seen: Rows) -> tuple[str, Loss]:
    if loss is None:
        loss = "cross-entropy" if seen.targets.dtype.kind == "i" and seen.targets.ndim == 1 else "squared"
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise BadInput(f"There is no loss called {loss!r}; choose one of {', '.join(LOSSES)}, or give a function.")
        return loss, LOSSES[loss]
    return getattr(loss, "__name__", type(loss).__name__), loss


def _check_labels(seen: Rows, unseen: Rows | None, width: int, loss: str) -> None:
    for rows, what in ((seen, "training"), (unseen, "test")):
        if rows is None:
            continue
        if rows.targets.ndim != 1 or rows.targets.dtype.kind != "i":
            raise BadInput(
                f"A classifier with the {loss} loss needs one integer label per row; the {what} targets have type "
                f"{rows.targets.dtype} and shape {rows.targets.shape}."
            )
        wrong = np.flatnonzero((rows.targets < 0) | (rows.targets >= width))
        if wrong.size:
            raise BadInput(
                f"The {what} label in row {wrong[0]} is {rows.targets[wrong[0]]}; a network with {width} scores needs "
                f"labels 0 to {width - 1}."
            )
    if len(np.unique(seen.targets)) == 1:
        raise BadInput(f"Every training label is {seen.targets[0]}; a study needs two classes or more.")


def _real_targets(rows: Rows, width: int, loss: str) -> Rows:
    """Targets of regression, as (n, k)."""
    y = rows.targets.reshape(rows.count, -1)
    if y.shape[1] != width:
        raise BadInput(
            f"The network gives {width} {'number' if width == 1 else 'numbers'} per row and the targets have "
            f"{y.shape[1]}; make them the same for the {loss} loss."
        )
    return Rows(rows.inputs, y.astype(rows.inputs.dtype))


def _start(start: Any, weights: PyTree) -> PyTree:
    before = start
    if jax.tree.structure(start) != jax.tree.structure(weights):
        before = _opened(start).params
    fits = jax.tree.structure(before) == jax.tree.structure(weights) and all(
        a.shape == b.shape for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(weights), strict=True)
    )
    if not fits:
        raise BadInput(
            "The network at the start has other parameters than the trained one; give the same architecture."
        )
    return before


def _check_outputs(subject: Subject) -> None:
    scores = subject.train_scores
    if not np.isfinite(scores).all():
        row = int(np.argwhere(~np.isfinite(scores))[0][0])
        raise BadInput(
            f"The network's output is not finite for training row {row}; look for overflow or NaN among its weights."
        )
