"""Armijo's line search on the current mini-batch: Optax's backtracking, run on a finite sum and counted."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from leadline.optimisation import tunable

from ..problems.finite_sum import FiniteSum


def armijo_rule(
    *,
    largest: float | Array,
    sufficient: float | Array = 0.5,
    shrink: float | Array = 0.7,
    reset: float | Array = 2.0,
    most: int = 60,
) -> optax.GradientTransformation:
    """Backtrack from η until l_b(w − ηg_b) ≤ l_b(w) − cη‖g_b‖²: Optax's rule with every number as data.

    c is `sufficient`; each trial multiplies η by `shrink`; the next search begins at min(`reset` · η, `largest`).

    >>> rule = armijo_rule(largest=1.0)
    >>> w, loss = jnp.array([1.0]), lambda w: 2 * w @ w
    >>> step, _ = rule.update(4 * w, rule.init(w), w, value=loss(w), grad=4 * w, value_fn=loss)
    >>> bool(loss(w + step) < loss(w))
    True
    """
    return tunable(_Armijo(most), largest=largest, sufficient=sufficient, shrink=shrink, reset=reset)


class _Armijo(eqx.Module):
    """Equal for equal `most`, so that rules made again share a compiled program."""

    most: int = eqx.field(static=True)

    def __call__(self, largest, sufficient, shrink, reset) -> optax.GradientTransformation:
        search = optax.scale_by_backtracking_linesearch(
            self.most, slope_rtol=sufficient, decrease_factor=shrink, increase_factor=reset, max_learning_rate=largest
        )
        return optax.chain(optax.scale(-1.0), search)


class LineSearchRun(NamedTuple):
    """After each step: the iterate, the accepted step, the trials it took, and by how much Armijo's condition failed.

    One step costs b gradients and b · (1 + trials) losses of single examples.
    """

    points: Float[Array, "steps p"]
    steps: Float[Array, " steps"]
    trials: Int[Array, " steps"]
    errors: Float[Array, " steps"]


@eqx.filter_jit
def line_search_run(
    problem: FiniteSum,
    start: Float[Array, " p"] | Float[np.ndarray, " p"],
    indices: Int[Array, "steps b"] | Int[np.ndarray, "steps b"],
    rule: optax.GradientTransformation,
) -> LineSearchRun:
    """SGD whose step is found on each batch by `rule` (see `armijo_rule`).

    >>> from leadline.stochastic import least_squares_sum
    >>> one = least_squares_sum(np.array([[2.0]]), np.array([2.0]))
    >>> run = line_search_run(one, np.zeros(1), np.zeros((40, 1), int), armijo_rule(largest=10.0))
    >>> abs(float(run.points[-1, 0]) - 1) < 1e-6
    True
    """

    def move(state, rows):
        w, opt_state = state
        picked = tuple(a[rows] for a in problem.arrays)

        def batch_loss(w):
            return jnp.mean(jax.vmap(problem.loss, (None, *(0 for _ in picked)))(w, *picked))

        value, gradient = jax.value_and_grad(batch_loss)(w)
        change, opt_state = rule.update(gradient, opt_state, w, value=value, grad=gradient, value_fn=batch_loss)
        search = optax.tree.get(opt_state, "info")
        w = w + change
        return (w, opt_state), LineSearchRun(
            w, optax.tree.get(opt_state, "learning_rate"), search.num_linesearch_steps, search.decrease_error
        )

    start = jnp.asarray(start)
    _, run = jax.lax.scan(move, (start, rule.init(start)), jnp.asarray(indices))
    return run
