import jax
import jax.numpy as jnp
import numpy as np
import pytest
from quadratic_operators import with_spectrum

from leadline import curvature
from leadline.networks import MLP

KEY = jax.random.key(0)


def smoothed_histogram(eigenvalues, grid, width):
    return np.mean(np.exp(-(((grid[:, None] - eigenvalues) / width) ** 2) / 2), axis=1) / (width * np.sqrt(2 * np.pi))


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_the_density_integrates_to_one_and_agrees_with_the_dense_eigenvalues(dtype):
    eigenvalues = np.concatenate([np.linspace(-1, 1, 70), np.geomspace(2, 10, 10)])
    operator, _ = with_spectrum(eigenvalues, dtype=dtype)
    found = operator.density(key=KEY, probes=10, num_steps=40, width=0.2)
    assert abs(found.total - 1) < 1e-3
    exact = smoothed_histogram(eigenvalues, found.grid, 0.2)
    assert np.mean((found.low - 1e-3 <= exact) & (exact <= found.high + 1e-3)) > 0.85
    assert np.abs(found.density - exact).max() < 0.2 * exact.max()
    fraction, error = found.mass(1.5, 11)
    assert abs(fraction - 10 / 80) < 4 * error


def test_moments_are_traces_of_powers():
    operator, _ = with_spectrum(np.linspace(-1, 3, 80))
    found = operator.density(key=KEY, probes=10, num_steps=40)
    for power in (1, 2, 3):
        value, error = found.moment(power)
        assert abs(value - np.mean(np.linspace(-1, 3, 80) ** power)) < 4 * error


@pytest.mark.parametrize("steps", [5, 40, 500])
def test_a_low_rank_operator_gives_its_atoms_whatever_the_steps(steps):
    operator, _ = with_spectrum(np.concatenate([[4.0, 2.0, -1.0], np.zeros(77)]))
    found = operator.density(key=KEY, probes=10, num_steps=steps)
    assert abs(found.total - 1) < 1e-3
    assert np.isfinite(found.density).all()
    heavy = found.nodes[found.weights > 1e-6]
    assert np.min(np.abs(heavy[:, None] - [4.0, 2.0, -1.0, 0.0]), axis=1).max() < 1e-8
    assert found.mass(-1e-6, 1e-6)[0] > 0.9


@pytest.mark.parametrize("value", [0.0, 1.0, -2.0])
def test_a_multiple_of_the_identity_is_one_atom(value):
    operator, _ = with_spectrum(np.full(80, value))
    found = operator.density(key=KEY, probes=10, num_steps=40)
    assert abs(found.total - 1) < 1e-3
    assert found.mass(value - 1e-9, value + 1e-9) == pytest.approx((1.0, 0.0))


def test_the_density_of_a_networks_hessian():
    net = MLP((3, 8, 3), key=jax.random.key(1))
    x = jax.random.normal(jax.random.key(2), (20, 3))
    operator = curvature.hessian(lambda net, x: jnp.mean(jnp.sum(jax.vmap(net)(x) ** 2, axis=1)), net, x)
    found = operator.density(key=KEY, probes=10, num_steps=operator.size, points=2000)
    eigenvalues = np.linalg.eigvalsh(operator.dense())
    assert found.nodes.min() == pytest.approx(eigenvalues[0], abs=1e-8)
    assert found.nodes.max() == pytest.approx(eigenvalues[-1], rel=1e-8)
    for low, high in ((-9.0, 1e-9), (0.1, 1.0), (1.0, 99.0)):
        fraction, error = found.mass(low, high)
        assert abs(fraction - np.mean((eigenvalues >= low) & (eigenvalues <= high))) < 4 * error + 1e-12


def test_gauss_quadrature_is_exact_for_polynomials_of_degree_below_twice_the_steps():
    operator, matrix = with_spectrum(np.linspace(-2, 2, 80))
    v = np.random.default_rng(0).normal(size=(10, 80))
    nodes, weights = curvature.spectral_quadrature(operator, jnp.asarray(v), 5)
    for power in range(10):
        exact = np.einsum("ki,ij,kj->k", v, np.linalg.matrix_power(matrix, power), v) / np.sum(v**2, axis=1)
        np.testing.assert_allclose(np.sum(weights * nodes**power, axis=1), exact, rtol=1e-9, atol=1e-9)


def test_bad_input_is_refused():
    operator, _ = with_spectrum(np.arange(80.0))
    with pytest.raises(ValueError, match="at least 2"):
        operator.density(key=KEY, probes=1)
    with pytest.raises(ValueError, match="positive deviation"):
        operator.density(key=KEY, width=0.0)
    with pytest.raises(ValueError, match="points ≥"):
        operator.density(key=KEY, probes=10, num_steps=40, width=0.001)


def test_products_that_are_not_finite_are_refused():
    operator, _ = with_spectrum(np.full(80, np.inf))
    with pytest.raises(ValueError, match="not finite"):
        operator.density(key=KEY, probes=10, num_steps=40)
