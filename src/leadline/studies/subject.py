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

from .budget import Budget
from .intake.image_layout import ImageLayout, layout_of
from .intake.positions import counting

TOGETHER = 1024  # rows whose outputs are computed at once
SCORED = 1e12  # operations of one pass over the data: half a minute on a core; larger networks score fewer rows


class Rows(NamedTuple):
    """Inputs and targets, one row for each example."""

    inputs: Num[np.ndarray, "n ..."]
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
    numbers (n, k) of a regressor. A sequence has outputs (n, T, k) and targets (n, T), labels or -1 where there is
    none, or real numbers (n, T, k) or NaN; T is the number of `positions`, which may have several axes.
    criterion(outputs, targets) gives one loss per row (the mean over the positions that count) and `loss` is its
    name ("cross-entropy", "squared", or that of a function). `module` is the network as it was given (a module, or
    None for a plain function). `classes` are the names of the classes where the labels were texts, and `taken` says
    in words how the network takes its inputs and which of its outputs was chosen; `given` is the model with all that
    was given beside it (a state, variables), None for a function. Training rows are in random
    order, so the first few are a random sample. What several instruments need is computed once, in `shared`.
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
    classes: tuple[str, ...] = ()
    positions: tuple[int, ...] | None = None
    taken: str = ""
    given: Any = None
    selected: bool = False  #: whether one of several outputs was chosen

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
        """The number of outputs k, at each position of a sequence."""
        one = jax.ShapeDtypeStruct((1, *self.input_shape), self.train.inputs.dtype)
        return jax.eval_shape(self.apply, self.params, one).shape[-1]

    @property
    def kind(self) -> str:
        """ "classifier", "regressor", or "sequence" where every position of a row has a target."""
        if self.positions is not None:
            return "sequence"
        return "classifier" if self.classifies else "regressor"

    @property
    def classifies(self) -> bool:
        """Whether targets are class labels and outputs their scores."""
        return self.train.targets.dtype.kind == "i"

    @property
    def integer_inputs(self) -> bool:
        """Whether inputs are integers, such as tokens, by which nothing can be differentiated."""
        return self.train.inputs.dtype.kind == "i"

    @cached_property
    def image_layout(self) -> ImageLayout | None:
        """Where an input is an image, which of its axes are height, width and colours."""
        steps = self.positions is not None and len(self.positions) == 1 and len(self.input_shape) < 3
        return None if self.integer_inputs or steps else layout_of(self.input_shape)

    @property
    def image_shape(self) -> tuple[int, int, int] | None:
        """(height, width, colours) where an input is an image; `image_layout` makes such images of inputs."""
        return None if self.image_layout is None else self.image_layout[:3]

    @cached_property
    def input_range(self) -> tuple[float, float]:
        """The least and the largest number in the training inputs."""
        return float(self.train.inputs.min()), float(self.train.inputs.max())

    @cached_property
    def row_losses(self) -> "RowLosses":
        """row_losses(params, inputs, targets): one loss per row, differentiable and jittable."""
        return RowLosses(self.apply, self.criterion)

    @cached_property
    def operations(self) -> float:
        """Floating-point operations of one row's outputs, as the compiler counts them before it compiles."""
        some = self.sample.inputs
        shape = jax.ShapeDtypeStruct(some.shape, some.dtype)
        try:
            counted = jax.jit(lambda p, x: self.apply(p, x)).lower(self.params, shape).cost_analysis() or {}
            return max(float(counted["flops"]), 1.0) / len(some)
        except (KeyError, TypeError, NotImplementedError):  # not every back end counts
            return 2.0 * self.size

    def scored(self, rows: Rows) -> Rows:
        """Of training or test rows those whose outputs are computed: all, or as many as one pass affords."""
        return rows.first(max(int(SCORED / self.operations), self.rows, TOGETHER))

    def scores(self, inputs: Num[np.ndarray, "n ..."], params: PyTree = None) -> Float[np.ndarray, "n ..."]:
        """The outputs of any number of rows, some at a time."""
        params = self.params if params is None else params
        parts = [_outputs(self.apply, params, inputs[i : i + TOGETHER]) for i in range(0, len(inputs), TOGETHER)]
        return np.concatenate([np.asarray(part) for part in parts])

    def losses(self, rows: Rows, params: PyTree = None) -> Float[np.ndarray, " n"]:
        """The loss of every row."""
        return np.asarray(self.criterion(jnp.asarray(self.scores(rows.inputs, params)), jnp.asarray(rows.targets)))

    def counted(self, scores: Float[np.ndarray, "n ..."], rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Scores (m, k) and the targets that they are scores for: of a sequence, those of the positions that count."""
        if self.positions is None:
            return scores, rows.targets
        where = counting(rows.targets)
        return scores[where], rows.targets[where]

    @cached_property
    def train_scores(self) -> Float[np.ndarray, "n ..."]:
        """The outputs of `scored(train)`."""
        return self.scores(self.scored(self.train).inputs)

    @cached_property
    def test_scores(self) -> Float[np.ndarray, "m ..."]:
        """The outputs of `scored(test)`; there must be test rows."""
        if self.test is None:
            raise ValueError(f"{self.name} has no test rows; give some.")
        return self.scores(self.scored(self.test).inputs)

    @cached_property
    def budget(self) -> Budget:
        """How long a study of it may take and with how much memory; instruments ask it how many rows fit."""
        return Budget(probe=lambda: self.shared.pass_costs)

    @cached_property
    def shared(self) -> Any:
        """What more than one instrument needs, computed when it is first asked for."""
        from .shared_quantities import SharedQuantities

        return SharedQuantities(self)


@eqx.filter_jit
def _outputs(apply: Callable, params: PyTree, inputs: Array | np.ndarray) -> Array:
    return apply(params, inputs)
