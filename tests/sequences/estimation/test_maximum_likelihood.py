import jax
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from leadline.sequences import diffuse_start, linear_gaussian, maximise_likelihood, simulate

# Yearly flow of the Nile at Aswan from 1871 on, in 10⁸ m³ (Cobb 1978).
NILE = """
1120 1160  963 1210 1160 1160  813 1230 1370 1140  995  935 1110  994 1020  960 1180  799  958 1140
1100 1210 1150 1250 1260 1220 1030 1100  774  840  874  694  940  833  701  916  692 1020 1050  969
 831  726  456  824  702 1120 1100  832  764  821  768  845  864  862  698  845  744  796 1040  759
 781  865  845  944  984  897  822 1010  771  676  649  846  812  742  801 1040  860  874  848  890
 744  749  838 1050  918  986  797  923  975  815 1020  906  901 1170  912  746  919  718  714  740
"""


def test_the_nile_has_the_variances_of_durbin_and_koopman():
    x = np.array(NILE.split(), float)
    assert (len(x), x.mean()) == (100, 919.35)

    def local_level(p):
        return diffuse_start(1.0, 1.0, p["level"], p["noise"], x[:1])

    found = maximise_likelihood(local_level, {"level": 1000.0, "noise": 10000.0}, x[1:])
    assert abs(found.parameters["noise"] - 15099) < 1
    assert abs(found.parameters["level"] - 1469.1) < 0.2
    # Without knowledge of the level the differences say all: they have variance level + 2 noise, neighbours −noise.
    noise, level = found.parameters["noise"], found.parameters["level"]
    covariance = (level + 2 * noise) * np.eye(99) - noise * (np.eye(99, k=1) + np.eye(99, k=-1))
    exact = multivariate_normal(np.zeros(99), covariance).logpdf(np.diff(x))
    np.testing.assert_allclose(found.log_likelihood, exact, rtol=1e-10)
    assert found.gradient < 1e-3


def test_independent_numbers_have_their_mean_square_as_variance():
    xs = np.array([1.0, -2.0, 0.5, 3.0])
    found = maximise_likelihood(lambda p: linear_gaussian(0.0, 1.0, p["Q"], 0.25), {"Q": 1.0}, xs)
    np.testing.assert_allclose(found.parameters["Q"] + 0.25, np.mean(xs**2), rtol=1e-6)
    np.testing.assert_allclose(found.standard_errors["Q"], np.mean(xs**2) * np.sqrt(2 / 4), rtol=1e-5)


def test_coefficients_and_variances_are_found_together():
    truth = {"a": 0.7, "Q": 0.5}
    xs = simulate(linear_gaussian(0.7, 1.0, 0.5, 0.1), 500, key=jax.random.key(0)).observations[0]
    found = maximise_likelihood(
        lambda p: linear_gaussian(p["a"], 1.0, p["Q"], 0.1), {"a": 0.0, "Q": 1.0}, xs, unbounded=["a"]
    )
    for name, value in truth.items():
        assert abs(found.parameters[name] - value) < 4 * found.standard_errors[name]


def test_bad_starts_are_told_in_a_sentence():
    def build(p):
        return linear_gaussian(0.5, 1.0, p["Q"], 1.0)

    with pytest.raises(ValueError, match="the start Q = 0; give a number above 0"):
        maximise_likelihood(build, {"Q": 0.0}, np.ones(3))
    with pytest.raises(ValueError, match="no start for the unbounded parameter 'a'"):
        maximise_likelihood(build, {"Q": 1.0}, np.ones(3), unbounded=["a"])
