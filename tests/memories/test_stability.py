import jax
import numpy as np
import pytest

from leadline import data, memories
from leadline.memories.stability import flip_exactly


def test_stability_agrees_with_one_synchronous_step():
    patterns = np.asarray(data.random_signs(15, 100, key=jax.random.key(0)))
    report = memories.measure_stability(memories.hebbian_network(patterns), patterns)
    integer_fields = patterns @ (patterns.T @ patterns - 15 * np.eye(100))  # d h, exact
    stays = np.where(integer_fields >= 0, 1, -1) == patterns
    np.testing.assert_array_equal(report.fixed, stays.all(axis=1))
    np.testing.assert_allclose(report.bits, stays.mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(report.minimal, (patterns * integer_fields).min(axis=1) / 100, atol=1e-12)
    assert 0 < report.fixed.sum() < 15  # the load is such that both kinds occur


def test_a_tie_keeps_plus_one_and_turns_minus_one_round():
    network = memories.HopfieldNetwork(np.zeros((2, 2)))
    assert memories.measure_stability(network, np.array([[1.0, 1.0], [1.0, -1.0]])).fixed.tolist() == [True, False]


def test_flips_are_as_many_as_asked():
    states = np.ones((4, 50))
    exact = np.asarray(flip_exactly(states, np.array([0, 1, 25, 50]), key=jax.random.key(0)))
    assert ((exact == -1).sum(axis=1) == [0, 1, 25, 50]).all()
    many = np.asarray(memories.flip_signs(np.ones((1000, 100)), 0.2, key=jax.random.key(1)))
    assert abs((many == -1).mean() - 0.2) < 5 * np.sqrt(0.16 / 1e5)


def test_flipped_places_are_uniform():
    flipped = np.asarray(flip_exactly(np.ones((6000, 6)), np.full(6000, 2), key=jax.random.key(2))) == -1
    expected = 6000 / 3
    assert (np.abs(flipped.sum(axis=0) - expected) < 5 * np.sqrt(6000 * 2 / 9)).all()


def test_basin_radius_agrees_with_direct_iteration():
    patterns = np.asarray(data.random_signs(6, 60, key=jax.random.key(3)))
    weights = patterns.T @ patterns - 6 * np.eye(60)
    shares = (0.0, 0.1, 0.2, 0.3, 0.4)
    basin = memories.basin_radius(
        memories.hebbian_network(patterns), patterns, key=jax.random.key(4), shares=shares, cues=40
    )
    rng = np.random.default_rng(0)
    for s, share in enumerate(shares):
        returned = []
        for pattern in patterns:
            for _ in range(40):
                state = pattern.copy()
                state[rng.choice(60, round(60 * share), replace=False)] *= -1
                for _ in range(50):
                    before = state.copy()
                    for i in range(60):
                        state[i] = 1 if weights[i] @ state >= 0 else -1
                    if (state == before).all():
                        break
                returned.append((state == pattern).all())
        # Two independent samples of 240 cues each: five standard errors of a difference.
        assert abs(np.mean(returned) - basin.returned[s].mean()) <= 5 * np.sqrt(0.5 / 240)
    assert (basin.returned[0] == memories.measure_stability(memories.hebbian_network(patterns), patterns).fixed).all()


def test_radius_is_the_last_share_before_the_first_failure():
    patterns = np.asarray(data.random_signs(6, 60, key=jax.random.key(5)))
    basin = memories.basin_radius(
        memories.hebbian_network(patterns), patterns, key=jax.random.key(6), cues=40, level=0.9
    )
    for t in range(6):
        radius = 0.0
        for share, returned in zip(basin.shares, basin.returned[:, t], strict=True):
            if returned < 0.9:
                break
            radius = share
        assert basin.radius[t] == radius


def test_a_fixed_point_may_have_an_empty_basin():
    # n = d - 1 patterns: the projection rule keeps them all, but the fields are too weak to correct a single bit.
    patterns = np.random.default_rng(1).choice([-1.0, 1.0], size=(29, 30))
    network = memories.projection_network(patterns)
    basin = memories.basin_radius(network, patterns, key=jax.random.key(0), shares=(0.0, 1 / 30))
    assert memories.measure_stability(network, patterns).fixed.all()
    assert basin.radius.max() == 0


def test_bad_shares_are_refused():
    patterns = np.ones((1, 4))
    with pytest.raises(ValueError, match="increase"):
        memories.basin_radius(memories.hebbian_network(patterns), patterns, key=jax.random.key(0), shares=(0.3, 0.1))
    with pytest.raises(ValueError, match="only -1 and"):
        memories.measure_stability(memories.hebbian_network(patterns), 0.5 * patterns)
