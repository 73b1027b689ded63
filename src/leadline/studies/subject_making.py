"""Making a subject of whatever a user has: any network that `as_apply` takes, its data and its loss."""

import dataclasses
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
from leadline.evidence import BadInput
from leadline.frameworks.checks import is_of
from leadline.frameworks.network import Network
from leadline.frameworks.with_state import WithState
from leadline.training import one_hot_squared_error
from leadline.training.objectives import LOSSES, Loss

from .intake.arrangement import Fitted, Select, fitted, needs_example, opened
from .intake.batches import GivenRows, given_rows
from .intake.class_labels import numbered
from .intake.known_past import known_past
from .intake.positions import PositionLoss, Positions, at_positions, found_positions
from .intake.row_checks import check_labels, check_numbers, real_targets, whole_labels
from .subject import TOGETHER, Rows, Subject, TrainingHistory

FEWEST = 20  # training rows of a study
SAME = 1e-4  # of the largest output: what rounding may change


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
    select: Select = None,
    start: Any = None,
    optimiser: str | None = None,
    step_size: float | None = None,
    momentum: float | None = None,
    batch: int | None = None,
    past: TrainingHistory | None = None,
    name: str = "",
    data: str = "",
    rows: int = 1000,
    seed: int = 0,
) -> Subject:
    """A network, its data and its loss as one subject; BadInput says in one sentence what does not fit.

    `model` is a network of one example or of a batch as `as_apply` takes it: an Equinox, Flax, Haiku, PyTorch or
    scikit-learn network, or a function with its parameters, (f, params); `select` picks one of several outputs.
    `train` and `test` are pairs (inputs, targets) of arrays, or loaders of such batches, of which up to `rows` rows are
    read; a third part of a pair is a mask of targets (n, T) of sequences. The loss is cross-entropy where targets are
    integers or texts and the squared error otherwise, unless given: a name, or a function of outputs and targets with
    one loss per row (of sequences: per position). `start` is the network (or its parameters) before training;
    `optimiser` ("sgd", "momentum", "adam", ...), `step_size`, `momentum` and `batch` are those it was trained with.

    >>> from leadline import networks
    >>> net = networks.MLP((4, 8, 3), key=jax.random.key(0))
    >>> x = np.random.default_rng(0).normal(size=(60, 4))
    >>> subject = as_subject(net, (x[:40], np.arange(40) % 3), (x[40:], np.arange(20) % 3))
    >>> subject.kind, subject.loss, subject.outputs, subject.size
    ('classifier', 'cross-entropy', 3, 67)
    """
    if not rows >= FEWEST:
        raise BadInput(f"rows is {rows}; a study needs to look at {FEWEST} rows or more.")
    past = known_past(past, optimiser=optimiser, step_size=step_size, momentum=momentum, batch=batch)
    seen = given_rows(train, "training", rows)
    unseen = None if test is None else given_rows(test, "test", rows)
    own_classes = getattr(_module(model), "classes_", None)
    labels = numbered(seen.targets, None if unseen is None else unseen.targets, own_classes)
    seen = check_numbers(seen._replace(targets=labels.train), "training")
    if unseen is not None:
        unseen = check_numbers(unseen._replace(targets=labels.test), "test")
    if len(seen.inputs) < FEWEST:
        raise BadInput(f"There are {len(seen.inputs)} training rows; a study needs {FEWEST} or more.")
    for part in ("inputs", "targets"):
        shapes = [getattr(given, part).shape[1:] for given in (seen, unseen) if given is not None]
        if shapes[0] != shapes[-1]:
            raise BadInput(f"Training {part} have shape {shapes[0]} and test {part} {shapes[-1]}; give both alike.")
    if loss == "cross-entropy":
        seen, unseen = whole_labels(seen), None if unseen is None else whole_labels(unseen)
    fit = fitted(model, seen.inputs, select)
    where = found_positions(seen.targets, fit.outputs, seen.mask)
    apply, criterion, named, trained, tested = _with_targets(fit, where, loss, seen, unseen)
    order = np.random.default_rng(seed).permutation(len(seen.inputs))
    subject = Subject(
        name or _name(model),
        apply,
        fit.params,
        Rows(*(part[order] for part in trained)),
        tested,
        criterion,
        named,
        _module(model),
        past if start is None else past._replace(start=_start(start, fit, seen.inputs)),
        data or seen.source,
        rows,
        seed,
        labels.classes,
        where and where.shape,
        _taken(fit, select, _module(model)),
        None if _module(model) is None else model,
        select is not None,
    )
    _check_outputs(subject)
    return subject


def _with_targets(
    fit: Fitted, where: Positions | None, loss: str | Loss | None, seen: GivenRows, unseen: GivenRows | None
) -> tuple[Callable, Loss, str, Rows, Rows | None]:
    """The network with the outputs that the loss takes, the loss and its name, training and test rows."""
    apply: Callable = dataclasses.replace(fit.arranged, positions=where)
    width = math.prod(fit.outputs) // (1 if where is None else where.count)
    parts = [
        (rows.targets if where is None else at_positions(rows.targets, rows.mask, where, what), what)
        for rows, what in ((seen, "training"), (unseen, "test"))
        if rows is not None
    ]
    first = parts[0][0]
    labels = first.dtype.kind == "i" and (first.ndim == 1 or where is not None)
    named, criterion = _loss(loss, labels)
    if named == "cross-entropy" or (labels and width > 1):
        if where is None and any(targets.ndim > 1 for targets, _ in parts):
            raise BadInput(_one_label_each(named, first))
        if width == 1:
            apply, width = TwoScores(apply), 2
        found, *_ = [check_labels(targets, what, width, named) for targets, what in parts]
        if len(found) == 1:
            raise BadInput(f"Every training label is {found[0]}; a study needs two classes or more.")
        criterion = one_hot_squared_error if named == "squared" else criterion
    else:
        precision = np.dtype(jnp.result_type(*jax.tree.leaves(fit.params)))
        parts = [(real_targets(targets, width, named, precision), what) for targets, what in parts]
    given = [seen] if unseen is None else [seen, unseen]
    made = [Rows(rows.inputs.astype(fit.dtype, copy=False), y) for rows, (y, _) in zip(given, parts, strict=True)]
    criterion = criterion if where is None else PositionLoss(criterion)
    return apply, criterion, named, made[0], made[1] if len(made) > 1 else None


def _one_label_each(loss: str, targets: np.ndarray) -> str:
    return (
        f"A classifier with the {loss} loss needs one integer label per row; the training targets have type "
        f"{targets.dtype} and shape {targets.shape}."
    )


def _loss(loss: str | Loss | None, labels: bool) -> tuple[str, Loss]:
    if loss is None:
        loss = "cross-entropy" if labels else "squared"
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise BadInput(f"There is no loss called {loss!r}; choose one of {', '.join(LOSSES)}, or give a function.")
        return loss, LOSSES[loss]
    return getattr(loss, "__name__", type(loss).__name__), loss


def _name(model: Any) -> str:
    module = _module(model)
    return "function" if module is None else type(module).__name__


def _module(model: Any) -> Any:
    """The network as it was given, without what was given beside it; None for a function."""
    module = model[0] if type(model) in (tuple, Network) else model.network if isinstance(model, WithState) else model
    return None if inspect.isfunction(module) else module


def _taken(fit: Fitted, select: Select, module: Any) -> str:
    """How the network takes its inputs, which of its outputs and in which mode, where that is not as it was given."""
    axes, shape = fit.arranged.axes, fit.arranged.shape
    order = f"inputs with their axes in the order {axes}" if axes else f"inputs in the shape {shape}" if shape else ""
    name = getattr(select, "__qualname__", repr(select)) if callable(select) else select
    mode = "evaluation mode (it was given in training mode)" if is_of(module, "torch") and module.training else ""
    return ", ".join(filter(None, [order, "" if select is None else f"output {name}", mode]))


def _start(start: Any, fit: Fitted, inputs: np.ndarray) -> PyTree:
    before, weights = start, fit.params
    if jax.tree.structure(start) != jax.tree.structure(weights):
        example = [fit.arranged.rearranged(inputs[:2].astype(fit.dtype))] if needs_example(start) else []
        before = opened(start, *example).params
    fits = jax.tree.structure(before) == jax.tree.structure(weights) and all(
        a.shape == b.shape for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(weights), strict=True)
    )
    if not fits:
        raise BadInput(
            "The network at the start has other parameters than the trained one; give the same architecture."
        )
    return before


def _check_outputs(subject: Subject) -> None:
    """The network computes the outputs of training rows, finite numbers, each row's from that row alone."""
    try:
        scores = subject.train_scores
    except Exception as error:  # whatever a user's network raises on more rows than it was tried on
        raise BadInput(
            f"The network does not give the outputs of {subject.train.count} training rows: {reason(error)}."
        ) from None
    if not np.isfinite(scores).all():
        from .measurements.recurrent.memory_measures import overflow_of

        row = int(np.argwhere(~np.isfinite(scores))[0][0])
        raise BadInput(
            f"The network's output is not finite for training row {row}{overflow_of(subject, row)}; look for overflow "
            "or NaN among its weights."
        )
    others = subject.train.inputs[:TOGETHER].copy()
    kept = (len(others) + 1) // 2
    others[kept:] = others[0]
    moved = float(np.abs(subject.scores(others)[:kept] - scores[:kept]).max())
    if moved > SAME * float(np.abs(scores).max()):
        raise BadInput(
            f"The outputs of a row change by {moved:.2g} with the other rows of its batch, as where a layer normalises "
            "by the batch; give a network in inference mode, whose rows do not depend on one another."
        )
