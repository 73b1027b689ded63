import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import sequences


@pytest.mark.parametrize("phi", ["tanh", "sigmoid", "relu", "identity"])
def test_gradients_by_hand_are_the_automatic_ones(phi):
    cell = sequences.Elman(2, 3, phi, key=jax.random.key(0))
    start, x = jax.random.normal(jax.random.key(1), (3,)), jax.random.normal(jax.random.key(2), (5, 2))

    def loss(cell, start):
        return jnp.sum(sequences.run(cell, x, start).states ** 3)

    U, V, b = cell.recurrent_weight, cell.input_weight, cell.bias
    ran = sequences.elman_forward(U, V, x, b=b, start=start, phi=phi)
    found = sequences.elman_backward(U, V, x, ran, 3 * ran.states**2, phi=phi)
    by_jax, of_start = eqx.filter_grad(lambda given: loss(*given))((cell, start))
    np.testing.assert_allclose(found.U, by_jax.recurrent_weight, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.V, by_jax.input_weight, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.b, by_jax.bias, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.start, of_start, rtol=1e-4, atol=1e-5)
