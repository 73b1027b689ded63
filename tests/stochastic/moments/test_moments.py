"""Exact moments against enumeration of all index sequences."""

from itertools import product

import numpy as np
import pytest

from leadline import stochastic
from leadline.stochastic.moments.batch_rules import noise_share

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(4, 2)), RNG.normal(size=4)


def enumerated(start, etas, batches):
    """Mean and second moment of v after the steps, over every choice of batches (equally likely)."""
    best = np.linalg.lstsq(X, Y, rcond=None)[0]
    ends = []
    for choice in product(batches, repeat=len(etas)):
        w = np.array(start)
        for eta, rows in zip(etas, choice, strict=True):
            picked = list(rows)
            w = w - eta * (X[picked].T @ (X[picked] @ w - Y[picked])) / len(picked)
        ends.append(w - best)
    ends = np.array(ends)
    return ends.mean(0), ends.T @ ends / len(ends)


@pytest.mark.parametrize("etas", [(0.1, 0.1, 0.1), (0.3, 0.1, 0.05)])
def test_path_equals_enumeration_with_replacement(etas):
    moments = stochastic.LeastSquaresMoments(X, Y)
    path = moments.path(np.array([1.0, -1.0]), np.array(etas), 2)
    mean, second = enumerated([1.0, -1.0], etas, list(product(range(4), repeat=2)))
    assert np.allclose(path.means[-1], mean, atol=1e-12)
    assert np.allclose(path.seconds[-1], second, atol=1e-12)
    assert path.distances[-1] == pytest.approx(np.trace(second))
    assert path.gaps[-1] == pytest.approx(np.trace(moments.hessian @ second) / 2)


def test_path_equals_enumeration_without_replacement():
    moments = stochastic.LeastSquaresMoments(X, Y)
    path = moments.path(np.array([1.0, -1.0]), np.array([0.2, 0.1]), 2, replacement=False)
    batches = [(i, j) for i in range(4) for j in range(i)]
    assert np.allclose(path.seconds[-1], enumerated([1.0, -1.0], [0.2, 0.1], batches)[1], atol=1e-12)


def test_the_matrix_route_equals_the_direct_steps():
    x, y = RNG.normal(size=(20, 5)), RNG.normal(size=20)
    moments = stochastic.LeastSquaresMoments(x, y)
    mean, second = (
        np.ones(5) - moments.minimiser,
        np.outer(np.ones(5) - moments.minimiser, np.ones(5) - moments.minimiser),
    )
    for _ in range(10):
        mean, second = moments.step(mean, second, 0.05, 3)
    path = moments.path(np.ones(5), np.full(10, 0.05), 3)
    assert np.allclose(path.seconds[-1], second, atol=1e-12)
    wide = stochastic.LeastSquaresMoments(RNG.normal(size=(40, 13)), RNG.normal(size=40))  # beyond the matrices
    assert wide.path(np.zeros(13), np.full(3, 0.01)).means.shape == (4, 13)


def test_stationary_is_the_limit_and_the_largest_step_is_sharp():
    moments = stochastic.LeastSquaresMoments(X, Y)
    limit = moments.largest_step()
    far = moments.path(np.zeros(2), np.full(20000, 0.5 * limit)).seconds[-1]
    assert np.allclose(moments.stationary(0.5 * limit), far, rtol=1e-8)
    assert moments.contraction(0.999 * limit) < 1 < moments.contraction(1.001 * limit)


def test_one_dimension_has_the_closed_form_of_the_step():
    x = np.array([0.6, 0.8, 1.0, 1.2, 0.5, 1.1])
    moments = stochastic.LeastSquaresMoments(x, np.ones(6))
    h, fourth = np.mean(x**2), np.mean(x**4)
    for b in (1, 3):
        assert moments.largest_step(b) == pytest.approx(2 * h / (h**2 + (fourth - h**2) / b))
    assert moments.largest_step(np.inf) == pytest.approx(2 / h)


def test_bad_input_is_refused():
    moments = stochastic.LeastSquaresMoments(X, Y)
    with pytest.raises(ValueError, match="no finite stationary variance"):
        moments.stationary(10.0)
    with pytest.raises(ValueError, match="batch"):
        noise_share(moments.samples, 5, replacement=False)
    with pytest.raises(ValueError, match="finite numbers"):
        stochastic.LeastSquaresMoments(X, np.full(4, np.nan))
    with pytest.raises(ValueError, match="singular"):
        stochastic.LeastSquaresMoments(np.ones((4, 2)), Y).largest_step()
