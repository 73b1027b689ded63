"""Deciding on a partly observed state: what knowing the true prior is worth to an agent with unlimited computing."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int


class DecisionProblem(NamedTuple):
    """Nature draws a state from `prior`, the agent sees an observation drawn from the state's row of `channel`, acts,
    and pays `cost[action, state]`.

    >>> problem = DecisionProblem(jnp.array([0.9, 0.1]), binary_channel(0.8), jnp.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> round(float(problem.expected_cost(problem.best_actions())), 3)
    0.1
    >>> round(float(value_of_prior(problem)), 3)
    0.1
    """

    prior: Float[Array, " states"]
    channel: Float[Array, "states observations"]
    cost: Float[Array, "actions states"]

    def action_costs(self, belief: Float[Array, " states"] | None = None) -> Float[Array, "actions observations"]:
        """Σ_s cost(a, s) belief(s) P(o | s): cost of each action, weighted by how often o occurs under the belief."""
        belief = self.prior if belief is None else belief
        return self.cost @ (belief[:, None] * self.channel)

    def best_actions(self, belief: Float[Array, " states"] | None = None) -> Int[Array, " observations"]:
        """The cheapest action after each observation for an agent with that prior belief (the true one by default)."""
        return jnp.argmin(self.action_costs(belief), axis=0)

    def expected_cost(self, actions: Int[Array, " observations"]) -> Float[Array, ""]:
        """The true mean cost of a rule that answers each observation with an action."""
        return jnp.sum(jnp.take_along_axis(self.action_costs(), actions[None, :], axis=0))


def value_of_prior(problem: DecisionProblem) -> Float[Array, ""]:
    """Extra mean cost of planning with a uniform prior, not the true one; never negative, 0 if nothing is hidden."""
    states = problem.prior.shape[0]
    uniform = jnp.full(states, 1 / states, problem.prior.dtype)
    ignorant = problem.expected_cost(problem.best_actions(uniform))
    return ignorant - problem.expected_cost(problem.best_actions())


def binary_channel(accuracy: float | Float[Array, ""]) -> Float[Array, "2 2"]:
    """Two states, two observations, each right with probability `accuracy`: 0.5 tells nothing, 1 tells all."""
    accuracy = jnp.asarray(accuracy)
    return jnp.array([[accuracy, 1 - accuracy], [1 - accuracy, accuracy]])
