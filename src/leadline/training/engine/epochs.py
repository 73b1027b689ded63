"""The compiled part of `fit`: the engine's steps in epochs, with validation, the best parameters and early stopping."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from .engine import Carried, Engine
from .objective import as_row_losses, nonzero, weighed
from .recording import Recorder, Seen
from .streams import Drawn, Shuffled, Source

VALIDATION_ROWS = 2048  # examples evaluated at once, so that validation needs no more memory than a few batches
WEIGHED_EVERY = 8  # steps: a norm of all gradients takes as long as a tenth of a step
NOISE = 2**32 - 1  # the fold of the run's key from which steps have theirs; epochs have the smaller ones


class State(NamedTuple):
    """All that a run carries from epoch to epoch; what a checkpoint holds."""

    carried: Carried
    epoch: Int[Array, ""]
    best: PyTree  # the parameters with the least validation loss (training loss where nothing is held out)
    best_loss: Float[Array, ""]
    waited: Int[Array, ""]  # epochs since the best
    best_state: PyTree = None  # the objective's, beside the best parameters


class Measured(NamedTuple):
    """What is measured at each step, before it is made; the gradient's norm at every eighth, else NaN."""

    losses: dict[str, Float[Array, " steps"]]  # by player
    means: dict[str, Float[Array, " steps"]]  # of what objectives measured beside
    gradient_norm: Float[Array, " steps"]

    @property
    def finite(self) -> Bool[Array, " steps"]:
        """Where every player's loss is."""
        return jnp.all(jnp.isfinite(jnp.stack(list(self.losses.values()))), axis=0)


class Metrics(NamedTuple):
    """One epoch in numbers."""

    loss: Float[Array, "*epochs"]
    means: dict[str, Float[Array, "*epochs"]]
    gradient_norm: Float[Array, "*epochs"]
    validation: dict[str, Float[Array, "*epochs"]]  # empty without data
    bad_step: Int[Array, "*epochs"]  # the first step whose loss is not finite, or -1
    run: Bool[Array, "*epochs"]  # False once early stopping has ended the run

    def columns(self) -> dict[str, Array | np.ndarray]:
        """The numbers under the names that the history has."""
        held = {f"validation_{name}": values for name, values in self.validation.items()}
        return {"loss": self.loss, **self.means, "gradient_norm": self.gradient_norm, **held}


class Loop(eqx.Module):
    """The parts of a run that stay the same; its methods are pure functions of the state and the data."""

    engine: Engine
    patience: int | None = eqx.field(static=True, default=None)
    recorder: Recorder | None = None

    def start(self, parameters: PyTree, key: PRNGKeyArray, state: PyTree = None) -> State:
        """The state before the first step."""
        carried = self.engine.start(parameters, jax.random.fold_in(key, NOISE), state)
        zero = jnp.zeros((), jnp.int32)
        return State(carried, zero, parameters, jnp.asarray(jnp.inf), zero, carried.state)

    def ended(self, state: State) -> bool:
        """Whether the patience has run out."""
        return self.patience is not None and int(state.waited) >= self.patience

    def steps(
        self, carried: Carried, source: Source, items: PyTree, first: int | Int[Array, ""] = 0
    ) -> tuple[Carried, Measured, PyTree]:
        """The steps on the given items of the source, in their order; `first` is the number of the first one."""

        def measure(seen: Seen) -> Measured:
            weigh = (first + seen.number) % WEIGHED_EVERY == 0
            norm = jax.lax.cond(
                weigh, optax.tree.norm, lambda g: jnp.full_like(optax.tree.norm(g), jnp.nan), seen.gradient
            )
            return Measured(self._losses(seen), self._means(seen), norm)

        record, every = (None, 1) if self.recorder is None else (self.recorder.keep, self.recorder.every)
        return self.engine.run(carried, items, fetch=source.fetch, measure=measure, record=record, every=every)

    def _losses(self, seen: Seen) -> dict[str, Float[Array, ""]]:
        return {player.name: player.part(seen.loss) for player in self.engine.players}

    def _means(self, seen: Seen) -> dict[str, Float[Array, ""]]:
        found = {}
        for player in self.engine.players:
            for name, values in (player.part(seen.rows).aux or {}).items():
                found[f"{player.name}_{name}" if player.name else name] = jnp.mean(values)
        return found

    def finish(self, state: State, steps: Measured, validation: PyTree | None) -> tuple[State, Metrics]:
        """Close an epoch: validate, remember the best parameters, count the epochs since."""
        held = {} if validation is None else self.evaluate(state.carried, validation)
        losses = {player.name: jnp.mean(steps.losses[player.name]) for player in self.engine.players}
        loss = losses[self.engine.players[-1].name]
        score = held.get("loss", loss).astype(state.best_loss.dtype)
        better = score < state.best_loss
        now, before = (state.carried.parameters, state.carried.state), (state.best, state.best_state)
        best, best_state = jax.tree.map(lambda new, old: jnp.where(better, new, old), now, before)
        closed = state._replace(
            epoch=state.epoch + 1,
            best=best,
            best_state=best_state,
            best_loss=jnp.where(better, score, state.best_loss),
            waited=jnp.where(better, 0, state.waited + 1),
        )
        bad = jnp.where(jnp.all(steps.finite), -1, jnp.argmin(steps.finite)).astype(jnp.int32)
        means = {f"{name}_loss": value for name, value in losses.items() if name}
        means |= {name: jnp.mean(values) for name, values in steps.means.items()}
        return closed, Metrics(loss, means, jnp.nanmean(steps.gradient_norm), held, bad, jnp.asarray(True))

    def evaluate(self, carried: Carried, data: PyTree) -> dict[str, Float[Array, ""]]:
        """The last player's loss over a whole sample and the means beside it, a few thousand rows at a time.

        Dropout and batch statistics are in the mode of inference (`eqx.nn.inference_mode`).
        """
        player = self.engine.players[-1]
        model = _inferring(self.engine.model(carried.parameters))
        key = None if carried.key is None else jax.random.fold_in(carried.key, NOISE)

        def sums(rows: PyTree) -> dict[str, tuple[Array, Array]]:
            found = as_row_losses(player.objective(model, rows, key, carried.state)[0])
            others = {name: (jnp.sum(a), jnp.asarray(a.size, a.dtype)) for name, a in (found.aux or {}).items()}
            return {"loss": weighed(found), **others}

        samples = jax.tree.leaves(data)[0].shape[0]
        cut = samples // VALIDATION_ROWS * VALIDATION_ROWS
        totals = [] if cut == samples else [sums(jax.tree.map(lambda a: a[cut:], data))]
        if cut:
            parts = jax.tree.map(lambda a: a[:cut].reshape(-1, VALIDATION_ROWS, *a.shape[1:]), data)
            totals.append(jax.tree.map(lambda a: jnp.sum(a, axis=0), jax.lax.map(sums, parts)))
        whole = jax.tree.map(lambda *some: sum(some), *totals)
        return {name: total / nonzero(weight) for name, (total, weight) in whole.items()}

    def epochs(
        self, state: State, source: Shuffled | Drawn, validation: PyTree | None, key: PRNGKeyArray, count: int
    ) -> tuple[State, Metrics, PyTree]:
        """`count` epochs with their metrics and records; those after the patience has run out are idle."""

        def epoch(state: State) -> tuple[State, tuple[Metrics, PyTree]]:
            carried, steps, recorded = self.steps(state.carried, source, source.items(state.epoch, key=key))
            state, metrics = self.finish(state._replace(carried=carried), steps, validation)
            return state, (metrics, recorded)

        def idle(state: State) -> tuple[State, tuple[Metrics, PyTree]]:
            blank = jax.eval_shape(epoch, state)[1]
            return state, jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), blank)

        def unless_stopped(state: State, _: None) -> tuple[State, tuple[Metrics, PyTree]]:
            if self.patience is None:
                return epoch(state)
            return jax.lax.cond(state.waited >= self.patience, idle, epoch, state)

        state, (metrics, recorded) = jax.lax.scan(unless_stopped, state, None, length=count)
        return state, metrics, recorded


def _inferring(model: PyTree) -> PyTree:
    """The model with its flags `inference` set, where it has any."""
    flagged = [
        leaf for leaf in jax.tree.leaves(model, is_leaf=lambda m: hasattr(m, "inference")) if hasattr(leaf, "inference")
    ]
    return eqx.nn.inference_mode(model) if flagged else model
