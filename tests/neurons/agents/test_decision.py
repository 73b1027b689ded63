import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from leadline.neurons.agents.decision import DecisionProblem, binary_channel, value_of_prior


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 3), st.integers(2, 3), st.integers(2, 3))
def test_the_best_rule_equals_enumeration_of_all_rules(seed, states, observations, actions):
    random = np.random.default_rng(seed)
    prior, channel = random.dirichlet(np.ones(states)), random.dirichlet(np.ones(observations), size=states)
    cost = random.random((actions, states))
    problem = DecisionProblem(jnp.asarray(prior), jnp.asarray(channel), jnp.asarray(cost))

    def mean_cost(rule):
        return sum(prior[s] * channel[s, o] * cost[rule[o], s] for s in range(states) for o in range(observations))

    best = min(itertools.product(range(actions), repeat=observations), key=mean_cost)
    assert float(problem.expected_cost(problem.best_actions())) == pytest.approx(mean_cost(best), rel=1e-10)
    assert float(value_of_prior(problem)) >= -1e-12


@pytest.mark.parametrize("accuracy", [0.55, 0.7, 0.9, 1.0])
def test_with_equal_costs_the_value_is_the_priors_lead_over_the_observation(accuracy):
    problem = DecisionProblem(jnp.array([0.8, 0.2]), binary_channel(accuracy), 1 - jnp.eye(2))
    assert float(value_of_prior(problem)) == pytest.approx(max(0, 0.8 - accuracy), abs=1e-12)


def test_simulated_cost_equals_expected_cost():
    cost = jnp.array([[0.0, 4.0], [1.0, 0.0]])
    problem = DecisionProblem(jnp.array([0.7, 0.3]), binary_channel(0.75), cost)
    actions = np.asarray(problem.best_actions())
    random = np.random.default_rng(0)
    states = random.random(40000) < 0.3
    seen = np.where(random.random(40000) < 0.75, states, ~states).astype(int)
    costs = np.asarray(problem.cost)[actions[seen], states.astype(int)]
    expected = float(problem.expected_cost(problem.best_actions()))
    assert expected == pytest.approx(costs.mean(), abs=4 * costs.std() / 200)


def test_sweeps_over_accuracy_are_vmaps():
    gaps = jax.vmap(
        lambda a: value_of_prior(DecisionProblem(jnp.array([0.9, 0.1]), binary_channel(a), 1 - jnp.eye(2)))
    )(jnp.array([0.55, 0.6, 0.95]))
    np.testing.assert_allclose(gaps, [0.35, 0.3, 0.0], atol=1e-12)
