"""Activation functions recognised by their values, and their largest slopes."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.networks.dissection.elementwise import known_functions, scalar_function


@pytest.mark.parametrize(
    ("function", "name", "lipschitz"),
    [
        (lambda z: jnp.maximum(z, 0), "relu", 1.0),
        (lambda z: 3 * jnp.tanh(z), "tanh", 3.0),
        (jax.nn.gelu, "gelu_tanh", 1.1289930686587718),
        (jax.nn.silu, "swish", 1.0998393201288669),
        (lambda z: jax.nn.leaky_relu(z, 0.3), "leaky_relu", 1.0),
        (jnp.square, "square", math.inf),
    ],
    ids=["relu", "tanh", "gelu", "silu", "leaky", "square"],
)
def test_known_functions_are_recognised(function, name, lipschitz):
    found = scalar_function(function)
    assert found.name == name
    assert found.lipschitz == pytest.approx(lipschitz, rel=1e-12)


def test_single_precision_is_recognised_too():
    assert scalar_function(jax.nn.selu, np.float32).name == "selu"


def test_others_get_a_slope_from_above_and_jumps_have_none():
    found = scalar_function(lambda z: jnp.tanh(z) ** 2)
    assert not found.known
    assert not found.certain
    assert 4 / (3 * math.sqrt(3)) <= found.lipschitz < 0.771
    assert scalar_function(lambda z: jnp.floor(z)).lipschitz == math.inf
    assert scalar_function(lambda z: z**3).lipschitz == math.inf
    assert float(found.slope(jnp.asarray(0.0))) == 0.0


def test_no_secant_of_a_known_function_is_steeper_than_its_constant():
    z = np.linspace(-30, 30, 200_001)
    for function, lipschitz in known_functions().values():
        assert np.abs(np.diff(function(z)) / np.diff(z)).max() <= lipschitz * (1 + 1e-9)
