"""Bayes risk: quadrature against closed forms, the predictors that attain it, nearest neighbours by hand."""

import numpy as np
import pytest
from scipy.stats import norm

from leadline.learning import (
    BinaryDistribution,
    GaussianClasses,
    RegressionDistribution,
    UniformInputs,
    bayes_predictor,
    bayes_risk,
    noise_distribution,
    population_risk,
)
from leadline.learning.risk.bayes_risk import nearest_neighbours_mean
from leadline.learning.risk.input_distributions import NormalInputs


@pytest.mark.parametrize("mu", [0.0, 0.5, 3.0])
def test_two_gaussians_have_the_normal_tail(mu):
    law = GaussianClasses(((-mu,), (mu,)), (-1, 1))
    assert bayes_risk(law, loss="zero-one") == pytest.approx(norm.cdf(-mu), abs=1e-8)


def test_three_classes_on_a_line_are_told_apart_at_the_midpoints():
    law = GaussianClasses(((-2.0,), (0.0,), (2.0,)), (0, 1, 2))
    tail = norm.cdf(-1.0)
    assert bayes_risk(law, loss="zero-one") == pytest.approx(4 * tail / 3, abs=1e-8)
    rule = bayes_predictor(law, loss="zero-one")
    assert rule(np.array([[-1.1], [-0.9], [5.0]])).tolist() == [0, 1, 2]


def test_squared_loss_has_the_mean_conditional_variance_as_floor():
    law = RegressionDistribution(
        lambda x: x[..., 0], NormalInputs(), noise_distribution("laplace", 1.0), lambda x: np.abs(x[..., 0])
    )
    assert bayes_risk(law, loss="squared") == pytest.approx(2.0, abs=1e-7)
    labels = BinaryDistribution(UniformInputs(), lambda x: x[..., 0])
    assert bayes_risk(labels, loss="squared") == pytest.approx(1 - 1 / 3)
    assert bayes_risk(labels, loss="zero-one") == pytest.approx(1 / 4)


def test_the_bayes_predictor_has_the_bayes_risk():
    law = RegressionDistribution(lambda x: np.sin(x[..., 0]), UniformInputs(), noise_distribution("exponential", 0.4))
    best = bayes_predictor(law, loss="squared")
    np.testing.assert_allclose(best(np.array([[0.5]])), np.sin(0.5) + 0.4)
    assert population_risk(best, law) == pytest.approx(bayes_risk(law, loss="squared"))


def test_nearest_neighbours_in_the_plane_are_those_of_a_full_sort():
    rng = np.random.default_rng(0)
    x, y, at = rng.normal(size=(40, 2)), rng.normal(size=40), rng.normal(size=(5, 2))
    order = np.argsort(((at[:, None] - x) ** 2).sum(-1), axis=1)[:, :7]
    np.testing.assert_allclose(nearest_neighbours_mean(x, y, 7)(at), y[order].mean(1))
    np.testing.assert_allclose(nearest_neighbours_mean(x, y, 1)(x), y)


def test_bad_input_is_refused():
    law = RegressionDistribution(lambda x: x[..., 0], UniformInputs(), noise_distribution("gaussian"))
    with pytest.raises(ValueError, match="zero-one"):
        bayes_risk(law, loss="zero-one")
    with pytest.raises(ValueError, match="zero-one"):
        bayes_predictor(law, loss="zero-one")
    with pytest.raises(ValueError, match="choose 1 to"):
        nearest_neighbours_mean(np.zeros((2, 1)), np.zeros(2), 3)
