import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from leadline import networks


def test_gelu_is_z_times_the_normal_distribution_function():
    z = np.linspace(-12, 12, 1001)
    np.testing.assert_allclose(networks.gelu(jnp.asarray(z)), z * norm.cdf(z), rtol=1e-11, atol=0)


def test_gelu_reference_values():
    found = networks.gelu(jnp.array([1.0, -1.0]))
    np.testing.assert_allclose(found, [0.84134, -0.15866], atol=5e-6)
    lowest = minimize_scalar(lambda t: float(networks.gelu(jnp.asarray(t))), bounds=(-2, 0), options={"xatol": 1e-10})
    assert lowest.fun == pytest.approx(-0.169971, abs=5e-7)
    assert lowest.x == pytest.approx(-0.751792, abs=1e-6)


def test_the_tanh_form_is_off_by_473_millionths_at_most():
    z = jnp.linspace(-6, 6, 120001)
    assert float(jnp.abs(networks.gelu(z) - networks.gelu_tanh(z)).max()) == pytest.approx(4.73e-4, abs=5e-7)
    np.testing.assert_allclose(networks.gelu_tanh(z), jax.nn.gelu(z, approximate=True), atol=1e-14)


def test_gelu_derivative_equals_autodiff_and_the_normal_law():
    z = jnp.linspace(-8, 8, 321)
    np.testing.assert_allclose(networks.gelu_derivative(z), jax.vmap(jax.grad(networks.gelu))(z), atol=1e-14)
    np.testing.assert_allclose(networks.gelu_derivative(z), norm.cdf(z) + z * norm.pdf(z), atol=1e-14)


@pytest.mark.parametrize("name", sorted(networks.ACTIVATIONS))
def test_every_activation_keeps_shape_and_dtype(name):
    phi = networks.activation(name)
    for dtype in (jnp.float32, jnp.float64):
        out = phi(jnp.ones((2, 3), dtype))
        assert out.shape == (2, 3)
        assert out.dtype == dtype


def test_an_unknown_activation_is_named_in_the_error():
    with pytest.raises(ValueError, match=r"'gellu'.*gelu"):
        networks.activation("gellu")


def test_preimage_finds_all_roots_of_sine():
    found = networks.preimage(jnp.sin, 0.5, low=-7.0, high=7.0)
    every = np.add.outer([np.pi / 6, 5 * np.pi / 6], 2 * np.pi * np.arange(-2, 2)).ravel()
    exact = np.sort(every[np.abs(every) <= 7])
    np.testing.assert_allclose(found[:, 0], exact, atol=1e-10)
    np.testing.assert_array_equal(found[:, 0], found[:, 1])


def test_preimage_of_zero_under_relu_is_a_half_line():
    np.testing.assert_array_equal(networks.preimage(jax.nn.relu, 0.0), [[-10.0, 0.0]])


def test_preimage_of_gelu_has_two_points_between_its_minimum_and_zero():
    assert len(networks.preimage(networks.gelu, -0.1)) == 2
    assert len(networks.preimage(networks.gelu, 0.1)) == 1
    assert len(networks.preimage(networks.gelu, -0.2)) == 0


def test_preimage_copes_with_rounding_that_differs_between_one_number_and_an_array():
    def ramp(t):
        return t + jnp.where(jnp.ndim(t) == 0, 1e-17, -1e-17)  # the root at 0.9 is a grid point

    found = networks.preimage(ramp, 0.9)
    np.testing.assert_allclose(found, [[0.9, 0.9]], atol=1e-12)
    one_sided = networks.preimage(lambda t: jnp.where(jnp.ndim(t) == 0, jnp.abs(t - 0.5) + 1e-17, t - 0.5 - 1e-13), 0.0)
    np.testing.assert_allclose(one_sided, [[0.5, 0.5]], atol=1e-12)


def test_an_empty_interval_is_refused():
    with pytest.raises(ValueError, match="empty"):
        networks.preimage(jnp.tanh, 0.0, low=1.0, high=-1.0)
