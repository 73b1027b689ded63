import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import sequences


@pytest.fixture
def driven():
    cell = sequences.GRU(2, 4, key=jax.random.key(0))
    return cell, jax.random.normal(jax.random.key(1), (6, 2))


def test_their_product_is_the_derivative_of_the_last_state_by_the_first(driven):
    cell, x = driven
    J = sequences.state_jacobians(cell.update, cell.init(), x)
    whole = jax.jacfwd(lambda z: sequences.run(cell, x, z).last)(cell.init())
    np.testing.assert_allclose(np.linalg.multi_dot(np.asarray(J)[::-1]), whole, rtol=2e-3, atol=1e-6)


def test_norms_of_products_are_those_of_the_products(driven):
    cell, x = driven
    J = np.asarray(sequences.state_jacobians(cell.update, cell.init(), x), np.float64)
    found = sequences.jacobian_product_norms(cell.update, cell.init(), x, (0, 1, 3))
    direct = [0.0, *(np.log(np.linalg.norm(np.linalg.multi_dot([np.eye(4), *J[-k:][::-1]]), 2)) for k in (1, 3))]
    np.testing.assert_allclose(found, direct, atol=1e-4)


def test_norms_far_below_the_smallest_number_keep_their_logarithm():
    step = lambda z, x: jnp.float32(1e-6) * z  # noqa: E731
    found = sequences.jacobian_product_norms(step, jnp.ones(3, jnp.float32), jnp.zeros(100), (100,))
    assert found[0] == pytest.approx(100 * np.log(1e-6), rel=1e-5)
    assert sequences.jacobian_product_norms(lambda z, x: 0 * z, jnp.ones(3), jnp.zeros(4), (2,))[0] == -np.inf


def test_the_largest_exponent_by_few_vectors_is_that_of_all(driven):
    cell, _ = driven
    x = jax.random.normal(jax.random.key(2), (60, 2))
    every = sequences.lyapunov_exponents(cell.update, cell.init(), x, burn_in=20)
    two = sequences.lyapunov_exponents(cell.update, cell.init(), x, count=2, burn_in=20)
    np.testing.assert_allclose(two, every[:2], atol=0.05)
    J = np.asarray(sequences.state_jacobians(cell.update, cell.init(), x), np.float64)
    assert every.sum() == pytest.approx(np.linalg.slogdet(J)[1][20:].mean(), abs=1e-4)


def test_the_spectrum_of_a_product_at_every_lag_asked_for(driven):
    cell, x = driven
    found = sequences.jacobian_product_spectrum(cell.update, cell.init(), x, (1, 4))
    J = np.asarray(sequences.state_jacobians(cell.update, cell.init(), x), np.float64)
    direct = np.log(np.linalg.svd(np.linalg.multi_dot(J[-4:][::-1]), compute_uv=False))
    np.testing.assert_allclose(found.log_singular_values[1], direct, atol=1e-5)


def test_bad_input_is_refused(driven):
    cell, x = driven
    with pytest.raises(ValueError, match="give 0 to 6"):
        sequences.jacobian_product_norms(cell.update, cell.init(), x, (7,))
    with pytest.raises(ValueError, match="count=9"):
        sequences.lyapunov_exponents(cell.update, cell.init(), x, count=9)
    with pytest.raises(ValueError, match="burn_in=6"):
        sequences.lyapunov_exponents(cell.update, cell.init(), x, burn_in=6)
    with pytest.raises(ValueError, match="for 6 steps"):
        sequences.jacobian_product_spectrum(cell.update, cell.init(), x, (0,))
    bad = lambda z, x: jnp.exp(z + 1)  # noqa: E731
    with pytest.raises(ValueError, match="no longer finite"):
        sequences.state_jacobians(bad, jnp.zeros(2), jnp.zeros(20))
