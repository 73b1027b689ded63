import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from leadline import data, memories
from leadline.memories.dynamics import trace


def random_network(d, seed, *, ties=False):
    rng = np.random.default_rng(seed)
    weights = rng.integers(-2, 3, size=(d, d)).astype(float) if ties else rng.normal(size=(d, d))
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    bias = rng.integers(-1, 2, size=d).astype(float) if ties else rng.normal(size=d)
    return weights, bias, rng.choice([-1.0, 1.0], size=(5, d))


def visit_one_by_one(weights, bias, state, sweeps=200):
    """The brute-force twin: plain loops, one neuron after the other."""
    state = state.copy()
    changed_sweeps = flips = 0
    for _ in range(sweeps):
        before = state.copy()
        for i in range(len(state)):
            value = 1.0 if weights[i] @ state - bias[i] >= 0 else -1.0
            flips += value != state[i]
            state[i] = value
        if (state == before).all():
            return state, changed_sweeps, flips, True
        changed_sweeps += 1
    return state, changed_sweeps, flips, False


@pytest.mark.parametrize("d", [1, 70])
@pytest.mark.parametrize("ties", [False, True])
def test_blocked_sweeps_visit_the_neurons_one_after_the_other(d, ties):
    weights, bias, states = random_network(d, d, ties=ties)
    run = memories.asynchronous(memories.HopfieldNetwork(weights, bias), states)
    for k, state in enumerate(states):
        end, sweeps, flips, converged = visit_one_by_one(weights, bias, state)
        np.testing.assert_array_equal(run.states[k], end)
        assert (run.sweeps[k], run.flips[k], run.converged[k]) == (sweeps, flips, converged)


@pytest.mark.parametrize("self_coupling", [False, True])
def test_the_factored_network_runs_like_its_weight_matrix(self_coupling):
    patterns = np.asarray(data.random_signs(15, 75, key=jax.random.key(0)))
    cues = np.asarray(memories.flip_signs(patterns, 0.3, key=jax.random.key(1)))
    run = memories.asynchronous(memories.hebbian_network(patterns, self_coupling=self_coupling), cues)
    integer_weights = patterns.T @ patterns - (0 if self_coupling else 15) * np.eye(75)  # exact, so ties are exact
    for k, cue in enumerate(cues):
        np.testing.assert_array_equal(run.states[k], visit_one_by_one(integer_weights, np.zeros(75), cue)[0])


@given(seed=st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_every_asynchronous_run_ends_at_a_fixed_point(seed):
    weights, bias, states = random_network(20, seed, ties=True)
    network = memories.HopfieldNetwork(weights, bias)
    for order, key in (("cyclic", None), ("random", jax.random.key(seed))):
        run = memories.asynchronous(network, states, order=order, key=key)
        assert run.converged.all()
        np.testing.assert_array_equal(np.where(np.asarray(run.states) @ weights - bias >= 0, 1, -1), run.states)


def test_the_limit_on_sweeps_is_kept_and_reported():
    patterns = data.random_signs(15, 75, key=jax.random.key(0))
    cues = memories.flip_signs(patterns, 0.3, key=jax.random.key(1))
    run = memories.asynchronous(memories.hebbian_network(patterns), cues, sweeps=1)
    assert (run.sweeps <= 1).all()
    assert not run.converged.all()


def test_a_single_state_and_nested_batches_keep_their_shape():
    patterns = data.random_signs(4, 40, key=jax.random.key(0))
    network = memories.hebbian_network(patterns)
    single, nested = (
        memories.asynchronous(network, patterns[0]),
        memories.asynchronous(network, patterns.reshape(2, 2, 40)),
    )
    assert single.states.shape == (40,)
    assert single.sweeps.shape == ()
    assert nested.states.shape == (2, 2, 40)
    assert nested.converged.shape == (2, 2)
    np.testing.assert_array_equal(nested.states[0, 0], single.states)


def test_synchronous_updates_fall_into_the_two_cycle_of_two_inhibiting_neurons():
    network = memories.HopfieldNetwork(np.array([[0.0, -1.0], [-1.0, 0.0]]))
    run = memories.synchronous(network, np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]))
    assert run.period.tolist() == [2, 2, 1]
    assert run.steps.tolist() == [0, 0, 0]
    assert memories.synchronous(network, np.array([1.0, 1.0]), num_steps=1).states.tolist() == [-1, -1]


@given(seed=st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_synchronous_runs_of_symmetric_weights_have_period_one_or_two(seed):
    weights, bias, states = random_network(12, seed, ties=True)
    run = memories.synchronous(memories.HopfieldNetwork(weights, bias), states)
    for state, steps, period in zip(states, run.steps, run.period, strict=True):
        seen, t = {}, 0
        while tuple(state) not in seen:
            seen[tuple(state)] = t
            state, t = np.where(weights @ state - bias >= 0, 1.0, -1.0), t + 1
        assert (steps, period) == (seen[tuple(state)], t - seen[tuple(state)])
        assert period in (1, 2)


def test_heat_bath_visits_states_by_their_boltzmann_weights():
    weights, bias, _ = random_network(3, 1)
    network = memories.HopfieldNetwork(weights, bias)
    ends = np.asarray(
        memories.glauber(network, np.ones((20_000, 3)), temperature=1.5, sweeps=30, key=jax.random.key(0))
    )
    corners = np.array([[1 - 2 * (c >> i & 1) for i in range(3)] for c in range(8)], float)
    boltzmann = np.exp(-np.asarray(memories.energy(weights, corners, bias)) / 1.5)
    expected = 20_000 * boltzmann / boltzmann.sum()
    counts = np.array([(ends == corner).all(axis=1).sum() for corner in corners])
    assert ((counts - expected) ** 2 / expected).sum() < 24.3  # chi-square, 7 degrees of freedom, 0.1%


def test_heat_bath_at_zero_temperature_is_the_asynchronous_run():
    weights, bias, states = random_network(20, 4)
    network = memories.HopfieldNetwork(weights, bias)
    cold = memories.glauber(network, states, temperature=0.0, sweeps=50, key=jax.random.key(0))
    np.testing.assert_array_equal(cold, memories.asynchronous(network, states).states)


def test_a_trace_follows_any_matrix_visit_by_visit():
    rng = np.random.default_rng(0)
    weights, bias, state = rng.normal(size=(6, 6)), rng.normal(size=6), rng.choice([-1.0, 1.0], 6)
    visits = rng.integers(0, 6, size=20)
    path = trace(weights, state, visits, bias=bias)
    for step, i in enumerate(visits):
        state[i] = 1.0 if weights[i] @ state - bias[i] >= 0 else -1.0
        np.testing.assert_array_equal(path.states[step + 1], state)
        np.testing.assert_allclose(path.energies[step + 1], -0.5 * state @ weights @ state + bias @ state, atol=1e-12)


def test_bad_arguments_are_refused():
    network = memories.HopfieldNetwork(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="cyclic"):
        memories.asynchronous(network, np.ones(3), order="sideways")
    with pytest.raises(ValueError, match="key"):
        memories.asynchronous(network, np.ones(3), order="random")
    with pytest.raises(ValueError, match="only -1 and"):
        memories.asynchronous(network, np.zeros(3))
    with pytest.raises(ValueError, match="3 neurons, but the states have 4"):
        memories.synchronous(network, np.ones((2, 4)))
    with pytest.raises(ValueError, match="temperature"):
        memories.glauber(network, np.ones(3), temperature=-1.0, sweeps=1, key=jax.random.key(0))
    with pytest.raises(ValueError, match="only -1 and"):
        trace(np.zeros((3, 3)), jnp.array([1.0, 2.0, 1.0]), np.array([0]))
