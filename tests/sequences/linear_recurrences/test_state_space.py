"""The state space in its four ways, against a plain loop."""

import jax.numpy as jnp
import numpy as np
import pytest

from leadline.sequences import LinearStateSpace


@pytest.mark.parametrize("by", ["loop", "scan", "convolution", "diagonal"])
def test_every_way_gives_the_states_of_a_plain_loop(by):
    rng = np.random.default_rng(0)
    a, b, xs = 0.4 * rng.normal(size=(3, 3)), rng.normal(size=(3, 2)), rng.normal(size=(21, 2))
    states, z = [], np.zeros(3)
    for x in xs:
        z = a @ z + b @ x
        states.append(z)
    found = LinearStateSpace(jnp.asarray(a), jnp.asarray(b)).states(jnp.asarray(xs), by=by)
    np.testing.assert_allclose(found, states, atol=1e-12)


def test_outputs_are_the_head_of_the_real_part():
    layer = LinearStateSpace(jnp.array([[0.5j]]), jnp.array([[1.0 + 0j]]), jnp.array([[1j]]), jnp.abs)
    np.testing.assert_allclose(layer(jnp.array([[1.0], [0.0]])), [[0.0], [0.5]])


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match="as many rows"):
        LinearStateSpace(jnp.ones((2, 2)), jnp.ones((3, 1)))
