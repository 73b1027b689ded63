"""Regimes of training, descent in closed form, and distances from infinite width, against small exact cases."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import tangent

KEY = jax.random.key(0)


def test_a_regime_is_judged_by_kernel_and_function_and_the_share_counts_resamples():
    rows, K = np.ones(60), np.eye(60)
    assert tangent.judge_regime(0.0 * rows, rows, (K, K), key=KEY).verdict == "lazy"
    assert tangent.judge_regime(0.04 * rows, rows, (K, K), key=KEY).verdict == "between"  # 0.2 of the way
    found = tangent.judge_regime(0.04 * rows, rows, (K, 1.6 * K), key=KEY)
    assert (found.verdict, found.share) == ("feature learning", 1.0)
    np.testing.assert_allclose([found.drift, found.error], [0.6, 0.2])
    half = np.where(np.arange(60) < 30, 0.0, 0.0202)  # √0.0101, just above 0.1: resamples fall on both sides
    found = tangent.judge_regime(half, rows, key=KEY)
    assert found.verdict == "between"
    assert 0.3 < found.share < 0.8
    assert found.error_interval[0] < 0.1 < found.error_interval[1]


def test_a_run_that_diverged_is_no_lazy_one_and_nonsense_is_refused():
    apart = np.array([0.0, np.inf, 0.0])
    found = tangent.judge_regime(apart, np.ones(3), key=KEY)
    assert found.verdict == "feature learning"
    assert found.error == np.inf
    with pytest.raises(ValueError, match="some of which moved"):
        tangent.judge_regime(np.ones(3), np.zeros(3), key=KEY)


def test_descent_of_a_linear_model_is_that_of_its_kernel_and_a_nonlinear_one_departs():
    rng = np.random.default_rng(0)
    x, y, start = rng.normal(size=(7, 3)), rng.normal(size=(7, 2)), rng.normal(size=(3, 2))
    K = np.kron(x @ x.T, np.eye(2))
    curves = tangent.descent_three_ways(lambda w, x: x @ w, jnp.asarray(start), x, y, K, num_steps=30, records=3)
    w = start.copy()
    for _ in range(20):
        w -= curves.step * x.T @ (x @ w - y)
    for curve in (curves.predicted, curves.linearised, curves.network):
        np.testing.assert_allclose(curve[2], x @ w, rtol=1e-9)
    assert curves.rounding_error() < 1e-12
    np.testing.assert_allclose(curves.eigenvalues[0] * curves.step, 1.0)
    with pytest.raises(ValueError, match="targets \\(n, k\\)"):
        tangent.descent_three_ways(lambda w, x: x @ w, jnp.asarray(start), x, y, K[:7, :7])
    with pytest.raises(ValueError, match="at least one step"):
        tangent.descent_three_ways(lambda w, x: x @ w, jnp.asarray(start), x, y, K, num_steps=1)


def test_shuffled_copies_bracket_the_distance_from_infinite_width():
    rng = np.random.default_rng(1)
    width, x = 400, rng.normal(size=(5, 3))
    params = jnp.asarray(rng.normal(size=width))  # a kernel of one random feature per unit: Σ xᵢ·xⱼ cos²-like weights

    def f(w, x):
        return jnp.sum(w**2) / (2 * width**0.5) * x[:, :1]

    wide = np.outer(x[:, 0], x[:, 0])  # Σ w²/m → 1
    found = tangent.distance_to_wide(f, params, x, wide, key=KEY, copies=5)
    np.testing.assert_allclose(found.distance, abs(np.mean(np.asarray(params) ** 2) - 1), rtol=1e-6)
    np.testing.assert_allclose(found.copies, found.distance, rtol=1e-6)  # shuffling keeps Σ w²
    assert found.limit >= found.distance * (1 - 1e-9)
    with pytest.raises(ValueError, match="at least 3"):
        tangent.distance_to_wide(f, params, x, wide, key=KEY, copies=1)
    with pytest.raises(ValueError, match="limit kernel"):
        tangent.distance_to_wide(f, params, x, 0 * wide, key=KEY)
