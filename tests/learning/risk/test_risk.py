"""Risks: intervals against SciPy, quadrature against closed forms and Monte Carlo, tasks end to end."""

import jax
import numpy as np
import pytest
from scipy import stats

from leadline.learning import (
    EmpiricalDistribution,
    GaussianClasses,
    LearningTask,
    RegressionDistribution,
    UniformInputs,
    affine,
    estimate_risk,
    least_squares,
    logistic_distribution,
    monte_carlo_risk,
    noise_distribution,
    polynomials,
    population_risk,
)
from leadline.learning.risk.input_distributions import NormalInputs
from leadline.learning.risk.risk import expected_fit_risks, risk_distribution

KEY = jax.random.key(0)


def test_the_interval_is_students():
    losses = np.random.default_rng(0).exponential(size=50)
    estimate = estimate_risk(losses, confidence=0.9)
    low, high = stats.t.interval(0.9, 49, losses.mean(), stats.sem(losses))
    assert (estimate.low, estimate.high) == (pytest.approx(low), pytest.approx(high))


def test_the_population_risk_of_a_line_is_an_integral():
    law = RegressionDistribution(lambda x: x[..., 0] ** 2, UniformInputs(), noise_distribution("laplace", 0.5))
    risk = population_risk(lambda x: x[..., 0], law)
    assert risk == pytest.approx(1 / 3 - 2 / 4 + 1 / 5 + 2 * 0.25)
    sampled = monte_carlo_risk(lambda x: x[..., 0], law, 40_000, key=KEY)
    assert abs(sampled.risk - risk) < 4 * sampled.error


def test_real_data_have_their_mean_loss_as_risk():
    x, y = np.arange(4.0)[:, None], np.array([0.0, 1.0, 1.0, 3.0])
    assert population_risk(lambda x: x[..., 0], EmpiricalDistribution(x, y)) == pytest.approx(0.25)
    assert population_risk(lambda x: x[..., 0], EmpiricalDistribution(x, y), loss="zero-one") == pytest.approx(0.25)


def test_the_law_of_the_learned_risk_lies_above_the_bayes_risk():
    law = RegressionDistribution(lambda x: np.cos(3 * x[..., 0]), UniformInputs(), noise_distribution("gaussian", 0.2))
    task = LearningTask(law, polynomials(4))
    risks = risk_distribution(task, 40, 50, key=KEY)
    assert np.all(risks > 0.04)
    one = task.learn(next(task.draw(40, key=KEY)))
    assert risk_distribution(task, 40, 1, key=KEY)[0] == pytest.approx(population_risk(one, law))


def test_a_task_with_its_own_algorithm_and_one_with_labels():
    law = RegressionDistribution(lambda x: x[..., 0], UniformInputs(), noise_distribution("gaussian", 0.1))
    constant = LearningTask(law, affine(), algorithm=lambda features, y: np.array([0.0, y.mean()]))
    (sample,) = constant.draw(10, key=KEY)
    np.testing.assert_allclose(constant.learn(sample)(sample.x), sample.y.mean())
    labels = LearningTask(logistic_distribution(np.array([1.0]), 0.0, NormalInputs()), affine(), loss="logistic")
    (sample,) = labels.draw(5000, key=KEY)
    np.testing.assert_allclose(labels.learn(sample).parameters, [1.0, 0.0], atol=0.15)


def test_expected_risks_of_a_fit_agree_with_a_simulation():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(4000, 12, 4)), 2 * rng.normal(size=(4000, 12))
    fit = least_squares(x, y, intercept=False)
    train, test = ((fit.predict(x) - y) ** 2).mean(1), 4 + (fit.weights**2).sum(1)
    for sample, expected in zip((train, test), expected_fit_risks(12, 4, 2.0), strict=True):
        assert abs(sample.mean() - expected) < 4 * sample.std() / np.sqrt(4000)


def test_the_zero_one_risk_of_gaussian_classes_is_a_normal_tail():
    law = GaussianClasses(((-1.0,), (1.0,)), (0, 1), (0.25, 0.75), 0.5)
    risk = population_risk(lambda x: (x[..., 0] > 0.2) * 1, law, loss="zero-one")
    assert risk == pytest.approx(0.25 * stats.norm.sf(2.4) + 0.75 * stats.norm.cdf(-1.6), abs=1e-8)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="two losses"):
        estimate_risk(np.array([1.0]))
    with pytest.raises(ValueError, match="between 0 and 1"):
        estimate_risk(np.array([1.0, 2.0]), confidence=1.0)
    with pytest.raises(ValueError, match="n > d"):
        expected_fit_risks(5, 4)
