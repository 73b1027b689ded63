import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import sequences
from leadline.frameworks.opening import as_apply
from leadline.networks.dissection.loops.recurrences import recurrent_network
from leadline.networks.dissection.loops.squashing_units import with_squashed


@pytest.fixture
def opened():
    cell = sequences.LSTM(2, 3, key=jax.random.key(0))
    net = sequences.SequenceNetwork(cell, 4, reading="last", key=jax.random.key(1))
    apply, params = as_apply(net)
    return net, apply, params, jax.random.normal(jax.random.key(2), (5, 6, 2))


def squared(outputs, targets):
    return jnp.sum((outputs - targets) ** 2, axis=-1)


def test_the_loop_of_a_network_is_its_cell(opened):
    net, apply, params, x = opened
    (loop,) = recurrent_network(apply, params, x).recurrences
    assert (loop.length, loop.size, loop.reverse) == (6, 6, False)
    assert sorted(loop.kinds) == ["logistic"] * 3 + ["tanh"] * 2
    states = jax.vmap(lambda row: sequences.run(net.cell, row).states)(x)
    np.testing.assert_allclose(
        loop.values(params, x).states, jnp.concatenate(jax.tree.leaves(states), axis=-1), rtol=1e-5, atol=1e-6
    )


def test_its_step_can_be_repeated_outside(opened):
    _net, apply, params, x = opened
    (loop,) = recurrent_network(apply, params, x).recurrences
    step, start, xs = loop.steps(params, x[0])
    found = sequences.trajectory(step, start, xs)
    np.testing.assert_allclose(found[1:], loop.values(params, x).states[0], rtol=1e-5, atol=1e-6)


def test_gradients_by_its_states_are_those_of_the_cell(opened):
    net, apply, params, x = opened
    (loop,) = recurrent_network(apply, params, x).recurrences
    targets = jnp.zeros((5, 4))
    found = loop.state_gradients(params, x, targets, squared)
    logs = sequences.gradient_transport(net, x, targets, squared)
    np.testing.assert_allclose(np.log(np.linalg.norm(found, axis=2))[:, ::-1], logs[:, :6], atol=1e-3)


def test_a_network_without_a_loop_has_none():
    assert recurrent_network(lambda w, x: x @ w, jnp.ones((3, 2)), jnp.ones((4, 3))).recurrences == ()


def test_gates_are_seen_through_nested_calls():
    out, found = with_squashed(jax.jit(lambda z: {"y": jax.nn.sigmoid(jnp.tanh(z))}), jnp.ones(2))
    assert [unit.kind for unit in found] == ["tanh", "logistic"]
    np.testing.assert_allclose(out["y"], found[1].values)
