"""A subject of study: a network as a function of its parameters, its data and its loss."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray, PyTree

from leadline.training.objectives import Loss

TOGETHER = 1024  # rows whose outputs are computed at once


class Rows(NamedTuple):
    """Inputs and targets, one row for each example."""

    inputs: Float[np.ndarray, "n ..."]
    targets: Num[np.ndarray, "n ..."]

    @property
    def count(self) -> int:
        return len(self.inputs)

    def first(self, count: int) -> "Rows":
        return Rows(self.inputs[:count], self.targets[:count])


class TrainingHistory(NamedTuple):
    """How the network came to be, as far as it is known; None where it is not.

    `start` are the parameters before training, `step` and `batch` those of the optimiser, `losses` the mean training
    loss after each epoch, `init` the rule that drew the weights.
    """

    start: PyTree = None
    optimiser: str | None = None
    step: float | None = None
    momentum: float = 0.0
    batch: int | None = None
    weight_decay: float = 0.0
    constant_step: bool = True
    epochs: int | None = None
    losses: Float[np.ndarray, " epochs"] | None = None
    init: str | None = None

    @property
    def plain(self) -> bool:
        """Whether it was trained by (stochastic) gradient descent at a constant step, without momentum or decay."""
        return (
            self.optimiser == "sgd"
            and self.step is not None
            and self.constant_step
            and not (self.momentum or self.weight_decay)
        )


class RowLosses(eqx.Module):
    """One loss for every row; equal for equal networks and losses, so that what is compiled for one serves the next."""

    apply: Callable
    criterion: Callable

    def __call__(self, params: PyTree, inputs: Array | np.ndarray, targets: Array | np.ndarray) -> Float[Array, " n"]:
        return self.criterion(self.apply(params, inputs), jnp.asarray(targets))


@dataclass(frozen=True, eq=False)
class Subject:
    """A network with its data and its loss, as every instrument takes it.

    apply(params, inputs) gives the outputs of a batch, (n, k); `params` is a pytree of floating-point arrays and
    nothing else; targets are class labels (n,) of a classifier, whose outputs are one score per class, or real
    numbers (n, k); criterion(outputs, targets) gives one loss per row and `loss` is its name ("cross-entropy",
    "squared", or that of a function). `module` is the network as it was given (a module, or None
    for a plain function). Training rows are in random order, so the first few are a random sample. What several
    instruments need is computed once, in `shared`.
    """

    name: str
    apply: Callable[[PyTree, Array], Array]
    params: PyTree
    train: Rows
    test: Rows | None
    criterion: Loss
    loss: str
    module: Any = None
    past: TrainingHistory = field(default_factory=TrainingHistory)
    data: str = ""
    rows: int = 1000  #: most training rows that a costly measurement looks at
    seed: int = 0

    def key(self, purpose: str) -> PRNGKeyArray:
        """A key for one purpose, the same whenever it is asked for."""
        return jax.random.fold_in(jax.random.key(self.seed), zlib.crc32(purpose.encode()))

    @property
    def sample(self) -> Rows:
        """The training rows of costly measurements."""
        return self.train.first(self.rows)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.train.inputs.shape[1:]

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(jnp.result_type(*jax.tree.leaves(self.params)))

    @property
    def size(self) -> int:
        """The number of parameters."""
        return sum(leaf.size for leaf in jax.tree.leaves(self.params))

    @cached_property
    def outputs(self) -> int:
        """The number of outputs k."""
        one = jax.ShapeDtypeStruct((1, *self.input_shape), self.dtype)
        return jax.eval_shape(self.apply, self.params, one).shape[1]

    @property
    def classifies(self) -> bool:
        """Whether targets are class labels and outputs their scores."""
        return self.train.targets.dtype.kind == "i"

    @cached_property
    def image_shape(self) -> tuple[int, int, int] | None:
        """(height, width, colours) where an input is an image: of two axes, or of three with 1, 3 or 4 colours last."""
        shape = self.input_shape
        if len(shape) == 2 and min(shape) > 3:
            return (*shape, 1)
        if len(shape) == 3 and shape[2] in (1, 3, 4):
            return shape
        return None

    @cached_property
    def input_range(self) -> tuple[float, float]:
        """The least and the largest number in the training inputs."""
        return float(self.train.inputs.min()), float(self.train.inputs.max())

    @cached_property
    def row_losses(self) -> "RowLosses":
        """row_losses(params, inputs, targets): one loss per row, differentiable and jittable."""
        return RowLosses(self.apply, self.criterion)

    def scores(self, inputs: Float[np.ndarray, "n ..."], params: PyTree = None) -> Float[np.ndarray, "n k"]:
        """The outputs of any number of rows, some at a time."""
        params = self.params if params is None else params
        parts = [_outputs(self.apply, params, inputs[i : i + TOGETHER]) for i in range(0, len(inputs), TOGETHER)]
        return np.concatenate([np.asarray(part) for part in parts])

    def losses(self, rows: Rows, params: PyTree = None) -> Float[np.ndarray, " n"]:
        """The loss of every row."""
        return np.asarray(self.criterion(jnp.asarray(self.scores(rows.inputs, params)), jnp.asarray(rows.targets)))

    @cached_property
    def train_scores(self) -> Float[np.ndarray, "n k"]:
        return self.scores(self.train.inputs)

    @cached_property
    def test_scores(self) -> Float[np.ndarray, "m k"]:
        """The outputs of the test rows; there must be some."""
        if self.test is None:
            raise ValueError(f"{self.name} has no test rows; give some.")
        return self.scores(self.test.inputs)

    @cached_property
    def shared(self) -> Any:
        """What more than one instrument needs, computed when it is first asked for."""
        from .shared_quantities import SharedQuantities

        return SharedQuantities(self)


@eqx.filter_jit
def _outputs(apply: Callable, params: PyTree, inputs: Array | np.ndarray) -> Array:
    return apply(params, inputs)
