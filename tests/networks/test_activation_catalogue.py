import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit

from leadline import networks
from leadline.networks.activations import sigmoid_derivative, straight_through, tanh_derivative

NAMES = sorted(networks.ACTIVATIONS)
every_activation = pytest.mark.parametrize("name", NAMES)
GRID = np.linspace(-40, 40, 1602)  # without 0, where the kinks are


@every_activation
def test_the_closed_slope_is_that_of_automatic_differentiation_and_of_central_differences(name):
    facts = networks.activation_facts(name)
    slope = np.asarray(facts.derivative(jnp.asarray(GRID)))
    automatic = np.asarray(jax.vmap(jax.grad(facts.function))(jnp.asarray(GRID)))
    np.testing.assert_allclose(slope, automatic, atol=1e-12)
    if name != "straight_through":
        near = GRID[np.abs(GRID) < 5]
        h = 1e-5
        central = (facts.function(jnp.asarray(near + h)) - facts.function(jnp.asarray(near - h))) / (2 * h)
        np.testing.assert_allclose(facts.derivative(jnp.asarray(near)), central, atol=1e-8)


@every_activation
def test_the_stated_properties_hold_on_a_grid(name):
    facts = networks.activation_facts(name)
    values = np.asarray(facts.function(jnp.asarray(GRID)))
    steps = np.diff(values)
    assert (np.all(steps >= -1e-15)) == (facts.monotone != "no")
    assert (np.all(np.diff(np.asarray(facts.function(jnp.linspace(-8.0, 8.0, 801)))) > 0)) == (
        facts.monotone == "strictly"
    )
    assert values.min() >= facts.values[0] - 1e-12
    assert values.max() <= facts.values[1]
    assert facts.bounded == (np.abs(values).max() <= 1)
    assert np.allclose(facts.function(jnp.asarray(-GRID)), -values) == facts.odd
    assert np.allclose(facts.function(jnp.asarray(3 * GRID)), 3 * values) == facts.homogeneous
    assert np.abs(steps / np.diff(GRID)).max() <= facts.lipschitz + 1e-12


@pytest.mark.parametrize(("name", "slope", "lowest"), [("swish", 1.0998, -0.27846), ("gelu", 1.1289, -0.16997)])
def test_the_steepest_slope_and_the_lowest_value_are_those_a_search_finds(name, slope, lowest):
    facts = networks.activation_facts(name)
    steepest = minimize_scalar(lambda t: -float(facts.derivative(jnp.asarray(t))), bounds=(0, 5), method="bounded")
    least = minimize_scalar(lambda t: float(facts.function(jnp.asarray(t))), bounds=(-3, 0), method="bounded")
    assert -steepest.fun == pytest.approx(facts.lipschitz, abs=1e-10)
    assert least.fun == pytest.approx(facts.values[0], abs=1e-10)
    assert facts.lipschitz == pytest.approx(slope, abs=5e-5)
    assert facts.values[0] == pytest.approx(lowest, abs=5e-6)


def test_sigmoidal_members_have_limits_0_and_1():
    assert [n for n in NAMES if networks.activation_facts(n).sigmoidal] == [
        "heaviside",
        "heaviside_closed",
        "sigmoid",
        "straight_through",
    ]
    assert math.isnan(networks.activation_facts("sin").limits[0])


def test_kinks_have_the_conventional_slope():
    zero = jnp.asarray(0.0)
    slopes = {n: float(networks.activation_facts(n).derivative(zero)) for n in ("relu", "leaky_relu", "absolute")}
    automatic = {n: float(jax.grad(networks.activation(n))(zero)) for n in slopes}
    assert slopes == automatic == {"relu": 0.0, "leaky_relu": 0.01, "absolute": 0.0}


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="'swoosh'"):
        networks.activation_facts("swoosh")


@every_activation
def test_nothing_overflows_at_ten_thousand(name):
    facts = networks.activation_facts(name)
    for dtype in (jnp.float32, jnp.float64):
        far = jnp.array([-1e4, 1e4], dtype)
        assert np.isfinite(facts.function(far)).all()
        assert np.isfinite(facts.derivative(far)).all()
        assert facts.derivative(far).dtype == dtype


def test_slopes_of_sigmoid_and_tanh_keep_their_digits_far_out():
    z = np.linspace(-340, 340, 681)
    small = np.exp(-np.abs(z).astype(np.longdouble))
    np.testing.assert_allclose(sigmoid_derivative(jnp.asarray(z)), (small / (1 + small) ** 2).astype(float), rtol=1e-14)
    np.testing.assert_allclose(
        tanh_derivative(jnp.asarray(z)), (4 * small**2 / (1 + small**2) ** 2).astype(float), rtol=1e-14
    )


def test_inverse_sigmoid_undoes_the_sigmoid():
    z = np.linspace(-30, 10, 41)
    np.testing.assert_allclose(networks.inverse_sigmoid(expit(z)), z, atol=1e-11)
    assert float(networks.inverse_sigmoid(expit(40.0))) == math.inf
    assert float(networks.inverse_sigmoid(expit(40.0), expit(-40.0))) == 40.0


def test_straight_through_is_a_step_with_a_slope():
    z = jnp.array([-3.0, -0.5, 0.0, 0.5, 3.0])
    np.testing.assert_array_equal(straight_through(z), [0, 0, 0, 1, 1])
    np.testing.assert_array_equal(jax.vmap(jax.grad(straight_through))(z), [0, 1, 1, 1, 0])
    wide = jax.vmap(jax.grad(lambda t: straight_through(t, float("inf"))))(z)
    np.testing.assert_array_equal(wide, np.ones(5))
