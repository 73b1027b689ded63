"""The quadratic model of a loss and its reach, against closed forms."""

import jax.numpy as jnp
import numpy as np
import pytest

from leadline import landscape


def test_the_model_has_value_slope_and_bend_of_the_loss():
    """Σ c_k cosh(w_k − 1) over a pytree, at w = 0: not a critical point."""
    model = landscape.local_quadratic(
        lambda p, c: jnp.sum(c[:2] * jnp.cosh(p["a"] - 1)) + c[2] * jnp.cosh(p["b"] - 1),
        {"a": jnp.zeros(2), "b": jnp.zeros(())},
        jnp.array([1.0, 2.0, 5.0]),
    )
    c = np.array([1.0, 2.0, 5.0])
    np.testing.assert_allclose(model.value, 8 * np.cosh(1))
    np.testing.assert_allclose(model.gradient, -c * np.sinh(1))
    np.testing.assert_allclose(model.eigenvalues, c * np.cosh(1))
    step = np.array([[0.1, -0.2, 0.3], [0.0, 0.0, 0.1]])
    expected = 8 * np.cosh(1) - step @ (c * np.sinh(1)) + step**2 @ (c * np.cosh(1)) / 2
    np.testing.assert_allclose(model(step), expected)


def test_radii_of_even_flat_and_quadratic_directions():
    """cos has a remainder from the fourth order on; a parabola none; a direction in which nothing happens no error."""
    found = landscape.trust_radii(lambda w: 2 - 2 * jnp.cos(w[0]) + w[1] ** 2 * 3, jnp.zeros(3), tolerance=0.05)
    order = np.argsort(found.model.eigenvalues)
    flat, wave, parabola = found.radii[order]
    assert np.isnan(flat).all()
    assert np.isinf(parabola).all()
    from scipy.optimize import brentq

    exact = brentq(lambda r: 1 - 2 * (1 - np.cos(r)) / r**2 - 0.05, 0.1, 3.0)
    np.testing.assert_allclose(wave, exact, rtol=1e-4)


def test_bad_input():
    with pytest.raises(ValueError, match="must be positive"):
        landscape.trust_radii(lambda w: jnp.sum(w**2), jnp.ones(2), tolerance=0.0)
    with pytest.raises(ValueError, match="at most 3000"):
        landscape.local_quadratic(lambda w: jnp.sum(w**2), jnp.ones(3001))
