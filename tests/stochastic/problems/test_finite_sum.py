"""Finite sums against closed forms and against autodiff of the whole."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import optimisation, stochastic
from leadline.stochastic.problems.finite_sum import six_points

X = np.array([0.6, 0.8, 1.0, 1.2, 0.5, 1.1])
Y = np.array([1.0, -0.3, 0.4, 0.9, -0.6, 0.2])


def test_six_points_have_the_constants_of_the_conventions():
    six = six_points()
    known = six.constants()
    assert known.minimiser[0] == pytest.approx(0.359184, abs=5e-7)
    assert known.smoothness == pytest.approx(0.816667, abs=5e-7)
    assert known.strong_convexity == pytest.approx(known.smoothness)
    assert six.sample_smoothness().max() == pytest.approx(1.44)
    assert six.samples == 6


@eqx.filter_jit
def everything(problem, w, rows, weights):
    """Compiled at once, because one program is faster to make than twenty."""
    return {
        "losses": problem.losses(w),
        "gradients": problem.gradients(w),
        "gradient": problem.gradient(w),
        "covariance": problem.covariance(w),
        "gram": problem.gram(w),
        "component": problem.component_gradient(w, rows[0]),
        "batch": problem.batch_gradient(w, rows),
        "weighted": problem.batch_gradient(w, rows, weights),
        "hessian": problem.hessian(w),
        "value": problem(w),
    }


def test_gradients_and_covariance_are_those_of_the_closed_form():
    weights = np.array([2.0, 0.5])
    found = everything(six_points(), jnp.array([0.7]), jnp.array([0, 4]), jnp.asarray(weights))
    each = X * (X * 0.7 - Y)
    expected = {
        "losses": (X * 0.7 - Y) ** 2 / 2,
        "gradients": each[:, None],
        "gradient": [each.mean()],
        "covariance": [[each.var()]],
        "gram": np.outer(each - each.mean(), each - each.mean()) / 6,
        "component": [each[0]],
        "batch": [each[[0, 4]].mean()],
        "weighted": [weights @ each[[0, 4]] / 2],
        "hessian": [[np.mean(X**2)]],
        "value": np.mean((X * 0.7 - Y) ** 2) / 2,
    }
    for name, value in expected.items():
        assert np.allclose(found[name], value, atol=1e-12), name


def test_softmax_as_a_sum_equals_the_whole():
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(7, 3)), np.array([0, 1, 1, 0, 2, 2, 1])
    whole = optimisation.SoftmaxRidge(jnp.asarray(x), jnp.asarray(labels), jnp.array(0.1), 3)
    parts, w = stochastic.finite_softmax(whole), rng.normal(size=9)
    gradients, gradient = eqx.filter_jit(lambda f, w: (f.gradients(w), f.gradient(w)))(parts, jnp.asarray(w))
    scores = x @ w.reshape(3, 3)
    error = np.exp(scores) / np.exp(scores).sum(1, keepdims=True) - np.eye(3)[labels]
    assert np.allclose(gradients, (x[:, :, None] * error[:, None]).reshape(7, 9) + 0.1 * w, atol=1e-12)
    assert np.allclose(gradients.mean(0), gradient, atol=1e-12)
    assert parts.sample_smoothness().max() == pytest.approx(whole.largest_sample_smoothness)


def test_a_bare_function_has_no_constants_and_says_so():
    plain = stochastic.FiniteSum(lambda w, y: (w[0] - y) ** 2, (np.ones(2),))
    assert plain.constants().smoothness is None
    with pytest.raises(ValueError, match="does not know its smoothness"):
        plain.sample_smoothness()


@pytest.mark.parametrize("arrays", [(), (np.ones(3), np.ones(2)), (np.ones((0, 2)),)])
def test_arrays_without_common_rows_are_refused(arrays):
    with pytest.raises(ValueError, match="rows"):
        stochastic.FiniteSum(lambda w, *row: w[0], arrays)
