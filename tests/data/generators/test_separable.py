import jax
import numpy as np
import pytest
from scipy import stats

from leadline import data


@pytest.mark.parametrize(
    ("dim", "margin"),
    [
        (2, 0.3),
        (20, 0.05),
        *(pytest.param(*c, marks=pytest.mark.slow) for c in [(1, 0.0), (1, 0.9), (2, 0.8), (20, 0.4)]),
    ],
)
def test_heights_and_radii_follow_the_uniform_law_of_the_cut_ball(dim, margin):
    x, y, u = (np.asarray(part) for part in data.separable_ball(4000, dim, margin, key=jax.random.key(dim)))
    heights = y * (x @ u)
    squared = stats.beta(0.5, (dim + 1) / 2)  # the square of one coordinate of a uniform point of the ball

    def law(s):
        return 1 - squared.sf(np.clip(s**2, margin**2, 1)) / squared.sf(margin**2)

    assert stats.kstest(heights, law).pvalue > 1e-4
    if dim > 1:
        rest = np.linalg.norm(x - np.outer(x @ u, u), axis=1) / np.sqrt(1 - heights**2)
        assert stats.kstest(rest, lambda r: r ** (dim - 1)).pvalue > 1e-4


@pytest.mark.parametrize(("samples", "dim", "margin"), [(1, 1, 0.5), (50, 10_000, 0.9), (3000, 3, 0.005)])
def test_points_lie_in_the_ball_outside_the_margin(samples, dim, margin):
    x, y, u = data.separable_ball(samples, dim, margin, key=jax.random.key(1))
    assert x.shape == (samples, dim)
    assert np.linalg.norm(u) == pytest.approx(1)
    assert np.max(np.linalg.norm(x, axis=1)) <= 1 + 1e-12
    assert np.min(y * (x @ u)) >= margin - 1e-12
    assert set(np.unique(y)) <= {-1.0, 1.0}


def test_rejection_sampling_of_the_ball_gives_the_same_distribution():
    x, _y, u = (np.asarray(part) for part in data.separable_ball(3000, 3, 0.3, key=jax.random.key(2)))
    candidates = np.random.default_rng(0).uniform(-1, 1, (60_000, 3))
    inside = candidates[(np.linalg.norm(candidates, axis=1) <= 1) & (np.abs(candidates[:, 0]) >= 0.3)]
    assert stats.ks_2samp(np.linalg.norm(x, axis=1), np.linalg.norm(inside, axis=1)).pvalue > 1e-3
    assert stats.ks_2samp(np.abs(x @ u), np.abs(inside[:, 0])).pvalue > 1e-3


@pytest.mark.parametrize(
    ("samples", "dim", "margin"), [(0, 2, 0.1), (5, 0, 0.1), (5, 2, 1.0), (5, 2, -0.1), (5, 2, float("nan"))]
)
def test_impossible_requests_are_refused(samples, dim, margin):
    with pytest.raises(ValueError, match="separable_ball got"):
        data.separable_ball(samples, dim, margin, key=jax.random.key(0))
