"""The recurrence in four ways, against a plain loop over NumPy numbers."""

import numpy as np
import pytest

from leadline.sequences import computed_by, linear_recurrence, log_space_recurrence


def by_hand(gates, inputs, start):
    states, z = [], start
    for a, b in zip(np.broadcast_to(gates, inputs.shape), inputs, strict=True):
        z = a * z + b
        states.append(z)
    return np.array(states)


@pytest.mark.parametrize("by", ["scan", "loop", "convolution", "dense"])
def test_every_way_gives_the_states_of_a_plain_loop(by):
    rng = np.random.default_rng(0)
    gates = 0.95 * np.exp(1j * rng.uniform(0, 6, 3))
    inputs, start = rng.normal(size=(37, 3)), rng.normal(size=3) + 1j
    np.testing.assert_allclose(
        linear_recurrence(gates, inputs, start, by=by), by_hand(gates, inputs, start), atol=1e-11
    )


@pytest.mark.parametrize("by", ["scan", "loop", "dense"])
def test_gates_may_change_with_time(by):
    rng = np.random.default_rng(1)
    gates, inputs = rng.uniform(-1, 1, (20, 2)), rng.normal(size=(20, 2))
    np.testing.assert_allclose(linear_recurrence(gates, inputs, by=by), by_hand(gates, inputs, np.zeros(2)), atol=1e-12)


def test_a_gate_of_zero_forgets_all():
    inputs = np.arange(1.0, 6.0)[:, None]
    for by in ("scan", "loop", "convolution", "dense"):
        np.testing.assert_allclose(linear_recurrence(np.zeros(1), inputs, by=by), inputs, atol=1e-12)


def test_what_cannot_be_computed_is_said():
    inputs = np.ones((4, 2))
    with pytest.raises(ValueError, match="no convolution"):
        linear_recurrence(np.ones((4, 2)), inputs, by="convolution")
    with pytest.raises(ValueError, match="give gates of shape"):
        linear_recurrence(np.ones(3), inputs)
    with pytest.raises(ValueError, match="there is none"):
        linear_recurrence(np.ones(2), np.ones((0, 2)))
    with pytest.raises(ValueError, match="one gate for each input"):
        log_space_recurrence(np.zeros((3, 1)), np.zeros((4, 1)))


def test_logarithms_give_the_states_of_positive_inputs():
    rng = np.random.default_rng(2)
    gates, inputs = rng.uniform(0.01, 1, (30, 2)), rng.uniform(0.1, 2, (30, 2))
    found = np.exp(log_space_recurrence(np.log(gates), np.log(inputs)))
    np.testing.assert_allclose(found, by_hand(gates, inputs, np.zeros(2)), rtol=1e-10)


def test_a_network_computes_the_same_in_every_way_with_a_mask_too():
    import jax
    import jax.numpy as jnp

    from leadline.sequences import sequence_network, valid_steps

    net = sequence_network("mingru", 2, 3, 2, key=jax.random.key(0))
    xs, mask = jnp.asarray(np.random.default_rng(3).normal(size=(9, 2))), valid_steps(6, 9)
    np.testing.assert_allclose(computed_by(net, "dense")(xs, mask), net(xs, mask), atol=1e-12)
