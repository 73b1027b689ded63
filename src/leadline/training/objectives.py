"""Losses by name for the training loop, and the checks that a model, its data and its loss belong together."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray, PyTree

from leadline._shapes import output_shape

from .engine.objective import RowLosses

#: outputs of a batch and its targets -> one loss for each example
Loss = Callable[[Float[Array, "batch ..."], Num[Array, "batch ..."]], Float[Array, " batch"]]


class Sample(NamedTuple):
    """Inputs and targets, one row for each example."""

    inputs: Num[Array | np.ndarray, "n ..."]
    targets: Num[Array | np.ndarray, "n ..."]


def squared_error(outputs: Float[Array, "batch ..."], targets: Num[Array, "batch ..."]) -> Float[Array, " batch"]:
    """‖f(x) - y‖² for each example; a single output may have targets without an axis of their own.

    >>> squared_error(jnp.array([[1.0], [3.0]]), jnp.array([0.0, 1.0])).tolist()
    [1.0, 4.0]
    """
    difference = outputs - targets.reshape(outputs.shape)
    return jnp.sum(difference.reshape(len(difference), -1) ** 2, axis=1)


def one_hot_squared_error(outputs: Float[Array, "batch k"], labels: Int[Array, " batch"]) -> Float[Array, " batch"]:
    """‖f(x) - e_y‖² for each example with the label y.

    >>> one_hot_squared_error(jnp.array([[1.0, 0.0], [0.5, 0.5]]), jnp.array([0, 1])).tolist()
    [0.0, 0.5]
    """
    return jnp.sum((outputs - jax.nn.one_hot(labels, outputs.shape[1], dtype=outputs.dtype)) ** 2, axis=1)


LOSSES: dict[str, Loss] = {"cross-entropy": optax.softmax_cross_entropy_with_integer_labels, "squared": squared_error}


class Supervised(eqx.Module):
    """The objective of a loss of (outputs, targets): its rows, and which labels have the largest output.

    >>> objective = Supervised(squared_error)
    >>> rows, _ = objective(lambda x: 2 * x, Sample(jnp.array([1.0, 2.0]), jnp.array([2.0, 3.0])), None, None)
    >>> rows.losses.tolist()
    [0.0, 1.0]
    """

    loss: Loss = eqx.field(static=True)

    def __call__(
        self, model: Callable, sample: Sample | tuple, key: PRNGKeyArray | None, state: PyTree
    ) -> tuple[RowLosses, PyTree]:
        inputs, targets = (jnp.asarray(part) for part in sample)
        outputs, state = self.outputs(model, inputs, key, state)
        right = _right(outputs, targets)
        return RowLosses(self.loss(outputs, targets), None, {} if right is None else {"accuracy": right}), state

    def outputs(
        self, model: Callable, inputs: Num[Array, "batch ..."], key: PRNGKeyArray | None, state: PyTree
    ) -> tuple[Num[Array, "batch ..."], PyTree]:
        """The outputs of a batch and the new state."""
        return jax.vmap(model)(inputs), state


def _right(outputs: Float[Array, "batch ..."], targets: Array) -> Float[Array, " batch"] | None:
    """1 where the largest output is the label's, 0 elsewhere; None where targets are not labels."""
    if outputs.ndim != 2 or outputs.shape[1] < 2 or not jnp.issubdtype(targets.dtype, jnp.integer) or targets.ndim != 1:
        return None
    return (jnp.argmax(outputs, axis=1) == targets).astype(outputs.dtype)


def loss_called(name: str | Loss) -> Loss:
    """The loss of that name in `LOSSES`; a function of (outputs, targets) is taken as it is."""
    if not isinstance(name, str):
        return name
    if name not in LOSSES:
        raise ValueError(f"There is no loss called {name!r}; choose one of {', '.join(LOSSES)}, or give a function.")
    return LOSSES[name]


def checked_sample(model: Callable, sample: tuple, loss: str | Loss, what: str = "training") -> Sample:
    """The sample as arrays, after checks; ValueError says in one sentence what is wrong with it.

    >>> sample = checked_sample(lambda x: x, (np.ones((3, 2)), np.array([0, 1, 1])), "cross-entropy")
    >>> sample.inputs.shape
    (3, 2)
    """
    if not isinstance(sample, tuple | list) or len(sample) != 2:
        raise ValueError(f"The {what} data must be a pair (inputs, targets); give one array of each.")
    x, y = (np.asarray(part) for part in sample)
    if x.ndim == 0 or y.ndim == 0 or len(x) != len(y):
        raise ValueError(
            f"The {what} data have inputs of shape {x.shape} and targets of shape {y.shape}; "
            "give as many targets as inputs, one row each."
        )
    if len(x) == 0:
        raise ValueError(f"The {what} data are empty; give at least one example.")
    for part, name in ((x, "input"), (y, "target")):
        if part.dtype.kind not in "biuf":
            raise ValueError(f"The {what} {name}s have type {part.dtype}; convert them to numbers.")
        if part.dtype.kind == "f" and not np.isfinite(part.sum(dtype=float)) and not np.isfinite(part).all():
            row = int(np.argwhere(~np.isfinite(part))[0][0])
            raise ValueError(
                f"The {what} {name} in row {row} is not a finite number; remove or repair such rows before training."
            )
    outputs = _output_shape(model, x, what)
    if loss == "cross-entropy":
        _check_labels(y, outputs, what)
    elif loss == "squared" and y[0].size != int(np.prod(outputs)):
        raise ValueError(
            f"The model gives outputs of shape {outputs}, but each {what} target has shape {y.shape[1:]}; "
            "make them the same size."
        )
    return Sample(*(part if isinstance(part, jax.Array) else array for part, array in zip(sample, (x, y), strict=True)))


def checked_rows(data: PyTree, what: str = "training") -> PyTree:
    """Data of any form after checks: arrays of numbers, as many rows in each, at least one.

    >>> sorted(checked_rows({"tokens": np.zeros((3, 5), int), "mask": np.ones((3, 5), bool)}))
    ['mask', 'tokens']
    """
    leaves = jax.tree.leaves(data)
    if any(not hasattr(leaf, "shape") or leaf.ndim == 0 for leaf in leaves) or len({len(leaf) for leaf in leaves}) != 1:
        shapes = [getattr(leaf, "shape", type(leaf).__name__) for leaf in leaves]
        raise ValueError(f"The {what} data have arrays of shapes {shapes}; give arrays with one row for each example.")
    if len(leaves[0]) == 0:
        raise ValueError(f"The {what} data are empty; give at least one example.")
    for leaf in leaves:
        if np.dtype(leaf.dtype).kind not in "biufc":
            raise ValueError(f"The {what} data have an array of type {leaf.dtype}; convert it to numbers.")
    return data


def _output_shape(model: Callable, x: np.ndarray, what: str) -> tuple[int, ...]:
    try:
        return output_shape(model, jax.ShapeDtypeStruct(x.shape[1:], jax.dtypes.canonicalize_dtype(x.dtype))).shape
    except Exception as error:  # whatever a user's model raises on inputs it cannot take
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ValueError(f"The model does not take a {what} input of shape {x.shape[1:]}: {reason}") from error


def _check_labels(y: np.ndarray, outputs: tuple[int, ...], what: str) -> None:
    if y.ndim != 1 or y.dtype.kind not in "iu":
        raise ValueError(
            f"Cross-entropy needs one integer label for each {what} example; got type {y.dtype} and shape {y.shape}."
        )
    if len(outputs) != 1:
        raise ValueError(f"Cross-entropy needs one score for each class; the model gives shape {outputs}.")
    wrong = np.flatnonzero((y < 0) | (y >= outputs[0]))
    if wrong.size:
        raise ValueError(
            f"The {what} label in row {wrong[0]} is {y[wrong[0]]}; a model with {outputs[0]} outputs needs labels "
            f"0 to {outputs[0] - 1}."
        )
