import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import data
from leadline.linear_classifiers import perceptrons
from leadline.linear_classifiers.perceptrons.dual import dual_cost, monomial_features, primal_cost

X, Y = (np.asarray(part) for part in data.gaussian_clouds(30, 5, 1.0, key=jax.random.key(0)))
POINTS = np.random.default_rng(0).normal(size=(7, 5))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("start", [None, np.arange(5.0)])
def test_dual_and_primal_scores_agree(bias, start):
    run = perceptrons.learn(X, Y, bias=bias, step_size=0.5, start=start, epochs=8)
    dual = perceptrons.dual_form(run, X, Y)
    assert np.allclose(dual.score(POINTS), POINTS @ np.asarray(run.weights) + float(run.bias), atol=1e-10)
    assert len(dual.support) == np.count_nonzero(run.mistakes)


def test_weights_are_rebuilt_from_the_mistakes():
    start = np.arange(5.0)
    run = perceptrons.learn(X, Y, step_size=0.5, start=start, epochs=8)
    by_hand = start + 0.5 * sum(a * y * x for a, y, x in zip(run.mistakes, Y, X, strict=True))
    rebuilt = perceptrons.mistake_weights(run.mistakes, X, Y, step_size=0.5, start=start)
    assert np.allclose(rebuilt, by_hand, atol=1e-12)
    assert np.allclose(rebuilt, run.weights, atol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_monomial_features_realise_the_polynomial_kernel(degree):
    features, other = monomial_features(X, degree), monomial_features(POINTS, degree)
    assert np.allclose(features @ other.T, (X @ POINTS.T) ** degree)
    assert np.allclose(perceptrons.polynomial_kernel(degree)(X, POINTS), (X @ POINTS.T) ** degree)


def test_a_run_on_monomials_predicts_through_its_kernel():
    run = perceptrons.learn(monomial_features(X, 2), Y, epochs=5)
    dual = perceptrons.dual_form(run, X, Y, perceptrons.polynomial_kernel(2))
    primal = monomial_features(POINTS, 2) @ run.weights
    assert np.allclose(dual.score(POINTS), primal, atol=1e-9)


def test_costs_count_the_numbers_that_are_stored():
    run = perceptrons.learn(X, Y, epochs=8)
    dual = perceptrons.dual_form(run, X, Y)
    assert dual_cost(len(dual.support), 5).stored == dual.support.size + dual.coefficients.size
    assert primal_cost(5).stored == run.weights.size


def test_a_kernel_cannot_keep_other_start_weights():
    run = perceptrons.learn(X, Y, start=jnp.ones(5), epochs=2)
    with pytest.raises(ValueError, match="start weights other than 0"):
        perceptrons.dual_form(run, X, Y, perceptrons.polynomial_kernel(2))
