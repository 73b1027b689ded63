"""The one interface of everything that summarises a past in a state, and its run over a sequence."""

import abc
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Num, PyTree

from leadline._checks import require_axes, require_numbers


class Course(NamedTuple):
    """What a run went through: the state after each step, all with a leading axis of time, and the one at the end."""

    states: PyTree
    last: PyTree


class Cell(eqx.Module):
    """A recursive estimator: state = init(), state = update(state, x), y = predict(state).

    One sequence at a time; map over a batch with `jax.vmap`. A cell says its update in two parts, so that `run` can do
    the first for all steps in one product: `project(x)`, which needs the input alone, and `advance(state, projected)`.
    """

    input_size: eqx.AbstractVar[int]
    output_size: eqx.AbstractVar[int]
    takes_missing: ClassVar[bool] = False  #: whether NaN in an input is a number that was not observed

    @abc.abstractmethod
    def init(self) -> PyTree:
        """The state before the first input."""

    @abc.abstractmethod
    def project(self, x: Num[Array, " n"]) -> PyTree:
        """What the update needs of an input."""

    @abc.abstractmethod
    def advance(self, state: PyTree, projected: PyTree) -> PyTree:
        """The next state."""

    @abc.abstractmethod
    def predict(self, state: PyTree) -> Num[Array, " k"]:
        """The output that a state stands for."""

    def update(self, state: PyTree, x: Num[Array, " n"]) -> PyTree:
        """The state after one more input."""
        return self.advance(state, self.project(x))

    def course(
        self, xs: Num[Array, "T n"], state: PyTree, mask: Bool[Array, " T"] | None, reverse: bool, parallel: bool | None
    ) -> Course:
        """What `run` returns; a cell that knows a better way than one step after the other has its own."""
        if parallel:
            raise ValueError(
                f"{type(self).__name__} is not linear in its state, so that its steps cannot be taken in parallel; "
                "leave parallel out."
            )

        def step(state: PyTree, given: Any) -> tuple[PyTree, PyTree]:
            projected, valid = given
            after = self.advance(state, projected)
            if valid is not None:
                after = jax.tree.map(lambda new, old: jnp.where(valid, new, old), after, state)
            return after, after

        projected = jax.vmap(self.project)(xs)
        one = jax.tree.map(lambda of_steps: jax.ShapeDtypeStruct(of_steps.shape[1:], of_steps.dtype), projected)
        kinds = jax.eval_shape(self.advance, state, one)  # inputs of a higher precision than the state's raise it
        state = jax.tree.map(lambda first, kind: jnp.asarray(first, kind.dtype), state, kinds)
        last, states = jax.lax.scan(step, state, (projected, mask), reverse=reverse)
        return Course(states, last)


def run(
    cell: Cell,
    xs: Num[Array, "T n"],
    state: PyTree = None,
    *,
    mask: Bool[Array, " T"] | None = None,
    reverse: bool = False,
    parallel: bool | None = None,
) -> Course:
    """The states of a cell over a sequence, from `state` (its own `init()` if left out), in one `lax.scan`.

    Steps where `mask` is False leave the state as it is: padding changes nothing, on whichever side it lies, and its
    gradients are exactly 0. `reverse` goes from the last step to the first; states stay where their inputs are. A cell
    that is linear in its state (MinGRU, LRU) can take its steps in parallel, by `lax.associative_scan`, and does where
    that is faster: not on a processor. `parallel` decides it.

    >>> from leadline.sequences import GRU
    >>> cell = GRU(3, 5, key=jax.random.key(0))
    >>> xs = jnp.ones((7, 3))
    >>> course = run(cell, xs, mask=valid_steps(4, 7))
    >>> course.states.shape, bool((course.states[3] == course.last).all())
    ((7, 5), True)
    >>> jax.vmap(cell.predict)(course.states).shape
    (7, 5)
    """
    if np.ndim(xs) != 2 or xs.shape[1] != cell.input_size:
        raise ValueError(
            f"run got a sequence of shape {xs.shape} for a cell with {cell.input_size} inputs; give one row for each "
            "step, and map over a batch with jax.vmap."
        )
    if mask is not None and mask.shape != xs.shape[:1]:
        raise ValueError(f"run got a mask of shape {mask.shape} for {len(xs)} steps; give one truth value a step.")
    require_axes("run", None, xs=xs)
    require_numbers("run", state=state, **({} if cell.takes_missing else {"xs": xs}))
    return cell.course(xs, cell.init() if state is None else state, mask, reverse, parallel)


def valid_steps(lengths: Int[Array, "..."] | int, length: int) -> Bool[Array, "... length"]:
    """The masks of sequences of these lengths, padded at their ends to `length`.

    >>> valid_steps(jnp.array([1, 3]), 3).astype(int).tolist()
    [[1, 0, 0], [1, 1, 1]]
    """
    return jnp.arange(length) < jnp.asarray(lengths)[..., None]


def held(values: PyTree, start: PyTree, mask: Bool[Array, " T"] | None, reverse: bool = False) -> PyTree:
    """Values of each step, with those of steps that do not count replaced by the last one that did (`start` at first).

    >>> held(jnp.arange(5.0), jnp.array(-1.0), jnp.array([False, True, False, True, False])).tolist()
    [-1.0, 1.0, 1.0, 3.0, 3.0]
    """
    if mask is None:
        return values
    steps = len(mask)
    kept = jnp.where(mask, jnp.arange(steps), steps if reverse else -1)
    kept = jax.lax.cummin(kept, reverse=True) if reverse else jax.lax.cummax(kept)
    found = (kept >= 0) & (kept < steps)

    def hold(of_steps: Array, first: Array) -> Array:
        return jnp.where(found.reshape(-1, *[1] * first.ndim), of_steps[jnp.clip(kept, 0, steps - 1)], first)

    return jax.tree.map(hold, values, start)


def at_end(values: PyTree, reverse: bool = False) -> PyTree:
    """The value of the step that a run takes last."""
    return jax.tree.map(lambda of_steps: of_steps[0 if reverse else -1], values)
