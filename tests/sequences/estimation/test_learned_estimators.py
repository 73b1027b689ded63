import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.sequences import (
    Elman,
    SequenceNetwork,
    estimates_of,
    fit_estimators,
    grade_estimates,
    kalman_filter,
    linear_gaussian,
    simulate,
    steady_state,
)


def unit(seed):
    cell = Elman(1, 1, "identity", bias=False, gain=0.5, dtype=jnp.float32, key=jax.random.key(seed))
    return SequenceNetwork(cell, 1, bias=False, key=jax.random.key(seed + 100))


def test_linear_units_learn_the_settled_filter():
    model = linear_gaussian(0.7, 1.0, 0.5, 0.5)
    options = {"length": 40, "burn": 10, "batch": 64, "num_steps": 300, "step_size": 0.05, "key": jax.random.key(0)}
    runs = fit_estimators([unit(0), unit(1)], model, **options)
    k = steady_state(model).gain.item()
    for run in runs:
        net = run.model
        assert abs(net.cell.recurrent_weight.item() - 0.7 * (1 - k)) < 0.05
        assert abs(net.cell.input_weight.item() * net.head.weight.item() - k) < 0.05


def test_the_excess_is_the_difference_of_the_errors():
    model = linear_gaussian(0.7, 1.0, 0.5, 0.5)
    drawn = simulate(model, 20, paths=3000, key=jax.random.key(1))
    best = jax.vmap(lambda xs: kalman_filter(model, xs).means)(drawn.observations)
    floor = float(kalman_filter(model, np.zeros(20)).covariances.mean())
    grade = grade_estimates(drawn.observations, drawn.states, best, floor)
    difference = grade.errors - grade.best_errors
    assert abs(difference.mean() - grade.excess) < 5 * difference.std() / np.sqrt(3000)
    assert abs(grade.best_errors.mean() - floor) < 5 * grade.best_errors.std() / np.sqrt(3000)
    assert grade.ratio > 1.1


def test_estimates_are_in_the_precision_of_the_network():
    assert estimates_of(unit(0), np.zeros((3, 5, 1))).shape == (3, 5, 1)


def test_bad_input_is_told_in_a_sentence():
    with pytest.raises(ValueError, match="burn=10 for paths of length 10"):
        fit_estimators([unit(0)], linear_gaussian(0.7, 1.0, 0.5, 0.5), length=10, burn=10, key=jax.random.key(0))
    with pytest.raises(ValueError, match="of one shape"):
        grade_estimates(np.zeros((2, 3, 1)), np.zeros((2, 4, 1)), np.zeros((2, 3, 1)), 1.0)
