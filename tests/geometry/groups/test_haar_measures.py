import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import dblquad

from leadline.geometry import affine_integral, circle_mean
from leadline.geometry.groups.haar_measures import affine_product, modular_factor


def bump(a, b):
    return jnp.exp(-(jnp.log(a) ** 2) - (b - 0.5) ** 2)


def test_the_integral_is_scipys():
    def integrand(b, a):
        return np.exp(-(np.log(a) ** 2) - (b - 0.5) ** 2) / a**2

    with jax.enable_x64(True):
        found = float(affine_integral(bump, "left"))
    assert found == pytest.approx(dblquad(integrand, 1e-4, 100, -8, 9)[0], rel=1e-6)


def test_left_measure_is_left_invariant_and_right_translations_scale_it():
    g = (2.0, -0.7)
    with jax.enable_x64(True):
        left = affine_integral(bump)
        moved = affine_integral(lambda a, b: bump(*affine_product(g, (a, b))))
        other = affine_integral(lambda a, b: bump(*affine_product((a, b), g)))
    assert float(moved) == pytest.approx(float(left), rel=1e-9)
    assert float(other) == pytest.approx(float(left) / modular_factor(g), rel=1e-9)


def test_means_over_the_circle_do_not_see_where_it_begins():
    with jax.enable_x64(True):
        means = [circle_mean(lambda t, s=s: jnp.exp(jnp.sin(t + s))) for s in (0.0, 1.0)]
    assert np.allclose(means, np.i0(1.0), atol=1e-13)


def test_an_unknown_side_is_refused():
    with pytest.raises(ValueError, match="left"):
        affine_integral(bump, "both")
