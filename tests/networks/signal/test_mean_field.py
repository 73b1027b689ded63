import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

from leadline.networks import (
    ACTIVATIONS,
    correlation_map,
    critical_gain,
    gaussian_expectation,
    gradient_factor,
    length_fixed_point,
    length_map,
)
from leadline.networks.signal.mean_field import limiting_gradient_factor


def test_gaussian_moments_are_exact():
    q = np.array([1e-8, 0.5, 3.0, 1e6])
    for power, moment in {0: 1, 2: 1, 4: 3, 6: 15}.items():
        found = gaussian_expectation(lambda z, k=power: z**k, q)
        np.testing.assert_allclose(found, moment * q ** (power / 2), rtol=1e-11)


@pytest.mark.parametrize("q", [0.3, 400.0])
def test_an_expectation_of_tanh_agrees_with_adaptive_quadrature(q):
    def integrand(z):
        return np.tanh(q**0.5 * z) ** 2 * np.exp(-(z**2) / 2) / (2 * np.pi) ** 0.5

    reference = 2 * (quad(integrand, 0, 1, epsabs=1e-13)[0] + quad(integrand, 1, 12, epsabs=1e-13)[0])
    assert float(gaussian_expectation(lambda z: jnp.tanh(z) ** 2, q)) == pytest.approx(reference, rel=1e-10)


def test_length_maps_of_relu_and_sine_have_their_closed_forms():
    q = np.array([0.1, 1.0, 4.0])
    np.testing.assert_allclose(length_map(q, "relu", 1.3, 0.2), 1.3**2 * q / 2 + 0.04, rtol=1e-12)
    np.testing.assert_allclose(length_map(q, "sin", 1.3), 1.3**2 * (1 - np.exp(-2 * q)) / 2, rtol=1e-8)
    np.testing.assert_allclose(gradient_factor(q, "sin", 1.0), (1 + np.exp(-2 * q)) / 2, rtol=1e-8)


def test_the_fixed_point_is_where_iterating_the_length_map_leads():
    for phi, gain, bias in [("tanh", 1.5, 0.0), ("tanh", 0.8, 0.3), ("sin", 1.2, 0.1), ("relu", 1.0, 0.5)]:
        q = 1.0
        for _ in range(300):
            q = float(length_map(q, phi, gain, bias))
        assert length_fixed_point(phi, gain, bias) == pytest.approx(q, rel=1e-6)


def test_lengths_can_vanish_grow_without_end_or_stay_anywhere():
    assert length_fixed_point("tanh", 0.9) == 0.0
    assert length_fixed_point("relu", 1.5) == np.inf
    assert length_fixed_point("relu", 2**0.5, start=7.0) == pytest.approx(7.0)


@pytest.mark.parametrize(("phi", "gain"), [("identity", 1.0), ("tanh", 1.0), ("sin", 1.0), ("relu", 2**0.5)])
def test_critical_gains_are_the_known_ones(phi, gain):
    assert critical_gain(phi) == pytest.approx(gain, rel=1e-6)


def test_published_slopes_of_tanh_networks():
    slopes = [0.5 * np.log(limiting_gradient_factor("tanh", g)) for g in (1.5, 0.8)]
    np.testing.assert_allclose(slopes, [0.0652, -0.2231], atol=5e-5)


def test_relu_that_decays_has_the_slope_of_relu_and_not_that_of_its_kink():
    assert limiting_gradient_factor("relu", 1.2) == pytest.approx(0.72)


def test_the_correlation_map_of_relu_is_the_arc_cosine_kernel():
    c = np.linspace(-1, 1, 9)
    kernel = (np.sqrt(1 - c**2) + c * (np.pi - np.arccos(c))) / np.pi
    np.testing.assert_allclose(correlation_map(c, 2.5, "relu", 2**0.5), kernel, atol=1e-11)


def test_the_correlation_map_of_sine_has_its_closed_form():
    c, q = np.linspace(-0.9, 0.9, 5), 2.0
    np.testing.assert_allclose(
        correlation_map(c, q, "sin", 1.0), 2 * np.exp(-q) * np.sinh(q * c) / (1 - np.exp(-2 * q)), atol=1e-8
    )


@pytest.mark.parametrize("phi", [a for a in ACTIVATIONS if "heaviside" not in a])
def test_the_maps_work_for_every_activation(phi):
    q = float(length_map(1.0, phi, 1.1, 0.1))
    assert 0 < q < 3
    assert 0 < float(gradient_factor(q, phi, 1.1)) < 3
    assert float(correlation_map(1.0, q, phi, 1.1, 0.1)) == pytest.approx(1.0, abs=1e-9)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="not negative"):
        gaussian_expectation(jnp.tanh, -1.0)
    with pytest.raises(ValueError, match="outside"):
        correlation_map(1.2, 1.0, "tanh", 1.0)
    with pytest.raises(ValueError, match="does not cross 1"):
        critical_gain("tanh", low=0.1, high=0.5)
