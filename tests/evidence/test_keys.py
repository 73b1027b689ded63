"""Keys of entries draw what JAX's own keys draw."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.evidence.keys import key

DRAWS = {
    "a number": jax.random.normal,
    "normal": lambda k: jax.random.normal(k, (7, 3, 2)),
    "normal of 32 bits": lambda k: jax.random.normal(k, (5, 1), jnp.float32),
    "nothing": lambda k: jax.random.normal(k, (0, 3)),
    "uniform": lambda k: jax.random.uniform(k, (1001,)),
    "integers": lambda k: jax.random.randint(k, (9,), -3, 40),
    "bytes": lambda k: jax.random.bits(k, (33,), jnp.uint8),
    "two bytes": lambda k: jax.random.bits(k, (33,), jnp.uint16),
    "a permutation": lambda k: jax.random.permutation(k, 12),
    "coins": lambda k: jax.random.bernoulli(k, 0.3, (4, 5)),
    "few keys": lambda k: jax.random.key_data(jax.random.split(k, 3)),
    "many keys": lambda k: jax.random.key_data(jax.random.split(k, (5, 4))),
    "a key by its number": lambda k: jax.random.key_data(jax.random.fold_in(k, 2**31 + 5)),
    "a key for each number": lambda k: jax.random.key_data(jax.vmap(lambda i: jax.random.fold_in(k, i))(jnp.arange(4))),
    "draws of each key": lambda k: jax.vmap(lambda q: jax.random.uniform(q, (3, 2)))(jax.random.split(k, 5)),
}


@pytest.mark.parametrize("seed", [0, 7, 2**40 + 1])
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_draws_are_those_of_jax(draw, seed):
    ours, theirs = draw(key(seed)), draw(jax.random.key(seed))
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


def test_draws_inside_a_compiled_loop_are_those_of_jax():
    def walk(k):
        def step(x, q):
            return x + jax.random.normal(jax.random.fold_in(q, 1), (4,)), jax.random.split(q)[1]

        end, keys = jax.lax.scan(step, jnp.zeros(4), jax.random.split(k, 20))
        return end, jax.random.key_data(keys)

    for ours, theirs in zip(jax.jit(walk)(key(1)), jax.jit(walk)(jax.random.key(1)), strict=True):
        np.testing.assert_array_equal(ours, theirs)
