"""One run of an optimiser on an objective, recorded: a compiled scan over steps."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PyTree

Function = Callable[[Float[Array, " p"]], Float[Array, ""]]


class Descent(NamedTuple):
    """The points w⁰ … w^T, and the value and the gradient at each of them."""

    points: Float[Array, "steps+1 p"]
    values: Float[Array, " steps+1"]
    gradients: Float[Array, "steps+1 p"]

    @property
    def gradient_norms(self) -> Float[np.ndarray, " steps+1"]:
        return np.linalg.norm(np.asarray(self.gradients), axis=1)


class _Tunable(eqx.Module):
    """An Optax rule made anew from its numbers whenever it is called, so that the numbers can be traced."""

    make: Callable[..., optax.GradientTransformation] = eqx.field(static=True)
    numbers: dict[str, PyTree]

    def init(self, parameters: PyTree) -> PyTree:
        return self.make(**self.numbers).init(parameters)

    def update(self, gradient: PyTree, memory: PyTree, parameters: PyTree = None, **extra) -> tuple[PyTree, PyTree]:
        rule = optax.with_extra_args_support(self.make(**self.numbers))
        return rule.update(gradient, memory, parameters, **extra)


def tunable(make: Callable[..., optax.GradientTransformation], **numbers: PyTree) -> optax.GradientTransformation:
    """make(**numbers), with numbers that are data: other numbers need no new compilation, and vmap goes over them.

    >>> rule = tunable(optax.sgd, learning_rate=0.5)
    >>> rule.update(jnp.array([2.0]), rule.init(jnp.zeros(1)))[0].tolist()
    [-1.0]
    """
    rule = _Tunable(make, jax.tree.map(lambda number: jnp.asarray(number, dtype=float), numbers))
    return optax.GradientTransformationExtraArgs(rule.init, rule.update)


def evaluation_point(memory: PyTree, parameters: PyTree) -> PyTree:
    """Where a method stands, when the gradient is asked for elsewhere.

    A rule that keeps its iterate in the field `iterate` of its memory (Nesterov's: the parameters are the look-ahead
    points yᵗ, the iterate is wᵗ) is evaluated there, every other rule at its parameters.
    """
    return optax.tree.get(memory, "iterate", parameters)


@eqx.filter_jit
def descend(
    objective: Function, optimiser: optax.GradientTransformation, start: Float[Array, " p"], steps: int
) -> Descent:
    """Run an Optax rule on l(w) from `start` and record every point.

    The rule is given `value`, `grad` and `value_fn` as well, which line searches and Newton's method ask for.

    >>> run = descend(lambda w: w @ w / 2, tunable(optax.sgd, learning_rate=0.5), jnp.array([1.0]), 2)
    >>> run.points[:, 0].tolist(), run.values.tolist()
    ([1.0, 0.5, 0.25], [0.5, 0.125, 0.03125])
    """
    rule = optax.with_extra_args_support(optimiser)

    def record(parameters: Array, memory: PyTree) -> Descent:
        point = evaluation_point(memory, parameters)
        return Descent(point, *jax.value_and_grad(objective)(point))

    def move(state: PyTree, _: None) -> tuple[PyTree, Descent]:
        parameters, memory = state
        value, gradient = jax.value_and_grad(objective)(parameters)
        change, memory = rule.update(gradient, memory, parameters, value=value, grad=gradient, value_fn=objective)
        parameters = optax.apply_updates(parameters, change)
        return (parameters, memory), record(parameters, memory)

    begin = (start, rule.init(start))
    _, run = jax.lax.scan(move, begin, None, length=steps)
    return jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), record(*begin), run)


@eqx.filter_jit
def steps_to_reach(
    objective: Function, optimiser: optax.GradientTransformation, start: Float[Array, " p"], goal: float | Array, most: int
) -> tuple[Array, Float[Array, " p"]]:
    """The first t with l(wᵗ) ≤ `goal`, and wᵗ; `most` + 1 if none of the first `most` steps gets there.

    >>> int(steps_to_reach(lambda w: w @ w, tunable(optax.sgd, learning_rate=0.25), jnp.array([1.0]), 0.01, 50)[0])
    4
    """
    rule = optax.with_extra_args_support(optimiser)

    def above(state: PyTree) -> Array:
        t, parameters, memory = state
        value = objective(evaluation_point(memory, parameters))
        return (t <= most) & ~(value <= goal)

    def move(state: PyTree) -> PyTree:
        t, parameters, memory = state
        value, gradient = jax.value_and_grad(objective)(parameters)
        change, memory = rule.update(gradient, memory, parameters, value=value, grad=gradient, value_fn=objective)
        return t + 1, optax.apply_updates(parameters, change), memory

    t, parameters, memory = jax.lax.while_loop(above, move, (jnp.array(0), start, rule.init(start)))
    return t, evaluation_point(memory, parameters)
