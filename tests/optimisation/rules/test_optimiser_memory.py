"""Bytes of optimiser state, counted by hand."""

import jax
import jax.numpy as jnp
import optax
import pytest

from leadline.optimisation.rules.optimiser_memory import optimiser_memory_of


def test_adam_holds_two_more_numbers_a_parameter_and_one_counter():
    memory = optimiser_memory_of(optax.adam(0.1), {"w": jnp.zeros((3, 4), jnp.float32), "name": "layer"})
    assert memory == (48, 96, 4)
    assert memory.per_parameter == 3


def test_shapes_alone_are_enough():
    shapes = jax.eval_shape(lambda: [jnp.zeros((1000, 1000), jnp.float16), jnp.zeros(7, jnp.float16)])
    memory = optimiser_memory_of(optax.amsgrad(0.1), shapes)
    assert memory.weights == 2 * 1_000_007
    assert memory.per_parameter == 4
    assert optimiser_memory_of(optax.sgd(0.1), shapes).per_parameter == 1


def test_parameters_without_floating_point_numbers_are_refused():
    with pytest.raises(ValueError, match="floating-point"):
        optimiser_memory_of(optax.sgd(0.1), {"n": jnp.zeros(3, int)})
