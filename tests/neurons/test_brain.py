import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import as_apply, neurons
from leadline.neurons.brain import BRAIN


def test_a_dense_network_is_counted_as_its_layer_sizes_say():
    mlp = eqx.nn.MLP(10, 3, width_size=7, depth=2, key=jax.random.key(0))
    found = neurons.budget(*as_apply(mlp), jax.random.normal(jax.random.key(1), (5, 10)))
    assert found.units == 7 + 7 + 3
    assert found.weights == 10 * 7 + 7 + 7 * 7 + 7 + 7 * 3 + 3
    assert found.multiply_adds == 10 * 7 + 7 * 7 + 7 * 3
    assert found.fan_in == pytest.approx(140 / 17)
    assert found.events_per_second(100.0) == 14000


def test_silence_is_the_share_of_zero_hidden_activations():
    mlp = eqx.nn.MLP(10, 3, width_size=16, depth=2, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (50, 10))
    first = np.maximum(np.asarray(x) @ np.asarray(mlp.layers[0].weight).T + np.asarray(mlp.layers[0].bias), 0)
    second = np.maximum(first @ np.asarray(mlp.layers[1].weight).T + np.asarray(mlp.layers[1].bias), 0)
    expected = np.mean(np.concatenate([first, second]) == 0)
    assert neurons.budget(*as_apply(mlp), x).silence == pytest.approx(expected, abs=1e-12)


def test_convolutions_reuse_their_weights():
    keys = jax.random.split(jax.random.key(0), 2)
    model = eqx.nn.Sequential(
        [
            eqx.nn.Conv2d(3, 4, kernel_size=3, key=keys[0]),
            eqx.nn.Lambda(jax.nn.relu),
            eqx.nn.Lambda(jnp.ravel),
            eqx.nn.Linear(4 * 6 * 6, 2, key=keys[1]),
        ]
    )
    found = neurons.budget(*as_apply(model), jnp.ones((2, 3, 8, 8)))
    assert found.weights == 4 * 3 * 9 + 4 + 144 * 2 + 2
    assert found.units == 144 + 2
    assert found.multiply_adds == 144 * 27 + 144 * 2


def test_grouped_convolutions_sum_over_their_group_only():
    conv = eqx.nn.Conv1d(4, 8, kernel_size=3, groups=2, key=jax.random.key(0))
    found = neurons.budget(*as_apply(conv), jnp.ones((2, 4, 10)))
    assert found.units == 8 * 8
    assert found.multiply_adds == 8 * 8 * (2 * 3)
    assert np.isnan(found.silence)


def test_a_recurrent_network_counts_every_step_of_its_scan():
    cell = eqx.nn.GRUCell(3, 5, key=jax.random.key(0))

    def f(cell, sequence):
        return jax.lax.scan(lambda h, x: (cell(x, h), h.sum()), jnp.zeros(5), sequence)

    params, rest = eqx.partition(cell, eqx.is_inexact_array)
    network = as_apply((lambda p, x: f(eqx.combine(p, rest), x), params), batched=False, select=lambda out: out[0])
    found = neurons.budget(*network, jnp.ones((2, 6, 3)))
    assert found.multiply_adds == 6 * (15 * 3 + 15 * 5)


def test_products_of_parameters_alone_are_not_counted():
    model = jnp.ones((4, 4))
    found = neurons.budget(lambda w, x: x @ (w @ w), model, jnp.ones((3, 4)))
    assert (found.units, found.multiply_adds, found.weights) == (4, 16, 16)


def test_dropout_is_switched_off():
    model = eqx.nn.Sequential([eqx.nn.Linear(4, 4, key=jax.random.key(0)), eqx.nn.Dropout(0.5)])
    assert neurons.budget(*as_apply(model), jnp.ones((3, 4))).units == 4


def test_the_brain_does_four_hundred_trillion_synaptic_events_a_second():
    assert BRAIN.events_per_second == 4e14
    assert 1000 <= BRAIN.synapses / BRAIN.neurons <= 1200


def test_an_empty_batch_is_refused():
    mlp = eqx.nn.MLP(4, 3, width_size=8, depth=1, key=jax.random.key(0))
    with pytest.raises(ValueError, match="non-empty axis 0"):
        neurons.budget(*as_apply(mlp), jnp.ones((0, 4)))


def test_value_dependent_loops_are_refused():
    def apply(w, x):
        return jax.lax.while_loop(lambda v: jnp.sum(v) < 10, lambda v: w @ v + 1, x)

    with pytest.raises(ValueError, match="while"):
        neurons.budget(*as_apply((apply, jnp.eye(2)), batched=False), jnp.ones((3, 2)))
