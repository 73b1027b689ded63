"""The plain descent: an objective, a starting point, an Optax rule, a number of steps; one compiled scan."""

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from leadline.data import batch_sequence

Model = TypeVar("Model", bound=PyTree)


def apply_rule(
    optimiser: optax.GradientTransformation,
    opt_state: PyTree,
    parameters: Model,
    value: Float[Array, ""],
    gradient: Model,
    value_fn: Callable[[Model], Float[Array, ""]],
) -> tuple[Model, PyTree]:
    """One step of an Optax rule: the new parameters and the rule's new state.

    The rule is told the loss at these parameters and as a function, which line searches and Newton's method ask for.

    >>> rule = optax.sgd(0.5)
    >>> w = jax.numpy.array([1.0])
    >>> apply_rule(rule, rule.init(w), w, w @ w, 2 * w, lambda w: w @ w)[0].tolist()
    [0.0]
    """
    told = optax.with_extra_args_support(optimiser)
    change, opt_state = told.update(gradient, opt_state, parameters, value=value, grad=gradient, value_fn=value_fn)
    return optax.apply_updates(parameters, change), opt_state


@eqx.filter_jit
def minimise(
    objective: Callable[..., Float[Array, ""]],
    start: Model,
    optimiser: optax.GradientTransformation,
    num_steps: int,
    *arrays: PyTree,
    batch: int | None = None,
    key: PRNGKeyArray | None = None,
) -> tuple[Model, Float[Array, " steps"]]:
    """Minimise objective(model, *arrays) from `start`; returns the last model and the loss before each step.

    `start` is any pytree, an Equinox module say; its floating-point arrays are moved. With `batch` the objective sees
    rows of the arrays, permuted anew in every epoch by `key`. Pure: it may be mapped over models, data and keys.

    >>> import jax.numpy as jnp
    >>> end, losses = minimise(lambda w, y: jnp.sum((w - y) ** 2), jnp.zeros(2), optax.sgd(0.25), 30, jnp.ones(2))
    >>> end.round(3).tolist(), losses[:2].tolist()
    ([1.0, 1.0], [2.0, 0.5])
    """
    parameters, rest = eqx.partition(start, eqx.is_inexact_array)

    def loss(parameters: PyTree, rows: Array | None) -> Float[Array, ""]:
        seen = arrays if rows is None else jax.tree.map(lambda a: a[rows], arrays)
        return objective(eqx.combine(parameters, rest), *seen)

    def step(state: PyTree, rows: Array | None) -> tuple[PyTree, Float[Array, ""]]:
        parameters, opt_state = state
        value, gradient = jax.value_and_grad(loss)(parameters, rows)
        return apply_rule(optimiser, opt_state, parameters, value, gradient, lambda p: loss(p, rows)), value

    rows = None
    if batch is not None:
        if key is None:
            raise ValueError("minimise got a batch size and no key; pass key=jax.random.key(seed) to draw batches.")
        samples = jax.tree.leaves(arrays)[0].shape[0]
        rows = batch_sequence(samples, batch, num_steps, key=key)
    (parameters, _), losses = jax.lax.scan(step, (parameters, optimiser.init(parameters)), rows, length=num_steps)
    return eqx.combine(parameters, rest), losses
