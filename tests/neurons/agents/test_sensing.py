import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.neurons import agents
from leadline.neurons.agents.sensing import POLICIES


def likelihood(world, target, sensor, reading):
    inside = max(abs(target[0] - sensor[0]), abs(target[1] - sensor[1])) <= world.radius
    positive = world.hit if inside else world.false_alarm
    return positive if reading else 1 - positive


@pytest.mark.parametrize("policy", POLICIES)
def test_the_posterior_equals_enumeration_over_all_cells(policy):
    world = agents.SearchWorld(size=4, radius=1, hit=0.8, false_alarm=0.15, reach=2)
    episode = world.search(policy, num_steps=12, key=jax.random.key(0))
    joint = np.ones((4, 4))
    for t in range(12):
        for cell in itertools.product(range(4), repeat=2):
            joint[cell] *= likelihood(world, cell, episode.sensor[t].tolist(), bool(episode.reading[t]))
        np.testing.assert_allclose(episode.posterior[t], joint / joint.sum(), rtol=1e-10)


def test_information_gain_equals_the_mean_drop_in_entropy():
    world = agents.SearchWorld(size=5, radius=1, hit=0.9, false_alarm=0.2)
    belief = jax.random.uniform(jax.random.key(0), (5, 5))
    belief /= belief.sum()

    def entropy(p):
        return -np.sum(np.asarray(p) * np.log(np.asarray(p)))

    cells = list(itertools.product(range(5), repeat=2))
    gain, belief = jax.jit(world.information_gain)(belief), np.asarray(belief)
    update = jax.jit(world.update)
    for sensor in cells:
        expected = entropy(belief)
        for reading in (True, False):
            chance = sum(belief[c] * likelihood(world, c, sensor, reading) for c in cells)
            expected -= float(chance) * entropy(update(belief, jnp.array(sensor), jnp.array(reading)))
        assert float(gain[sensor]) == pytest.approx(expected, abs=1e-10)


def test_moves_stay_within_reach_and_the_best_one_is_taken():
    world = agents.SearchWorld(size=6, radius=0, hit=0.9, false_alarm=0.1, reach=1)
    belief = jnp.zeros((6, 6)).at[2, 3].set(0.5).at[5, 5].set(0.5)
    greedy = jax.jit(lambda at, key: world.move("information gain", belief, at, key=key))
    assert greedy(jnp.array([1, 2]), jax.random.key(0)).tolist() == [2, 3]
    assert world.move("passive", belief, jnp.array([1, 2]), key=jax.random.key(0)).tolist() == [1, 2]
    wander = jax.jit(jax.vmap(lambda key: world.move("random", belief, jnp.array([0, 2]), key=key)))
    moves = wander(jax.random.split(jax.random.key(1), 200))
    assert {tuple(m) for m in moves.tolist()} == set(itertools.product((0, 1), (1, 2, 3)))


def test_readings_come_at_the_stated_rates():
    world = agents.SearchWorld(size=6, radius=1, hit=0.75, false_alarm=0.25)
    keys = jax.random.split(jax.random.key(0), 4000)
    for sensor, rate in (((3, 3), 0.75), ((0, 0), 0.25)):
        found = jax.vmap(lambda key, at: world.observe(jnp.array([2, 4]), at, key=key), (0, None))(
            keys, jnp.array(sensor)
        ).mean()
        assert float(found) == pytest.approx(rate, abs=4 * np.sqrt(rate * (1 - rate) / 4000))


def test_search_times_count_readings_and_stop_at_the_cap():
    exact = agents.SearchWorld(size=4, radius=0, hit=1.0, false_alarm=0.0, reach=4)
    times = agents.search_times(exact, "information gain", episodes=400, cap=100, key=jax.random.key(0))
    # A perfect sensor opens one new cell a step and knows the last one unopened: the mean is (1 + ... + 15 + 15)/16.
    assert int(times.min()) >= 1
    assert int(times.max()) <= 15
    assert float(times.mean()) == pytest.approx(135 / 16, abs=4 * float(times.std()) / 20)
    stuck = agents.search_times(exact, "passive", episodes=50, cap=30, key=jax.random.key(0))
    assert set(stuck.tolist()) <= {1, 30}


def test_bad_worlds_and_policies_are_refused():
    with pytest.raises(ValueError, match="false alarm <= hit"):
        agents.SearchWorld(size=4, radius=1, hit=0.2, false_alarm=0.5)
    with pytest.raises(ValueError, match="reach"):
        agents.SearchWorld(size=4, radius=1, hit=0.9, false_alarm=0.1, reach=0)
    world = agents.SearchWorld(size=4, radius=1, hit=0.9, false_alarm=0.1)
    with pytest.raises(ValueError, match="no policy"):
        world.search("greedy", num_steps=3, key=jax.random.key(0))
    with pytest.raises(ValueError, match="at least 1"):
        agents.search_times(world, "random", episodes=0, cap=10, key=jax.random.key(0))
