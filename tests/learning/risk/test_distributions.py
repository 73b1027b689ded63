"""Laws of examples: samples agree with the stated moments, quadrature with closed forms."""

import jax
import numpy as np
import pytest
from scipy.stats import norm

from leadline.learning import (
    BinaryDistribution,
    EmpiricalDistribution,
    GaussianClasses,
    RegressionDistribution,
    UniformInputs,
    draw_sample,
    logistic_distribution,
    noise_distribution,
)
from leadline.learning.risk.input_distributions import NormalInputs

KEY = jax.random.key(0)


def test_the_same_key_gives_the_same_sample_and_another_key_another():
    law = RegressionDistribution(lambda x: x[..., 0], NormalInputs(2), noise_distribution("laplace"))
    a, b, c = (draw_sample(law, 10, key=k) for k in (KEY, KEY, jax.random.key(1)))
    assert np.array_equal(a.x, b.x)
    assert np.array_equal(a.y, b.y)
    assert not np.array_equal(a.y, c.y)


@pytest.mark.parametrize("family", ["gaussian", "laplace", "student", "exponential", "gamma", "bimodal"])
def test_regression_samples_have_the_conditional_moments_that_are_stated(family):
    shape = 6.0 if family == "student" else None
    law = RegressionDistribution(
        lambda x: np.sin(x[..., 0]),
        NormalInputs(),
        noise_distribution(family, 0.7, shape),
        lambda x: 1 + x[..., 0] ** 2,
    )
    x, y = draw_sample(law, 100_000, key=KEY)
    z = (y - law.mean(x)) / np.sqrt(law.variance(x))
    assert abs(z.mean()) < 4 / np.sqrt(len(z))
    assert abs((z**2).mean() - 1) < 4 * (z**2).std() / np.sqrt(len(z))


def test_expectations_over_inputs_are_integrals():
    uniform = RegressionDistribution(lambda x: x[..., 0], UniformInputs(1, -1.0, 3.0), noise_distribution("gaussian"))
    assert uniform.expectation(lambda x: x[..., 0] ** 2) == pytest.approx((27 + 1) / 12)
    plane = RegressionDistribution(lambda x: x[..., 0], NormalInputs(2, 0.5), noise_distribution("gaussian"))
    assert plane.expectation(lambda x: x[..., 0] ** 2 * x[..., 1] ** 2) == pytest.approx(1 / 16)
    np.testing.assert_allclose(plane.expectation(lambda x: x), [0.0, 0.0], atol=1e-9)


def test_the_risk_given_x_of_an_absolute_loss_is_that_of_a_folded_normal():
    law = RegressionDistribution(lambda x: x[..., 0], UniformInputs(), noise_distribution("gaussian", 2.0))
    x = np.array([[0.1], [0.9]])
    risk = law.conditional_risk(np.array([0.1, 3.9]), x, lambda c, y: np.abs(c - y))
    folded = 2 * np.sqrt(2 / np.pi) * np.exp(-(3**2) / 8) + 3 * (1 - 2 * norm.cdf(-3 / 2))
    np.testing.assert_allclose(risk, [2 * np.sqrt(2 / np.pi), folded], rtol=1e-8)


def test_a_callable_squared_loss_agrees_with_the_closed_form_for_one_sided_noise():
    law = RegressionDistribution(lambda x: x[..., 0], UniformInputs(), noise_distribution("exponential", 0.3))
    x = np.linspace(0, 1, 5)[:, None]
    prediction = np.array([-1.0, 0.0, 0.4, 0.8, 3.0])
    a = law.conditional_risk(prediction, x, "squared")
    np.testing.assert_allclose(law.conditional_risk(prediction, x, lambda c, y: (c - y) ** 2), a, rtol=1e-8)


def test_posteriors_of_gaussian_classes_follow_bayes_rule():
    law = GaussianClasses(((-1.0, 0.0), (1.0, 0.0), (0.0, 2.0)), (-1, 1, 1), (0.5, 0.25, 0.25), 0.8)
    x = np.random.default_rng(0).normal(size=(6, 2))
    joint = np.array(
        [
            [s * np.exp(-np.sum((p - m) ** 2) / (2 * 0.64)) for m, s in zip(law.means, law.shares, strict=True)]
            for p in x
        ]
    )
    np.testing.assert_allclose(law.posterior(x)[:, 0], joint[:, 0] / joint.sum(1))
    np.testing.assert_allclose(law.density(x), joint.sum(1) / (2 * np.pi * 0.64))
    assert law.expectation(lambda x: np.ones(len(x))) == pytest.approx(1.0)


def test_labels_come_as_often_as_their_posterior_says():
    law = logistic_distribution(np.array([2.0]), -0.5, NormalInputs())
    _, y = draw_sample(law, 100_000, key=KEY)
    share = law.expectation(lambda x: law.posterior(x)[..., 1])
    assert np.mean(y == 1) == pytest.approx(share, abs=4 * 0.5 / np.sqrt(100_000))
    mixture = GaussianClasses(((0.0,), (1.0,)), (0, 3), (0.2, 0.8))
    assert np.mean(draw_sample(mixture, 100_000, key=KEY).y == 3) == pytest.approx(0.8, abs=4 * 0.4 / 316)


def test_real_data_are_a_law_whose_rows_come_with_replacement():
    law = EmpiricalDistribution(np.arange(3.0)[:, None], np.array([1.0, 2.0, 3.0]))
    sample = draw_sample(law, 50, repeats=2, key=KEY)
    assert sample.x.shape == (2, 50, 1)
    assert np.array_equal(sample.y, sample.x[..., 0] + 1)
    with pytest.raises(ValueError, match="own rows"):
        law.conditional_risk(np.zeros(2), np.zeros((2, 1)), "squared")


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="shares"):
        GaussianClasses(((0.0,), (1.0,)), (0, 1), (0.5, 0.6))
    with pytest.raises(ValueError, match="at least one"):
        draw_sample(BinaryDistribution(UniformInputs(), lambda x: x[..., 0]), 0, key=KEY)
    with pytest.raises(ValueError, match="dimension"):
        logistic_distribution(np.ones(2), 0.0, UniformInputs(3))
    with pytest.raises(ValueError, match="no noise"):
        noise_distribution("pink")
    with pytest.raises(ValueError, match="no loss"):
        RegressionDistribution(lambda x: x[..., 0], UniformInputs(), noise_distribution("gaussian")).conditional_risk(
            np.zeros(1), np.zeros((1, 1)), "zero-one"
        )
