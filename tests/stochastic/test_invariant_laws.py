"""Oracle problems, ensembles, path information, Kesten tails and Bernoulli convolutions against closed forms."""

import jax
import numpy as np
import pytest
from scipy import stats

from leadline import stochastic
from leadline.stochastic.moments.bernoulli_convolution import BernoulliConvolution
from leadline.stochastic.moments.kesten import kesten_chain, kesten_tail_index
from leadline.stochastic.noise.path_information import conditional_information

KEY = jax.random.key(0)


def test_the_newsvendor_orders_a_quantile():
    problem = stochastic.Newsvendor(4.0, 1.2, stats.expon(scale=2.0))
    assert problem.optimum[0] == pytest.approx(2 * np.log(1 / 0.3))
    sample = np.array([[[3.0], [1.0], [4.0], [2.0]]])
    assert problem.average_answer(sample)[0, 0] == 3.0  # the third of four at level 0.7
    orders = np.linspace(0, 5, 501)
    cost = 1.2 * orders - 4 * np.minimum(orders[:, None], sample[0, :, 0]).mean(1)
    assert orders[np.argmin(cost)] == pytest.approx(3.0)
    assert problem.gradient(np.array([1.0]), np.array([2.0])) == -2.8
    with pytest.raises(ValueError, match="0 < cost < price"):
        stochastic.Newsvendor(1.0, 2.0, stats.expon())


def test_projection_on_mixtures_is_the_nearest_one():
    grid = stochastic.NoisyShortestPath(3, key=KEY)
    rng = np.random.default_rng(0)
    w = rng.normal(size=(5, 6))
    projected = grid.project(w)
    assert np.allclose(projected.sum(1), 1)
    assert projected.min() >= 0
    others = rng.dirichlet(np.ones(6), 500)
    nearest = np.sum((w - projected) ** 2, 1)
    assert np.all(nearest[:, None] <= np.sum((w[:, None] - others) ** 2, 2) + 1e-12)
    assert grid.costs @ grid.optimum == grid.costs.min()
    assert np.all(grid.incidence.sum(1) == 4)
    with pytest.raises(ValueError, match="side"):
        stochastic.NoisyShortestPath(9, key=KEY)


def test_bands_are_student_intervals():
    values = np.random.default_rng(0).normal(size=(20, 3))
    band = stochastic.ensemble_band(values, confidence=0.9)
    low, high = stats.t.interval(0.9, 19, values.mean(0), stats.sem(values))
    assert np.allclose(band.low, low)
    assert np.allclose(band.high, high)
    assert np.allclose(band.quantiles[1], np.median(values, axis=0))
    with pytest.raises(ValueError, match="at least 2"):
        stochastic.ensemble_band(values[:1])


def test_information_is_zero_for_a_chain_and_log_2_for_a_copy():
    rng = np.random.default_rng(0)
    paths = np.array(np.meshgrid(*[[0.0, 1.0]] * 3)).reshape(3, -1)
    first, last = rng.dirichlet(np.ones(4)).reshape(2, 2), rng.dirichlet(np.ones(2), 2)
    a, b, c = paths.astype(int)
    chain = first[a, b] * last[b, c]
    assert conditional_information(*paths, chain) == pytest.approx(0.0, abs=1e-12)
    copy = np.where(a == c, 0.25, 0.0)
    assert conditional_information(*paths, copy) == pytest.approx(np.log(2))
    with pytest.raises(ValueError, match="sum"):
        conditional_information(*paths, chain / 2)


def test_tail_indices_solve_their_equation():
    assert kesten_tail_index(0.5) == pytest.approx(2.9040, abs=5e-5)
    for b in (1, 3):
        assert kesten_tail_index(2 * b / (b + 2), b) == pytest.approx(2.0, abs=1e-8)
    x = np.random.default_rng(0).normal(size=400_000)
    sample = np.abs(1 - 0.8 * x**2) ** 1.5
    assert abs(stochastic.kesten_moment(1.5, 0.8) - sample.mean()) < 4 * sample.std() / np.sqrt(x.size)
    with pytest.raises(ValueError, match="no stationary law"):
        kesten_tail_index(50.0)
    with pytest.raises(ValueError, match="η > 0"):
        kesten_tail_index(-1.0)


def test_hill_finds_a_pareto_index():
    sample = np.random.default_rng(0).pareto(1.7, 200_000) + 1
    assert stochastic.hill_estimate(sample, 5000) == pytest.approx(1.7, abs=4 * 1.7 / np.sqrt(5000))
    with pytest.raises(ValueError, match="top"):
        stochastic.hill_estimate(sample, 0)


def test_the_chain_has_the_variance_of_its_recursion():
    path = kesten_chain(0.2, 2, 20000, 1, burn_in=60, key=KEY)[0]
    # Var = η²/b / (2η − η²(b + 2)/b): E(1 − (η/b)Σx²)² = 1 − 2η + η²(b + 2)/b
    variance = 0.04 / 2 / (0.4 - 0.04 * 2)
    assert abs(np.mean(path**2) - variance) < 5 * np.std(path**2) / np.sqrt(20000)


def test_bernoulli_convolutions_at_the_known_steps():
    assert BernoulliConvolution(2 / 3).kurtosis == pytest.approx(1.4)
    assert BernoulliConvolution(2 / 3).dimension == pytest.approx(np.log(2) / np.log(3))
    grid, values = BernoulliConvolution(2 / 3).cdf(3001)
    inside = np.abs(grid) < 1 / 3
    assert np.allclose(values[inside], 0.5, atol=1e-6)  # the Cantor function is flat in the middle
    law = BernoulliConvolution(0.3, 3)
    drawn = law.sample(40000, key=KEY)
    assert abs(drawn.var() - law.variance) < 5 * np.std(drawn**2) / 200
    with pytest.raises(ValueError, match="0 < η < 1"):
        BernoulliConvolution(1.5)
