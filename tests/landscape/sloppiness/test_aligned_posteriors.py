"""Aligned posteriors against dense Gaussians; the count of parameters by hand."""

import numpy as np
import pytest

from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.aligned_posteriors import AlignedPosterior, parameter_count_bound


@pytest.fixture
def posterior():
    rng = np.random.default_rng(0)
    spectrum = sloppiness.fisher_spectrum(rng.normal(size=(3, 5)))
    return sloppiness.aligned_posterior(spectrum, rng.normal(size=5), rng.normal(size=5), 0.7, 4.0)


def covariance_of(q):
    a2 = q.prior_deviation**2
    return a2 * np.eye(5) + (q.vectors.T * (q.deviations**2 - a2)) @ q.vectors


def test_kl_is_that_of_dense_gaussians(posterior):
    a2, moved, covariance = 0.49, posterior.mean - posterior.start, covariance_of(posterior)
    dense = 0.5 * (np.trace(covariance) / a2 - 5 - np.linalg.slogdet(covariance / a2)[1] + moved @ moved / a2)
    assert posterior.kl() == pytest.approx(dense, rel=1e-12)
    np.testing.assert_allclose(np.linalg.inv(covariance)[None], (np.eye(5) / a2 + 4.0 * _metric(posterior))[None])


def _metric(q):
    values = (1 / q.deviations**2 - 1 / q.prior_deviation**2) / 4.0
    return (q.vectors.T * values) @ q.vectors


def test_samples_have_the_stated_covariance(posterior):
    root = posterior.sample(np.eye(5)) - posterior.mean
    np.testing.assert_allclose(root.T @ root, covariance_of(posterior), atol=1e-12)


def test_the_deviations_minimise_expected_rise_plus_price():
    spectrum = sloppiness.fisher_spectrum(np.diag([1.0, 0.1]))
    best = sloppiness.aligned_posterior(spectrum, np.zeros(2), np.zeros(2), 1.0, 50.0)

    def price(scale):
        s = best.deviations * scale
        q = AlignedPosterior(np.zeros(2), np.zeros(2), spectrum.vectors, s, 1.0)
        return 25.0 * np.sum(spectrum.eigenvalues * s**2) + q.kl()

    assert price(1.0) < min(price(0.99), price(1.01))


def test_parameter_count_bound_by_hand():
    expected = 0.1 + np.sqrt((8 * 2 * np.log(2) + np.log(20)) / 2000)
    assert parameter_count_bound(0.1, 2, 1000, bits=8) == pytest.approx(expected)


def test_bad_input_is_told_in_a_sentence():
    spectrum = sloppiness.fisher_spectrum(np.eye(2))
    with pytest.raises(ValueError, match="2 parameters"):
        sloppiness.aligned_posterior(spectrum, np.zeros(3), np.zeros(3), 1.0, 1.0)
    with pytest.raises(ValueError, match="a > 0"):
        sloppiness.aligned_posterior(spectrum, np.zeros(2), np.zeros(2), 0.0, 1.0)
    with pytest.raises(ValueError, match="confidence"):
        parameter_count_bound(0.1, 2, 10, confidence=1.0)
