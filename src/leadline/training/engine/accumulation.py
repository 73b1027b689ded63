"""The loss of a batch and its gradient, at once or summed over micro-batches: the same numbers with less memory."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from .objective import RowLosses, mean_loss, nonzero, weighed

#: ask(parameters, item, key, state) -> (row losses, state)
Ask = Callable[[PyTree, PyTree, PRNGKeyArray | None, PyTree], tuple[RowLosses, PyTree]]


class Slope(NamedTuple):
    """The loss of a batch, its rows, the objective's new state and the gradient."""

    loss: Float[Array, ""]
    rows: RowLosses
    state: PyTree
    gradient: PyTree


def loss_and_gradient(
    ask: Ask, parameters: PyTree, item: PyTree, key: PRNGKeyArray | None, state: PyTree, micro: int = 1
) -> Slope:
    r"""The loss $L = \sum w_i l_i / \sum w_i$ and ∇L, over `micro` equal parts of the item's rows one after another.

    Sums of weighted losses and of weights are added up and divided once, so that parts of unequal weight (masks) give
    the gradient of the whole batch. The state goes from part to part; part j has the key fold_in(key, j).

    >>> ask = lambda w, x, key, state: (RowLosses((w - x) ** 2), state)
    >>> x = jnp.array([1.0, 2.0, 3.0, 6.0])
    >>> [float(loss_and_gradient(ask, jnp.array(0.0), x, None, None, micro).gradient) for micro in (1, 2)]
    [-6.0, -6.0]
    """
    if micro == 1:

        def loss(parameters: PyTree) -> tuple[Float[Array, ""], tuple[RowLosses, PyTree]]:
            rows, after = ask(parameters, item, key, state)
            return mean_loss(rows), (rows, after)

        (value, (rows, after)), gradient = jax.value_and_grad(loss, has_aux=True)(parameters)
        return Slope(value, rows, after, gradient)

    def part(carried: tuple, given: tuple) -> tuple[tuple, RowLosses]:
        total, weight, gradient, state = carried
        number, item = given

        def loss(parameters: PyTree) -> tuple[Float[Array, ""], tuple]:
            rows, after = ask(parameters, item, _part_key(key, number), state)
            losses, weights = weighed(rows)
            return losses, (weights, rows, after)

        (more, (weights, rows, after)), slope = jax.value_and_grad(loss, has_aux=True)(parameters)
        return (total + more, weight + weights, jax.tree.map(jnp.add, gradient, slope), after), rows

    nothing = jax.tree.map(jnp.zeros_like, parameters)
    (total, weight, gradient, after), rows = _over_parts(ask, parameters, item, key, state, micro, part, nothing)
    rows = jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]) if a.ndim > 1 else a, rows)
    return Slope(total / nonzero(weight), rows, after, jax.tree.map(lambda g: g / nonzero(weight), gradient))


def batch_loss(
    ask: Ask, parameters: PyTree, item: PyTree, key: PRNGKeyArray | None, state: PyTree, micro: int = 1
) -> Float[Array, ""]:
    """The loss alone, for rules that ask for it at other points (line searches, Newton's method)."""
    if micro == 1:
        return mean_loss(ask(parameters, item, key, state)[0])

    def part(carried: tuple, given: tuple) -> tuple[tuple, None]:
        total, weight, _, state = carried
        number, item = given
        rows, after = ask(parameters, item, _part_key(key, number), state)
        losses, weights = weighed(rows)
        return (total + losses, weight + weights, None, after), None

    (total, weight, _, _), _ = _over_parts(ask, parameters, item, key, state, micro, part, None)
    return total / nonzero(weight)


def _over_parts(ask, parameters, item, key, state, micro, part, nothing) -> tuple[tuple, PyTree]:
    parts = jax.tree.map(lambda a: a.reshape(micro, a.shape[0] // micro, *a.shape[1:]), item)
    first = jax.tree.map(lambda a: a[0], parts)
    dtype = jax.eval_shape(lambda p: weighed(ask(p, first, key, state)[0])[0], parameters).dtype
    zero = jnp.zeros((), dtype)
    return jax.lax.scan(part, (zero, zero, nothing, state), (jnp.arange(micro), parts))


def _part_key(key: PRNGKeyArray | None, number: Array) -> PRNGKeyArray | None:
    return None if key is None else jax.random.fold_in(key, number)
