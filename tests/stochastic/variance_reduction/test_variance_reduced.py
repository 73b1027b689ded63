"""SAGA, SAG and SVRG against loops in NumPy, and on the digits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import optimisation, stochastic
from leadline.stochastic.problems.linear_loss import cross_entropy_of_scores, half_square_of_score
from leadline.stochastic.variance_reduction.variance_reduced import empty_buffer, filled_buffer, svrg_factor

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((12, 3)), RNG.standard_normal(12)
PROBLEM = stochastic.least_squares_sum(X, Y)


def _gradient(w, i):
    return X[i] * (X[i] @ w - Y[i])


@pytest.mark.parametrize("weight", [1.0, 1 / 12, 0.4])
def test_the_buffered_run_is_the_loop(weight):
    indices = np.random.default_rng(1).integers(12, size=36)
    run = stochastic.saga(PROBLEM, jnp.zeros(3), 0.05, jnp.asarray(indices), weight=weight)
    w, table = np.zeros(3), np.array([_gradient(np.zeros(3), i) for i in range(12)])
    for t, i in enumerate(indices):
        if t % 12 == 0:
            np.testing.assert_allclose(run.points[t // 12], w, atol=1e-13)
        fresh, mean = _gradient(w, i), table.mean(axis=0)
        w = w - 0.05 * (weight * (fresh - table[i]) + mean)
        table[i] = fresh
    np.testing.assert_allclose(run.last, w, atol=1e-13)
    np.testing.assert_allclose(run.buffer.entries, table, atol=1e-13)
    np.testing.assert_allclose(run.buffer.mean, table.mean(axis=0), atol=1e-13)


def test_a_run_goes_on_with_its_buffer_and_may_start_from_an_empty_one():
    indices = np.random.default_rng(2).integers(12, size=(2, 36))
    w, buffer = jnp.zeros(3), empty_buffer(PROBLEM, jnp.zeros(3))
    for part in indices:
        run = stochastic.saga(PROBLEM, w, 0.05, jnp.asarray(part), buffer=buffer)
        w, buffer = run.last, run.buffer
    expected, table = np.zeros(3), np.zeros((12, 3))
    for i in indices.ravel():
        fresh, mean = _gradient(expected, i), table.mean(axis=0)
        expected = expected - 0.05 * (fresh - table[i] + mean)
        table[i] = fresh
    np.testing.assert_allclose(w, expected, atol=1e-13)


def test_compact_storage_is_dense_storage_and_smaller():
    loss = stochastic.LinearLoss(half_square_of_score, jnp.asarray(0.0), 1)
    problem = stochastic.FiniteSum(loss, (X, Y))
    indices = jnp.asarray(np.random.default_rng(1).integers(12, size=36))
    compact, dense = (stochastic.saga(problem, jnp.zeros(3), 0.05, indices, compact=c) for c in (True, False))
    np.testing.assert_allclose(compact.points, dense.points, atol=1e-13)
    assert compact.buffer.entries.shape == (12, 1)
    with pytest.raises(ValueError, match="same `compact`"):
        stochastic.saga(problem, jnp.zeros(3), 0.05, indices, compact=True, buffer=dense.buffer)


@pytest.mark.parametrize("following", ["last", "random"])
def test_svrg_is_the_loop(following):
    rows = np.random.default_rng(4).integers(12, size=(3, 10))
    key = jax.random.key(0)
    run = stochastic.svrg(PROBLEM, jnp.zeros(3), 0.05, jnp.asarray(rows), following=following, key=key)
    chosen = np.asarray(jax.random.randint(key, (3,), 0, 10)) if following == "random" else [10] * 3
    snapshot = np.zeros(3)
    for epoch, stop in enumerate(chosen):
        np.testing.assert_allclose(run.snapshots[epoch], snapshot, atol=1e-13)
        full, w = np.mean([_gradient(snapshot, i) for i in range(12)], axis=0), snapshot
        path = [w]
        for i in rows[epoch]:
            w = w - 0.05 * (_gradient(w, i) - _gradient(snapshot, i) + full)
            path.append(w)
        snapshot = path[stop]
    np.testing.assert_allclose(run.last, snapshot, atol=1e-13)
    assert run.evaluations.tolist() == [0, 32, 64, 96]


def test_directions_are_unbiased_and_weighted():
    w, old = jnp.asarray(RNG.standard_normal(3)), jnp.asarray(RNG.standard_normal(3))
    full = np.asarray(PROBLEM.gradient(w))
    buffer = filled_buffer(PROBLEM, old)
    np.testing.assert_allclose(stochastic.buffered_directions(PROBLEM, w, buffer).mean(axis=0), full, atol=1e-12)
    np.testing.assert_allclose(stochastic.snapshot_directions(PROBLEM, w, old).mean(axis=0), full, atol=1e-12)
    sag = stochastic.buffered_directions(PROBLEM, w, buffer, weight=1 / 12)
    bias = (1 - 1 / 12) * (np.asarray(buffer.mean) - full)
    np.testing.assert_allclose(sag.mean(axis=0) - full, bias, atol=1e-12)


def test_saga_solves_the_digits_within_25_passes():
    objective = optimisation.digits_softmax(0.01)
    loss = stochastic.LinearLoss(cross_entropy_of_scores, objective.penalty, 10)
    problem = stochastic.FiniteSum(loss, (objective.x, objective.labels), objective)
    indices = jnp.asarray(np.random.default_rng(0).integers(1797, size=25 * 1797))
    step = 1 / (3 * objective.largest_sample_smoothness)
    end = stochastic.saga(problem, jnp.zeros(650), step, indices).last
    assert float(objective(end)) == pytest.approx(0.7410569338310145, abs=1e-10)


def test_mistakes_are_told():
    indices = jnp.zeros(10, int)
    with pytest.raises(ValueError, match="multiple of every"):
        stochastic.saga(PROBLEM, jnp.zeros(3), 0.1, indices)
    with pytest.raises(ValueError, match="LinearLoss"):
        stochastic.saga(PROBLEM, jnp.zeros(3), 0.1, indices, every=5, compact=True)
    with pytest.raises(ValueError, match="needs a key"):
        stochastic.svrg(PROBLEM, jnp.zeros(3), 0.1, indices[None], following="random")
    with pytest.raises(ValueError, match="'last' or 'random'"):
        stochastic.svrg(PROBLEM, jnp.zeros(3), 0.1, indices[None], following="first")
    assert svrg_factor(0.6, 1.0, 0.1, 100) == np.inf
