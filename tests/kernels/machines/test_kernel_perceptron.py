"""The kernel perceptron against the perceptron on explicit features."""

import jax
import numpy as np
import pytest

from leadline import kernels
from leadline.kernels import machines
from leadline.linear_classifiers import perceptrons


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 3))
    return x, np.sign(x @ np.array([1.0, 2.0, 0.5]))


@pytest.mark.parametrize(("order", "tie"), [("cyclic", "mistake"), ("permuted", "positive")])
def test_with_the_linear_kernel_it_is_the_perceptron(sample, order, tie):
    x, y = sample
    key = jax.random.key(3)
    run = machines.kernel_perceptron(kernels.Linear(), x, y, order=order, tie=tie, key=key)
    twin = perceptrons.learn(x, y, order=order, tie=tie, key=key)
    for name in ("updates", "converged", "epochs"):
        assert getattr(run, name) == getattr(twin, name)
    for name in ("mistakes", "history", "times"):
        np.testing.assert_array_equal(getattr(run, name), getattr(twin, name))
    np.testing.assert_allclose(run.expansion(x), x @ np.asarray(twin.weights), atol=1e-12)


def test_without_a_stored_gram_matrix_nothing_changes(sample):
    x, y = sample
    stored = machines.kernel_perceptron(kernels.Gaussian(1.0), x, y)
    frugal = machines.kernel_perceptron(kernels.Gaussian(1.0), x, y, store=False)
    np.testing.assert_array_equal(stored.history, frugal.history)
    assert stored.converged
    assert np.all(y * stored.scores > 0)


def test_it_stops_at_the_cap(sample):
    x, _ = sample
    run = machines.kernel_perceptron(kernels.Linear(), x[[0, 0]], np.array([1.0, -1.0]), epochs=7)
    assert not run.converged
    assert run.epochs == 7


def test_bad_input(sample):
    x, y = sample
    with pytest.raises(ValueError, match="order='adversarial'"):
        machines.kernel_perceptron(kernels.Linear(), x, y, order="adversarial")
    with pytest.raises(ValueError, match="tie='maybe'"):
        machines.kernel_perceptron(kernels.Linear(), x, y, tie="maybe")
    with pytest.raises(ValueError, match="random key"):
        machines.kernel_perceptron(kernels.Linear(), x, y, order="uniform")
    with pytest.raises(ValueError, match="one label"):
        machines.kernel_perceptron(kernels.Linear(), x, np.zeros(30))
