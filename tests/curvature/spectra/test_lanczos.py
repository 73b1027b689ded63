"""Extreme eigenpairs against LAPACK, and what happens when they do not come."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from leadline import curvature
from leadline.curvature import top


class Matrix(eqx.Module):
    """A dense symmetric matrix that only gives products."""

    matrix: Array

    @property
    def size(self):
        return len(self.matrix)

    @property
    def dtype(self):
        return self.matrix.dtype

    def __call__(self, v):
        return self.matrix @ v


def spectrum(size, seed=0, decay=0.97):
    rng = np.random.default_rng(seed)
    values = np.concatenate([10.0 * decay ** np.arange(size - 5), -np.arange(1.0, 6.0)])
    q = np.linalg.qr(rng.normal(size=(size, size)))[0]
    return (q * values) @ q.T


@pytest.mark.parametrize("which", ["largest", "smallest", "magnitude", "both"])
@pytest.mark.parametrize("basis", [None, 14])
def test_ends_of_the_spectrum_against_lapack(which, basis):
    matrix = spectrum(300)
    values = np.linalg.eigvalsh(matrix)
    expected = {
        "largest": values[::-1][:4],
        "smallest": values[:4],
        "magnitude": values[np.argsort(-np.abs(values))][:4],
        "both": np.r_[values[:4], values[-4:]],
    }[which]
    found = top(Matrix(jnp.asarray(matrix)), 4, which=which, basis=basis)
    np.testing.assert_allclose(found.values, expected, rtol=1e-10)
    true = np.linalg.norm(found.vectors @ matrix - found.values[:, None] * found.vectors, axis=1)
    np.testing.assert_allclose(found.residuals, true, atol=1e-13)
    np.testing.assert_allclose(found.vectors @ found.vectors.T, np.eye(len(expected)), atol=1e-12)
    assert found.converged.all()
    assert found.products < 300


def test_products_stay_within_the_budget_and_what_is_left_is_marked():
    matrix = spectrum(400, decay=0.995)
    with pytest.warns(UserWarning, match=r"of 6 eigenpairs converged within 25 products"):
        found = top(Matrix(jnp.asarray(matrix)), 6, max_steps=25)
    assert found.products == 25
    assert not found.converged.all()
    nearest = np.abs(found.values[:, None] - np.linalg.eigvalsh(matrix)).min(axis=1)
    assert (nearest <= found.residuals + 1e-12).all()


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_an_invariant_subspace_is_left_for_the_rest_of_the_space(rank):
    vectors = np.linalg.qr(np.random.default_rng(0).normal(size=(250, 3)))[0][:, :rank]
    matrix = (vectors * np.arange(1.0, rank + 1)) @ vectors.T
    found = top(Matrix(jnp.asarray(matrix)), 5)
    expected = np.r_[np.arange(rank, 0, -1.0), np.zeros(5 - rank)]
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    assert np.isfinite(found.vectors).all()


def test_float32_reaches_its_own_accuracy():
    matrix = spectrum(300)
    found = top(Matrix(jnp.asarray(matrix, jnp.float32)), 4)
    assert found.values.dtype == np.float32
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(matrix)[::-1][:4], rtol=2e-6)


def test_small_operators_are_solved_whole_with_multiple_eigenvalues():
    h = curvature.hessian(lambda w: jnp.sum(w[:3] ** 2) + 2 * w[3] ** 2, jnp.ones(4))
    np.testing.assert_allclose(h.top(4).values, [4.0, 2.0, 2.0, 2.0])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"k": 5}, "k = 5 for an operator of size 4; give 1 to 4"),
        ({"k": 0}, "give 1 to 4"),
        ({"which": "all"}, "which is"),
        ({"max_steps": 0}, "at least one product"),
    ],
)
def test_what_makes_no_sense_is_refused(options, sentence):
    h = curvature.hessian(lambda w: jnp.sum(w**2), jnp.ones(4))
    with pytest.raises(ValueError, match=sentence):
        h.top(**options)


def test_a_hessian_that_is_not_finite_is_refused():
    h = curvature.hessian(lambda w: jnp.sum(jnp.sqrt(w)), jnp.zeros(300))
    with pytest.raises(ValueError, match="not finite"):
        h.top(1)
    with pytest.raises(ValueError, match="finite vector of length"):
        h.top(1, start=np.zeros(300))


def test_runs_on_one_operator_with_one_basis_share_a_compiled_program():
    traced, diagonal = [], jnp.linspace(-1.0, 3.0, 300).at[-2:].set(jnp.array([5.0, 9.0]))

    class Counted(Matrix):
        def __call__(self, v):
            traced.append(1)
            return self.matrix * v

    most = top(Counted(diagonal), 2, basis=40, max_steps=60, tolerance=1e-6)
    with pytest.warns(UserWarning, match="converged within 16"):
        least = top(Counted(2 * diagonal), 1, which="smallest", basis=40, max_steps=16)
    assert len(traced) == 1
    np.testing.assert_allclose(most.values, [9.0, 5.0], rtol=1e-6)
    assert least.products == 16
    assert -2.0 <= least.values[0] <= -2.0 + least.residuals[0] * 5
