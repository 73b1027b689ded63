"""The compiled part of training: one pure step, scanned over the batches of an epoch, scanned over epochs."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from leadline.data import epoch_batches

from .descent import apply_rule
from .objectives import Loss, Sample

VALIDATION_ROWS = 2048  # examples evaluated at once, so that validation needs no more memory than a few batches


WEIGHED_EVERY = 8  # steps: a norm of all gradients takes as long as a tenth of a step


class State(NamedTuple):
    """All that a run carries from epoch to epoch; what a checkpoint holds."""

    parameters: PyTree
    opt_state: PyTree  # the optimiser's
    epoch: Int[Array, ""]
    best: PyTree  # the parameters with the least validation loss (training loss where nothing is held out)
    best_loss: Float[Array, ""]
    waited: Int[Array, ""]  # epochs since the best


class Point(NamedTuple):
    """What a step changes."""

    parameters: PyTree
    opt_state: PyTree


class Steps(NamedTuple):
    """What is measured at each step, before it is made; the gradient's norm at every eighth, else NaN."""

    loss: Float[Array, " steps"]
    accuracy: Float[Array, " steps"]
    gradient_norm: Float[Array, " steps"]


class Metrics(NamedTuple):
    """One epoch in numbers; accuracies are NaN where the targets are not labels, validation is NaN without data."""

    loss: Float[Array, "*epochs"]
    accuracy: Float[Array, "*epochs"]
    gradient_norm: Float[Array, "*epochs"]
    validation_loss: Float[Array, "*epochs"]
    validation_accuracy: Float[Array, "*epochs"]
    bad_step: Int[Array, "*epochs"]  # the first step whose loss is not finite, or -1
    run: Bool[Array, "*epochs"]  # False once early stopping has ended the run


class Loop(eqx.Module):
    """The parts of a run that stay the same; its methods are pure functions of the state and the data."""

    rest: PyTree  # of the model: what is not a floating-point array
    loss: Loss = eqx.field(static=True)
    optimiser: optax.GradientTransformation
    batch: int = eqx.field(static=True)
    patience: int | None = eqx.field(static=True, default=None)
    mask: PyTree = None  # 0 where a parameter is only there to give narrower networks the shape of the widest

    def model(self, parameters: PyTree) -> Callable:
        """The model with these parameters."""
        if self.mask is not None:
            parameters = jax.tree.map(jnp.multiply, parameters, self.mask)
        return eqx.combine(parameters, self.rest)

    def start(self, parameters: PyTree) -> State:
        """The state before the first step."""
        zero = jnp.zeros((), jnp.int32)
        return State(parameters, self.optimiser.init(parameters), zero, parameters, jnp.asarray(jnp.inf), zero)

    def ended(self, state: State) -> bool:
        """Whether the patience has run out."""
        return self.patience is not None and int(state.waited) >= self.patience

    def objective(self, parameters: PyTree, sample: Sample) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The mean loss over a batch and the share of labels that have the largest output."""
        outputs = jax.vmap(self.model(parameters))(sample.inputs)
        return jnp.mean(self.loss(outputs, sample.targets)), jnp.mean(_right(outputs, sample.targets))

    def step(self, at: Point, sample: Sample, weigh: Bool[Array, ""]) -> tuple[Point, Steps]:
        """One update of the optimiser on one batch; the gradient is weighed only if asked, since that costs a pass."""
        (loss, accuracy), gradient = jax.value_and_grad(self.objective, has_aux=True)(at.parameters, sample)
        moved = apply_rule(
            self.optimiser, at.opt_state, at.parameters, loss, gradient, lambda p: self.objective(p, sample)[0]
        )
        norm = jax.lax.cond(weigh, optax.tree.norm, lambda g: jnp.full_like(optax.tree.norm(g), jnp.nan), gradient)
        return Point(*moved), Steps(loss, accuracy, norm)

    def steps(
        self, state: State, train: Sample, rows: Int[Array, "steps batch"], first: int | Int[Array, ""] = 0
    ) -> tuple[State, Steps]:
        """The steps on the given rows of the training data, in their order; `first` is the number of the first one."""

        def one(at: Point, order: tuple[Array, Array]) -> tuple[Point, Steps]:
            chosen, weigh = order
            return self.step(at, Sample(train.inputs[chosen], train.targets[chosen]), weigh)

        weigh = (first + jnp.arange(len(rows))) % WEIGHED_EVERY == 0
        at, measured = jax.lax.scan(one, Point(state.parameters, state.opt_state), (rows, weigh))
        return state._replace(parameters=at.parameters, opt_state=at.opt_state), measured

    def rows(self, train: Sample, epoch: Int[Array, ""], key: PRNGKeyArray) -> Int[Array, "steps batch"]:
        """The batches of an epoch."""
        return epoch_batches(len(train.inputs), self.batch, epoch, key=key)

    def finish(self, state: State, steps: Steps, validation: Sample | None) -> tuple[State, Metrics]:
        """Close an epoch: validate, remember the best parameters, count the epochs since."""
        nothing = jnp.full((), jnp.nan, steps.loss.dtype)
        held = (nothing, nothing) if validation is None else self.evaluate(state.parameters, validation)
        loss = jnp.mean(steps.loss)
        score = (loss if validation is None else held[0]).astype(state.best_loss.dtype)
        better = score < state.best_loss
        finite = jnp.isfinite(steps.loss)
        closed = state._replace(
            epoch=state.epoch + 1,
            best=jax.tree.map(lambda new, old: jnp.where(better, new, old), state.parameters, state.best),
            best_loss=jnp.where(better, score, state.best_loss),
            waited=jnp.where(better, 0, state.waited + 1),
        )
        bad = jnp.where(jnp.all(finite), -1, jnp.argmin(finite)).astype(jnp.int32)
        means = (loss, jnp.mean(steps.accuracy), jnp.nanmean(steps.gradient_norm), *held)
        return closed, Metrics(*means, bad, jnp.asarray(True))

    def evaluate(self, parameters: PyTree, sample: Sample) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The mean loss and accuracy over a whole sample, a few thousand examples at a time."""
        model = self.model(parameters)

        def one(example: Sample) -> tuple[Float[Array, ""], Float[Array, ""]]:
            outputs, targets = model(example.inputs)[None], example.targets[None]
            return self.loss(outputs, targets)[0], _right(outputs, targets)[0]

        loss, right = jax.lax.map(one, sample, batch_size=VALIDATION_ROWS)
        return jnp.mean(loss), jnp.mean(right)

    def epochs(
        self, state: State, train: Sample, validation: Sample | None, key: PRNGKeyArray, count: int
    ) -> tuple[State, Metrics]:
        """`count` epochs; those after the patience has run out are idle."""

        def epoch(state: State) -> tuple[State, Metrics]:
            state, steps = self.steps(state, train, self.rows(train, state.epoch, key))
            return self.finish(state, steps, validation)

        def idle(state: State) -> tuple[State, Metrics]:
            blank = jax.eval_shape(epoch, state)[1]
            return state, jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), blank)

        def unless_stopped(state: State, _: None) -> tuple[State, Metrics]:
            if self.patience is None:
                return epoch(state)
            return jax.lax.cond(state.waited >= self.patience, idle, epoch, state)

        return jax.lax.scan(unless_stopped, state, None, length=count)


def _right(outputs: Float[Array, "batch ..."], targets: Array) -> Float[Array, " batch"]:
    """1 where the largest output is the label's, 0 elsewhere; NaN where targets are not labels."""
    if outputs.ndim != 2 or outputs.shape[1] < 2 or not jnp.issubdtype(targets.dtype, jnp.integer) or targets.ndim != 1:
        return jnp.full(len(outputs), jnp.nan, outputs.dtype)
    return (jnp.argmax(outputs, axis=1) == targets).astype(outputs.dtype)
