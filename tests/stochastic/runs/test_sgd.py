"""SGD runs, index streams and schedules against plain loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import stochastic
from leadline.stochastic.problems.finite_sum import six_points
from leadline.stochastic.problems.sgd_models import gaussian_model_run, gaussian_step
from leadline.stochastic.runs.index_streams import SAMPLERS

KEY = jax.random.key(1)


def loop(x, y, w, etas, rows):
    path = [w]
    for eta, i in zip(etas, rows, strict=True):
        picked = np.atleast_1d(i)
        w = w - eta * (x[picked].T @ (x[picked] @ w - y[picked])) / len(picked)
        path.append(w)
    return np.array(path)


@pytest.mark.parametrize("batch", [None, 3])
def test_a_run_equals_a_loop_and_keeps_every_kth_iterate(batch):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    rows = rng.integers(6, size=12 if batch is None else (12, batch))
    etas = np.linspace(0.2, 0.05, 12)
    problem = stochastic.least_squares_sum(x, y)
    run = stochastic.sgd_run(problem, np.ones(2), etas, rows, every=4)
    expected = loop(x, y, np.ones(2), etas, rows)
    assert np.allclose(run.points, expected[::4], atol=1e-12)
    assert np.allclose(run.last, expected[-1], atol=1e-12)
    assert run.gradients == rows.size


def test_runs_map_over_step_sizes():
    six = six_points()
    x, y = (np.asarray(a) for a in six.arrays)
    rows, etas = stochastic.index_stream(6, 8, key=KEY), np.array([0.1, 0.5])
    paths = jax.vmap(lambda eta: stochastic.sgd_run(six, np.zeros(1), eta, rows).points)(etas)
    for path, eta in zip(paths, etas, strict=True):
        assert np.allclose(path, loop(x, y, np.zeros(1), np.full(8, eta), rows), atol=1e-12)


@pytest.mark.parametrize("batch", [None, 2])
def test_many_runs_are_each_a_run(batch):
    six, rng = six_points(), np.random.default_rng(2)
    rows = rng.integers(6, size=(3, 8) if batch is None else (3, 8, batch))
    paths = stochastic.sgd_runs(six, np.ones(1), 0.3, rows, every=2)
    for path, own in zip(paths, rows, strict=True):
        assert np.allclose(path, stochastic.sgd_run(six, np.ones(1), 0.3, own, every=2).points, atol=1e-14)


def test_bad_runs_are_refused():
    six = six_points()
    with pytest.raises(ValueError, match="sgd_runs"):
        stochastic.sgd_runs(six, np.zeros(1), 0.1, np.zeros(5, int))
    with pytest.raises(ValueError, match="every"):
        stochastic.sgd_run(six, np.zeros(1), 0.1, np.zeros(5, int), every=2)
    with pytest.raises(ValueError, match="step sizes"):
        stochastic.sgd_run(six, np.zeros(1), np.ones(3), np.zeros(5, int))


@pytest.mark.parametrize("sampler", SAMPLERS[1:])
def test_shuffled_streams_show_each_index_once_an_epoch(sampler):
    streams = stochastic.index_stream(7, 21, sampler=sampler, key=KEY, seeds=3).reshape(3, 3, 7)
    assert np.array_equal(np.sort(streams, axis=2), np.broadcast_to(np.arange(7), (3, 3, 7)))
    assert stochastic.index_stream(7, 10, sampler=sampler, key=KEY).shape == (10,)


def test_reshuffling_changes_the_order_and_shuffling_once_does_not():
    epochs = {s: stochastic.index_stream(30, 60, sampler=s, key=KEY).reshape(2, 30) for s in SAMPLERS}
    assert not np.array_equal(*epochs["reshuffle"])
    assert np.array_equal(*epochs["shuffle once"])
    assert np.array_equal(epochs["sequential"][0], np.arange(30))


def test_batches_follow_their_probabilities():
    p = np.array([0.5, 0.3, 0.2, 0.0])
    rows = stochastic.draw_indices(4, 5, 4000, probabilities=p, key=KEY)
    shares = np.bincount(rows.ravel(), minlength=4) / rows.size
    assert np.all(np.abs(shares - p) < 5 * np.sqrt(p * (1 - p) / rows.size) + 1e-12)
    without = stochastic.draw_indices(4, 3, 50, replacement=False, key=KEY)
    assert all(len(set(row)) == 3 for row in without.tolist())


def test_bad_streams_are_refused():
    with pytest.raises(ValueError, match="choose one of"):
        stochastic.step_sizes("linear", 0.1, 3)
    with pytest.raises(ValueError, match="replacement"):
        stochastic.draw_indices(3, 4, 1, replacement=False, key=KEY)
    with pytest.raises(ValueError, match="probabilities"):
        stochastic.draw_indices(3, 1, 1, probabilities=np.array([0.5, 0.2, 0.1]), key=KEY)
    with pytest.raises(ValueError, match="at least 1 sample"):
        stochastic.index_stream(0, 1, key=KEY)


def test_schedules_have_their_shapes():
    assert np.allclose(stochastic.step_sizes("power", 1.0, 4, power=0.5), np.arange(1, 5) ** -0.5)
    assert np.allclose(stochastic.step_sizes("harmonic", 2.0, 3, delay=2.0), [2.0, 4 / 3, 1.0])
    assert np.allclose(stochastic.step_sizes("cosine", 1.0, 2), [1.0, 0.5])
    assert np.allclose(stochastic.step_sizes("warm-up", 1.0, 4, warm=0.5), [0.5, 1.0, 1.0, 1.0])
    assert np.allclose(stochastic.step_sizes("constant", 0.3, 2), 0.3)


def test_the_gaussian_model_without_noise_is_gradient_descent_and_with_it_has_covariance_c():
    six = six_points()
    x, y = (np.asarray(a)[:, 0] if a.ndim == 2 else np.asarray(a) for a in six.arrays)
    path = gaussian_model_run(six, jnp.ones(1), 0.5, 1, jnp.zeros((3, 6)))
    expected = 1.0 - 0.5 * np.mean(x * (x - y))
    assert np.allclose(path[1, 0], expected, atol=1e-12)
    moved = jax.vmap(lambda xi: gaussian_step(six, jnp.ones(1), 0.5, 2, xi))(jnp.eye(6))
    assert np.sum((np.asarray(moved) - expected) ** 2) == pytest.approx(0.25 / 2 * np.var(x * (x - y)))
