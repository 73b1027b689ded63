import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.sequences.estimation.prefix_scan import prefix_scan


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("length", [1, 32, 33, 1100])
def test_it_equals_the_associative_scan_of_jax_for_products_that_do_not_commute(length, reverse):
    angles = jax.random.normal(jax.random.key(0), (length, 2, 2)) / 2 + jnp.eye(2)
    matrices = angles / jnp.linalg.norm(angles, axis=(1, 2), keepdims=True)

    def early_first(a, b):
        return a @ b

    found = prefix_scan(early_first, matrices, reverse=reverse)
    theirs = jax.lax.associative_scan((lambda a, b: b @ a) if reverse else early_first, matrices, reverse=reverse)
    np.testing.assert_allclose(found, theirs, atol=1e-12)
