import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.sequences import memory_half_life, soft_gate


def test_a_hard_gate_has_the_gradient_of_the_soft_one():
    control = jnp.array([-1.0, 0.3])
    hard, soft = (
        jax.grad(lambda c, h=h: soft_gate(c, jnp.ones(2), temperature=0.5, straight_through=h).sum())(control)
        for h in (True, False)
    )
    np.testing.assert_allclose(hard, soft, rtol=1e-12)
    np.testing.assert_allclose(soft_gate(control, jnp.ones(2), straight_through=True), [0.0, 1.0], atol=1e-15)


def test_after_a_half_life_half_is_left():
    s = np.array([0.3, 0.9, 0.999])
    np.testing.assert_allclose(s ** np.asarray(memory_half_life(s)), 0.5)


def test_a_temperature_is_positive():
    with pytest.raises(ValueError, match="temperature 0"):
        soft_gate(jnp.ones(1), jnp.ones(1), temperature=0)
