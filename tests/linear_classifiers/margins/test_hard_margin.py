import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import LinearConstraint, minimize
from sklearn.svm import SVC

from leadline import data
from leadline.linear_classifiers import margins, perceptrons


def _clouds(n, d, gap, seed):
    """Two clouds away from the origin, pushed apart along a random direction."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d)
    w /= np.linalg.norm(w)
    x = rng.normal(size=(n, d)) + 3.0
    y = np.where(x @ w > np.median(x @ w), 1.0, -1.0)
    return x + gap * y[:, None] * w, y


def _violation(best, x, y, bias):
    """The optimality conditions, written out independently of the solver."""
    w, b, a = best.weights, best.bias, best.multipliers
    scores = y * (x @ w + b)
    worst = [
        (1 - scores).max(),
        np.abs(a * (scores - 1)).max() / a.max(),
        np.linalg.norm(w - (a * y) @ x) / np.linalg.norm(w),
        -a.min(),
    ]
    return max([*worst, abs(a @ y) / a.sum()] if bias else worst)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("n", "d", "gap"), [(6, 2, 1.0), (200, 5, 0.1), (400, 64, 1e-3), (30, 200, 0.1), (2, 3, 1.0)])
def test_the_optimality_conditions_hold_and_prove_the_optimum(n, d, gap, bias):
    x, y = _clouds(n, d, gap, seed=1)
    if not bias:
        x = np.column_stack([x, np.ones(n)])  # separable through the origin
    best = margins.max_margin(x, y, bias=bias)
    assert _violation(best, x, y, bias) < 1e-6
    assert best.residual < 1e-9
    assert best.margin == pytest.approx((y * (x @ best.weights + best.bias)).min() / np.linalg.norm(best.weights))


@given(seed=st.integers(0, 10_000), d=st.integers(1, 8))
@settings(max_examples=30, deadline=None)
def test_two_points_have_half_their_distance_as_margin(seed, d):
    x = np.random.default_rng(seed).normal(size=(2, d)) * 10.0 ** (seed % 13 - 6)
    best = margins.max_margin(x, np.array([1.0, -1.0]))
    np.testing.assert_allclose(best.margin, np.linalg.norm(x[0] - x[1]) / 2, rtol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 20, 300])
def test_basis_vectors_have_homogeneous_margin_one_over_root_n(n):
    best = margins.max_margin(np.eye(n), np.ones(n), bias=False)
    np.testing.assert_allclose(best.margin, n**-0.5, rtol=1e-12)
    assert best.support.all()
    assert best.bias == 0


@pytest.mark.parametrize("bias", [False, True])
def test_the_solution_agrees_with_slsqp_on_a_small_problem(bias):
    x, y = _clouds(12, 3, 0.5, seed=4)
    if not bias:
        x = np.column_stack([x, np.ones(12)])
    d = x.shape[1]
    rows = y[:, None] * (np.column_stack([x, np.ones(12)]) if bias else x)
    start = np.linalg.lstsq(rows, np.ones(12))[0] * 10
    reference = minimize(
        lambda z: (z[:d] ** 2).sum() / 2,
        start,
        jac=lambda z: np.concatenate([z[:d], np.zeros(len(z) - d)]),
        constraints=LinearConstraint(rows, 1.0, np.inf),
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    best = margins.max_margin(x, y, bias=bias)
    np.testing.assert_allclose(best.weights, reference.x[:d], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("n", "d"), [(60, 2), (150, 10)])
def test_the_biased_margin_agrees_with_libsvm(n, d):
    x, y = _clouds(n, d, 0.3, seed=5)
    reference = SVC(C=1e8, kernel="linear", tol=1e-8).fit(x, y)
    best = margins.max_margin(x, y)
    np.testing.assert_allclose(best.margin, 1 / np.linalg.norm(reference.coef_), rtol=1e-5)
    np.testing.assert_allclose(best.bias, reference.intercept_[0], rtol=1e-4)
    assert set(np.flatnonzero(best.support)) <= set(np.flatnonzero(y * (x @ best.weights + best.bias) < 1 + 1e-6))


def test_no_perceptron_has_a_wider_margin():
    x, y, _ = data.separable_ball(100, 6, 0.1, key=jax.random.key(0))
    best = margins.max_margin(x, y, bias=False)
    for seed in range(5):
        run = perceptrons.learn(x, y, order="permuted", key=jax.random.key(seed))
        assert margins.data_margin(run.weights, 0.0, x, y).margin <= best.margin


@pytest.mark.parametrize("thin", [1e-2, 1e-3, 1e-5])
def test_thin_margins_keep_their_digits(thin):
    rng = np.random.default_rng(0)
    u = rng.normal(size=(50, 9))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    rows = np.column_stack([np.full(100, thin), np.vstack([u, -u])])  # the widest direction is the first axis
    turn, _ = np.linalg.qr(rng.normal(size=(10, 10)))
    best = margins.max_margin(1e5 * rows @ turn, np.ones(100), bias=False)
    np.testing.assert_allclose(best.margin, 1e5 * thin, rtol=1e-6)


def test_shifting_and_scaling_the_data_moves_only_the_bias_and_the_scale():
    x, y = _clouds(80, 4, 0.2, seed=7)
    best = margins.max_margin(x, y)
    moved = margins.max_margin(1e-4 * (x + 100.0), y)
    np.testing.assert_allclose(moved.margin, 1e-4 * best.margin, rtol=1e-8)
    np.testing.assert_allclose(moved.weights * 1e-4, best.weights, rtol=1e-6, atol=1e-9)


def test_inseparable_samples_are_named_as_such():
    xor = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="not separable by a hyperplane, so"):
        margins.max_margin(xor, np.array([1, 1, -1, -1]))
    with pytest.raises(ValueError, match="not separable by a hyperplane through the origin"):
        margins.max_margin(np.array([[1.0], [2.0]]), np.array([1, -1]), bias=False)
    with pytest.raises(ValueError, match="through the origin"):
        margins.max_margin(np.zeros((1, 2)), np.array([1]), bias=False)


def test_a_separable_sample_too_thin_to_resolve_is_told_apart_from_an_inseparable_one():
    x = np.array([[1e-13, 1.0], [1e-13, -1.0]])
    with pytest.raises(ValueError, match="thin a margin"):
        margins.max_margin(x, np.ones(2), bias=False)


def test_one_label_only_needs_the_homogeneous_problem():
    with pytest.raises(ValueError, match="use bias=False"):
        margins.max_margin(np.eye(2), np.ones(2))


def test_float32_and_integer_inputs_are_solved_in_double_precision():
    x, y = _clouds(50, 3, 0.5, seed=8)
    single = margins.max_margin(x.astype(np.float32), y.astype(int))
    assert single.weights.dtype == np.float64
    assert single.residual < 1e-9
    np.testing.assert_allclose(single.margin, margins.max_margin(x, y).margin, rtol=1e-4)


def test_large_inseparable_samples_are_refused_without_a_large_linear_programme():
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=(4000, 80)), np.where(rng.random(4000) < 0.5, 1, -1)
    with pytest.raises(ValueError, match="or only by a margin too thin"):
        margins.max_margin(x, y)
