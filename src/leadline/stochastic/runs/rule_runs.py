"""Any Optax rule on batches of a finite sum: one compiled scan over indices drawn beforehand."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree

from leadline.training import scan_steps

from ..problems.finite_sum import FiniteSum


class RuleRun(NamedTuple):
    """Points w⁰, w^k, w^2k, … of a run, and the rule's state at the end."""

    points: Float[Array, "records+1 p"]
    opt_state: PyTree

    @property
    def last(self) -> Float[Array, " p"]:
        return self.points[-1]


@eqx.filter_jit
def rule_run(
    problem: FiniteSum,
    rule: optax.GradientTransformation,
    start: Float[Array, " p"],
    indices: Int[Array, "steps batch"],
    *,
    every: int = 1,
) -> RuleRun:
    """Give the rule the gradients of the batches in the rows of `indices`, and keep every so many points.

    >>> two = FiniteSum(lambda w, y: (w[0] - y) ** 2 / 2, (jnp.array([1.0, 3.0]),))
    >>> rule_run(two, optax.sgd(0.5), jnp.zeros(1), jnp.array([[0], [1]])).points[:, 0].tolist()
    [0.0, 0.5, 1.75]
    """
    if indices.shape[0] % every:
        raise ValueError(f"{indices.shape[0]} steps are not a multiple of every = {every}; give whole records.")

    def losses(w: Array, rows: Array, key: None, state: None) -> tuple[Float[Array, " batch"], None]:
        picked = tuple(a[rows] for a in problem.arrays)
        return jax.vmap(problem.loss, (None, *(0 for _ in picked)))(w, *picked), None

    ran = scan_steps(losses, start, rule, indices, record=lambda seen: seen.after.parameters, every=every)
    return RuleRun(jnp.concatenate([start[None], ran.recorded]), ran.opt_state)
