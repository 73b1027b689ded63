"""Filters against the runs and solutions that they describe."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.learning import ridge
from leadline.optimisation import gradient_path
from leadline.regularisation import (
    DescentFilter,
    FlowFilter,
    NoiseFilter,
    RidgeFilter,
    filter_risk,
    filtered_fits,
    filtered_minimiser,
    flow_against_ridge,
)

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 5)) + 1.0, RNG.normal(size=(30, 3))
FILTERS = [RidgeFilter(0.3), NoiseFilter(0.5), FlowFilter(2.0), DescentFilter(0.2, 7), DescentFilter(0.2, 7, decay=0.4)]


@pytest.mark.parametrize("kept", FILTERS, ids=lambda f: type(f).__name__)
def test_share_and_remainder_add_up_and_vanish_without_curvature(kept):
    values = np.array([0.0, 1e-12, 0.3, 1.0, 4.0])
    np.testing.assert_allclose(kept(values) + kept.left(values), 1.0, atol=1e-14)
    assert kept(values)[0] == 0
    assert kept(values)[1] > 0


@pytest.mark.parametrize("kept", FILTERS, ids=lambda f: type(f).__name__)
def test_a_filter_is_a_pytree_that_jax_traces(kept):
    values = np.array([0.0, 0.3, 4.0])
    traced = jax.jit(lambda f, v: f(v))(kept, jnp.asarray(values))
    np.testing.assert_allclose(traced, kept(values), rtol=1e-5)


def test_ridge_fits_of_many_outputs_equal_the_solver_of_one():
    fits = filtered_fits(X, Y, [RidgeFilter(0.3), NoiseFilter(0.3**0.5)])
    for k in range(3):
        alone = ridge(X, Y[:, k], 0.3)
        np.testing.assert_allclose(fits.weights[:, :, k], [alone.weights] * 2, atol=1e-12)
        np.testing.assert_allclose(fits.predict(X)[0][:, k], alone.predict(X), atol=1e-12)


@pytest.mark.parametrize("decay", [0.0, 0.4])
def test_stopped_descent_equals_the_iterate(decay):
    centred, targets = X - X.mean(0), Y - Y.mean(0)

    def slope(w):
        return centred.T @ (centred @ w - targets) / len(X) + decay * w

    path = gradient_path(slope, np.zeros((5, 3)), 0.2, 7)
    np.testing.assert_allclose(filtered_fits(X, Y, [DescentFilter(0.2, 7, decay)]).weights[0], path[-1], atol=1e-12)


def test_the_minimum_norm_solution_is_the_pseudo_inverse_also_without_full_rank():
    x = np.c_[X[:3], X[:3, 0]]
    fits = filtered_fits(x, Y[:3], [RidgeFilter(0.0)], intercept=False)
    np.testing.assert_allclose(fits.weights[0], np.linalg.pinv(x) @ Y[:3], atol=1e-12)


@pytest.mark.parametrize("of", ["weights", "predictions"])
def test_the_risk_is_that_of_the_linear_estimator(of):
    values, vectors = np.linalg.eigh(X.T @ X / 30)
    theta, kept = RNG.normal(size=5), DescentFilter(0.05, 20)
    estimator = vectors @ np.diag(kept(values) / values) @ vectors.T @ X.T / 30  # θ̂ = estimator y
    metric = np.eye(5) if of == "weights" else X.T @ X / 30
    missed = estimator @ X @ theta - theta
    risk = filter_risk(kept, values, vectors.T @ theta, 0.7, 30, of=of)
    np.testing.assert_allclose(risk.bias, missed @ metric @ missed, rtol=1e-10)
    np.testing.assert_allclose(risk.variance, 0.49 * np.trace(estimator.T @ metric @ estimator), rtol=1e-10)


def test_the_constants_of_flow_and_ridge_are_those_of_a_fine_grid():
    r = np.linspace(0.1, 10, 1_000_001)
    found = flow_against_ridge()
    gap, ratio = -np.expm1(-r) - r / (1 + r), (-np.expm1(-r) * (1 + r) / r) ** 2
    np.testing.assert_allclose([found.gap, found.ratio], [gap.max(), ratio.max()], rtol=1e-9)
    np.testing.assert_allclose([found.gap_at, found.ratio_at], [r[gap.argmax()], r[ratio.argmax()]], atol=1e-4)


def test_bad_filters_and_indefinite_hessians_are_refused():
    with pytest.raises(ValueError, match="penalty = -1"):
        RidgeFilter(-1.0)
    with pytest.raises(ValueError, match="Gauss-Newton"):
        filtered_minimiser(np.diag([-1.0, 2.0]), np.ones(2), RidgeFilter(1.0))
    with pytest.raises(ValueError, match="give 'weights' or 'predictions'"):
        filter_risk(RidgeFilter(1.0), np.ones(2), np.ones(2), 1.0, 5, of="both")
    assert not DescentFilter(2.0, 3).is_stable(np.array([1.0]))
