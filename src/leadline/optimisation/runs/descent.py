"""One run of an optimiser on an objective, recorded: a compiled scan over steps."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PyTree

from leadline._checks import require_counts, require_numbers
from leadline.training import apply_rule, scan_steps
from leadline.training.engine.recording import Seen

from ..objectives.objective import Objective

Function = Objective | Callable[[Float[Array, " p"]], Float[Array, ""]]


class Descent(NamedTuple):
    """The points w⁰ … w^T, and the value and the gradient at each of them."""

    points: Float[Array, "points p"]
    values: Float[Array, " points"]
    gradients: Float[Array, "points p"]

    @property
    def gradient_norms(self) -> Float[np.ndarray, " points"]:
        return np.linalg.norm(np.asarray(self.gradients), axis=1)


class _Tunable(eqx.Module):
    """An Optax rule made anew from its numbers whenever it is called, so that the numbers can be traced."""

    make: Callable[..., optax.GradientTransformation] = eqx.field(static=True)
    numbers: dict[str, PyTree]

    def init(self, parameters: PyTree) -> PyTree:
        return self.make(**self.numbers).init(parameters)

    def update(self, gradient: PyTree, opt_state: PyTree, parameters: PyTree = None, **extra) -> tuple[PyTree, PyTree]:
        rule = optax.with_extra_args_support(self.make(**self.numbers))
        return rule.update(gradient, opt_state, parameters, **extra)


def tunable(make: Callable[..., optax.GradientTransformation], **numbers: PyTree) -> optax.GradientTransformation:
    """make(**numbers), with numbers that are data: other numbers need no new compilation, and vmap goes over them.

    >>> rule = tunable(optax.sgd, learning_rate=0.5)
    >>> rule.update(jnp.array([2.0]), rule.init(jnp.zeros(1)))[0].tolist()
    [-1.0]
    """
    rule = _Tunable(make, jax.tree.map(_data, numbers))
    return optax.GradientTransformationExtraArgs(rule.init, rule.update)


def _data(number: PyTree) -> Array:
    """A plain number stays weakly typed, so that single-precision parameters stay what they are."""
    return jnp.asarray(float(number)) if isinstance(number, int | float) else jnp.asarray(number)


def evaluation_point(opt_state: PyTree, parameters: PyTree) -> PyTree:
    """Where a method stands, when the gradient is asked for elsewhere.

    A rule that keeps its iterate in the field `iterate` of its state (Nesterov's: the parameters are the look-ahead
    points yᵗ, the iterate is wᵗ) is evaluated there, every other rule at its parameters.
    """
    return optax.tree.get(opt_state, "iterate", parameters)


class _State(NamedTuple):
    """Where the rule asks for the gradient, its state, and what it is told there."""

    parameters: Array
    opt_state: PyTree
    value: Array
    gradient: Array


def _asked(objective: Function, parameters: Array, opt_state: PyTree) -> _State:
    if isinstance(objective, Objective):
        return _State(parameters, opt_state, *objective.value_and_gradient(parameters))
    return _State(parameters, opt_state, *jax.value_and_grad(objective)(parameters))


def _moved(objective: Function, optimiser: optax.GradientTransformation, at: _State) -> _State:
    return _asked(objective, *apply_rule(optimiser, at.opt_state, at.parameters, at.value, at.gradient, objective))


def _standing(objective: Function, at: _State) -> Descent:
    """The point where the method stands; only where that is not where it asks is anything computed anew."""
    point = evaluation_point(at.opt_state, at.parameters)
    if point is not at.parameters:
        at = _asked(objective, point, at.opt_state)
    return Descent(point, at.value, at.gradient)


def descend(
    objective: Function, optimiser: optax.GradientTransformation, start: Float[Array, " p"], num_steps: int
) -> Descent:
    """Run an Optax rule on l(w) from `start` and record every point.

    The rule is given `value`, `grad` and `value_fn` as well, which line searches and Newton's method ask for.

    >>> run = descend(lambda w: w @ w / 2, tunable(optax.sgd, learning_rate=0.5), jnp.array([1.0]), 2)
    >>> run.points[:, 0].tolist(), run.values.tolist()
    ([1.0, 0.5, 0.25], [0.5, 0.125, 0.03125])
    """
    require_numbers("descend", start=start)
    return _descend(objective, optimiser, start, num_steps)


@eqx.filter_jit
def _descend(objective, optimiser, start, num_steps):
    closed = objective.value_and_gradient if isinstance(objective, Objective) else jax.value_and_grad(objective)

    def here(seen: Seen) -> Descent:
        at = _State(seen.before.parameters, seen.before.opt_state, seen.loss, seen.gradient)
        return _standing(objective, at)

    return scan_steps(
        lambda w, *_: (closed(w)[0], None),
        start,
        _told(optimiser, objective),
        None,
        num_steps=num_steps + 1,
        gradient=lambda w, *_: closed(w)[1],
        measure=here,
    ).measured


def _told(optimiser: optax.GradientTransformation, objective: Function) -> optax.GradientTransformation:
    """The rule told the objective itself as `value_fn`: Newton's method asks it for its Hessian."""
    rule = optax.with_extra_args_support(optimiser)

    def update(gradient: PyTree, opt_state: PyTree, parameters: PyTree = None, **extra) -> tuple[PyTree, PyTree]:
        return rule.update(gradient, opt_state, parameters, **(extra | {"value_fn": objective}))

    return optax.GradientTransformationExtraArgs(rule.init, update)


def gradient_path(
    gradient: Callable[[Array | np.ndarray], Array | np.ndarray],
    start: Float[Array | np.ndarray, "..."],
    step_size: float | Array,
    num_steps: int,
) -> Float[Array | np.ndarray, "points ..."]:
    """w⁰ … w^T of wᵗ⁺¹ = wᵗ − η∇l(wᵗ), in the arithmetic of the start; the gradient may be one of many points at once.

    A NumPy start is followed step by step without compilation, a JAX start by one scan.

    >>> gradient_path(lambda w: w, np.array([1.0, 8.0]), 0.5, 2).tolist()
    [[1.0, 8.0], [0.5, 4.0], [0.25, 2.0]]
    """
    require_numbers("gradient_path", start=start)
    require_counts("gradient_path", least=0, num_steps=num_steps)
    if isinstance(start, jax.Array):

        def move(w: Any, _: None) -> tuple[Any, Any]:
            after = w - step_size * gradient(w)
            return after, after

        return jnp.concatenate([start[None], jax.lax.scan(move, start, None, length=num_steps)[1]])
    points = np.empty((num_steps + 1, *start.shape))
    points[0] = start
    for t in range(num_steps):
        points[t + 1] = points[t] - step_size * gradient(points[t])
    return points


@eqx.filter_jit
def steps_to_reach(
    objective: Function,
    optimiser: optax.GradientTransformation,
    start: Float[Array, " p"],
    goal: float | Array,
    max_steps: int,
) -> tuple[Array, Float[Array, " p"]]:
    """The first t with l(wᵗ) ≤ `goal`, and wᵗ; `max_steps` + 1 if none of the first `max_steps` steps gets there.

    >>> int(steps_to_reach(lambda w: w @ w, tunable(optax.sgd, learning_rate=0.25), jnp.array([1.0]), 0.01, 50)[0])
    4
    """

    def above(state: PyTree) -> Array:
        t, _, standing = state
        return (t <= max_steps) & ~(standing.values <= goal)

    def move(state: PyTree) -> PyTree:
        at = _moved(objective, optimiser, state[1])
        return state[0] + 1, at, _standing(objective, at)

    begin = _asked(objective, start, optimiser.init(start))
    t, _, standing = jax.lax.while_loop(above, move, (jnp.array(0), begin, _standing(objective, begin)))
    return t, standing.points


@eqx.filter_jit
def losses_until(
    objective: Function,
    optimiser: optax.GradientTransformation,
    start: Float[Array, " p"],
    goal: float | Array,
    max_steps: int,
) -> tuple[Array, Float[Array, " points"]]:
    """As `steps_to_reach`, with the losses l(w⁰), l(w¹), … on the way instead of the point; not a number after the end.

    >>> rule = tunable(optax.sgd, learning_rate=0.25)
    >>> count, losses = losses_until(lambda w: w @ w, rule, jnp.array([1.0]), 0.1, 4)
    >>> int(count), losses.tolist()
    (2, [1.0, 0.25, 0.0625, nan, nan])
    """

    def above(state: PyTree) -> Array:
        t, _, value, _ = state
        return (t < max_steps) & ~(value <= goal)

    def move(state: PyTree) -> PyTree:
        t, at, _, losses = state
        at = _moved(objective, optimiser, at)
        value = _standing(objective, at).values
        return t + 1, at, value, losses.at[t + 1].set(value)

    begin = _asked(objective, start, optimiser.init(start))
    losses = jnp.full(max_steps + 1, jnp.nan, begin.value.dtype).at[0].set(begin.value)
    t, _, value, losses = jax.lax.while_loop(above, move, (jnp.array(0), begin, begin.value, losses))
    return jnp.where(value <= goal, t, max_steps + 1), losses
