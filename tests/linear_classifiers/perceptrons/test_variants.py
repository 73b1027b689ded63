import jax
import numpy as np
import pytest

from leadline import data
from leadline.linear_classifiers import perceptrons
from leadline.linear_classifiers.perceptrons.variants import path_errors

X, Y = (np.asarray(part) for part in data.gaussian_clouds(40, 3, 1.5, key=jax.random.key(0)))


@pytest.mark.parametrize("bias", [False, True])
def test_errors_along_the_path_are_those_of_a_replay(bias):
    run = perceptrons.learn(X, Y, bias=bias, epochs=6)
    w, b, errors = np.zeros(3), 0.0, []
    for i in [None, *run.history]:
        if i is not None:
            w, b = w + Y[i] * X[i], b + bias * Y[i]
        errors.append(sum(y * (x @ w + b) <= 0 for x, y in zip(X, Y, strict=True)))
    assert path_errors(run, X, Y).tolist() == errors
    kept = perceptrons.pocket(run, X, Y)
    assert int(np.sum(kept.classifier(X) != Y)) == min(errors) == kept.best[-1]
    assert np.all(np.diff(kept.best) <= 0)


@pytest.mark.parametrize("order", ["cyclic", "permuted", "uniform"])
def test_the_average_is_the_mean_over_presentations(order):
    key, start = jax.random.key(2), np.array([0.5, 0.0, 1.0])
    run = perceptrons.learn(X, Y, order=order, bias=True, step_size=0.5, start=start, epochs=5, key=key)
    w, b, weights, biases = start, 0.0, [], []
    for i in np.concatenate([perceptrons.sweep_order(40, order, e, key) for e in range(5)]):
        if Y[i] * (X[i] @ w + b) <= 0:
            w, b = w + 0.5 * Y[i] * X[i], b + 0.5 * Y[i]
        weights.append(w), biases.append(b)
    mean = perceptrons.averaged(run, X, Y)
    assert np.allclose(mean.weights, np.mean(weights, axis=0))
    assert np.isclose(mean.bias, np.mean(biases))


def test_the_average_errs_less_than_the_last_weights_on_noisy_data():
    x, y = data.gaussian_clouds(2000, 10, 2.0, key=jax.random.key(3))
    run = perceptrons.learn(x, y, epochs=5)
    last = np.mean(perceptrons.LinearThreshold(run.weights)(x) != y)
    assert np.mean(perceptrons.averaged(run, x, y)(x) != y) < last
