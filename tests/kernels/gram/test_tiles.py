"""Gram matrices in tiles: the same numbers as in one piece, within the budget, on both sides of every edge."""

import jax.numpy as jnp
import numpy as np
import pytest

from leadline import kernels
from leadline.kernels.gram.tiles import gram_product, plan_tiles

RNG = np.random.default_rng(0)


def gaussian(x, z):
    return jnp.exp(-((x[:, None] - z[None]) ** 2).sum(-1) / 2)


def brute_force(x, z):
    return np.array([[np.exp(-np.sum((a - b) ** 2) / 2) for b in z] for a in x])


@pytest.mark.parametrize("n", [1, 7, 33])
def test_tiles_make_the_matrix_of_all_pairs(n):
    x, z = RNG.normal(size=(n, 3)), RNG.normal(size=(20, 3))
    small = 4096 + 8 * n * max(n, 20)
    np.testing.assert_allclose(kernels.gram(gaussian, x, z, budget=small), brute_force(x, z), atol=1e-15)
    np.testing.assert_allclose(kernels.gram(gaussian, x, budget=small), brute_force(x, x), atol=1e-15)


def test_a_small_budget_makes_small_tiles_and_states_what_it_takes():
    x = RNG.normal(size=(300, 3))
    wide, narrow = (plan_tiles(gaussian, x, x, budget=b) for b in (2**26, 2**20))
    assert wide.tile == 300
    assert narrow.tile < 150
    assert narrow.result_bytes == 300 * 300 * 8
    assert narrow.result_bytes + narrow.working_bytes <= 2**20


def test_a_matrix_beyond_the_budget_is_refused_and_a_file_takes_it(tmp_path):
    x = RNG.normal(size=(200, 2))
    with pytest.raises(MemoryError, match=r"200 x 200 takes 0 MiB, more than the budget.*gram_product"):
        kernels.gram(gaussian, x, budget=200 * 200 * 8)
    file = np.memmap(tmp_path / "gram", dtype=float, mode="w+", shape=(200, 200))
    kernels.gram(gaussian, x, budget=200 * 200 * 8, out=file)
    np.testing.assert_allclose(np.asarray(file), brute_force(x, x), atol=1e-15)


def test_the_product_keeps_no_matrix_and_is_the_same():
    x, z = RNG.normal(size=(50, 2)), RNG.normal(size=(81, 2))
    v = RNG.normal(size=(81, 3))
    found = gram_product(gaussian, x, z, v, budget=20000)
    np.testing.assert_allclose(found, brute_force(x, z) @ v, atol=1e-13)


def test_a_kernel_with_a_block_for_every_pair_of_inputs_keeps_its_order():
    x = RNG.normal(size=(5, 3))
    blocks = kernels.gram(lambda a, b: jnp.kron(a @ b.T, jnp.array([[1.0, 2.0], [3.0, 4.0]])), x, x, budget=3000)
    np.testing.assert_allclose(blocks, np.kron(x @ x.T, [[1, 2], [3, 4]]), atol=1e-14)


def test_bad_input_is_told():
    with pytest.raises(ValueError, match=r"inputs of shape \(3,\) and of shape \(4,\)"):
        kernels.gram(gaussian, np.ones((2, 3)), np.ones((2, 4)))
    with pytest.raises(ValueError, match="no inputs on one side"):
        kernels.gram(gaussian, np.ones((0, 3)))
    with pytest.raises(ValueError, match="out of shape"):
        kernels.gram(gaussian, np.ones((2, 3)), out=np.zeros((3, 3)))
