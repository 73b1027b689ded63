"""A network of 100 000 parameters on 10 000 images: eigenvalues to 1e-6, against dense algebra where it is possible."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from curvature.small_network import apply, losses
from scipy.sparse.linalg import LinearOperator, eigsh

from leadline import curvature, data
from leadline.networks import MLP

pytestmark = pytest.mark.slow
criterion = optax.softmax_cross_entropy_with_integer_labels


@pytest.fixture(scope="module")
def network():
    """64-280-280-10 trained a little on noisy copies of the digits, in double precision."""
    digits = data.load("digits")
    rng = np.random.default_rng(0)
    rows = rng.integers(0, len(digits.train_labels), 10_000)
    x = digits.train_inputs.reshape(-1, 64)[rows] + 0.1 * rng.normal(size=(10_000, 64))
    y = digits.train_labels[rows]
    net = MLP((64, 280, 280, 10), "tanh", dtype=jnp.float64, key=jax.random.key(0))
    rule = optax.adam(1e-3)
    moved, fixed = eqx.partition(net, eqx.is_inexact_array)

    @jax.jit
    def train(moved, x, y, batches):
        def step(state, chosen):
            moved, memory = state
            gradient = jax.grad(lambda p: losses(eqx.combine(p, fixed), x[chosen], y[chosen]).mean())(moved)
            change, memory = rule.update(gradient, memory)
            return (optax.apply_updates(moved, change), memory), None

        return jax.lax.scan(step, (moved, rule.init(moved)), batches)[0][0]

    return eqx.combine(train(moved, x, y, rng.integers(0, 10_000, (200, 128))), fixed), x, y


def test_gauss_newton_of_a_subsample_against_the_dense_gram_matrix(network):
    """Its nonzero eigenvalues are those of the 1000 x 1000 matrix RRᵀ/n with R the stacked M^½ J."""
    net, x, y = network
    few, labels = x[:100], y[:100]
    moved, fixed = eqx.partition(net, eqx.is_inexact_array)

    @jax.jit
    def outputs_and_jacobian(moved, few):
        def f(p):
            return apply(eqx.combine(p, fixed), few)

        jacobian = jax.jacrev(f)(moved)
        flat = jnp.concatenate([leaf.reshape(100, 10, -1) for leaf in jax.tree.leaves(jacobian)], axis=2)
        return f(moved), flat

    outputs, jacobian = map(np.asarray, outputs_and_jacobian(moved, few))
    p = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    metric = np.einsum("ni,ij->nij", p, np.eye(10)) - np.einsum("ni,nj->nij", p, p)
    values, vectors = np.linalg.eigh(metric)
    root = np.einsum("nij,nj,nkj->nik", vectors, np.sqrt(np.maximum(values, 0)), vectors)
    stacked = np.einsum("nij,njp->nip", root, jacobian).reshape(1000, -1)
    expected = np.linalg.eigvalsh(stacked @ stacked.T / 100)[::-1][:10]
    operator = curvature.gauss_newton(apply, criterion, net, few, labels)
    assert operator.size == 99_690
    np.testing.assert_allclose(operator.top(10).values, expected, rtol=1e-6)


def test_hessian_of_a_subsample_against_arpack(network):
    net, x, y = network
    h = curvature.hessian(losses, net, x[:500], y[:500], batch=250)
    products = LinearOperator((h.size, h.size), lambda v: np.asarray(h(v.ravel())), dtype=float)
    expected = eigsh(products, 10, which="LA", ncv=40, tol=1e-12, v0=np.ones(h.size))[0][::-1]
    np.testing.assert_allclose(h.top(10).values, expected, rtol=1e-6)


def test_all_images_in_single_and_double_precision(network):
    net, x, y = network
    exact = curvature.hessian(losses, net, x, y, batch=500).top(10, tolerance=1e-8)
    assert exact.converged.all()
    assert (exact.residuals <= 1e-8 * exact.values[0]).all()
    single = jax.tree.map(lambda a: a.astype(np.float32) if eqx.is_inexact_array(a) else a, net)
    h = curvature.hessian(losses, single, x.astype(np.float32), y, batch=500)
    np.testing.assert_allclose(h.top(10).values, exact.values, rtol=1e-4)
    density = h.density(key=jax.random.key(0), probes=2, num_steps=30)
    assert abs(density.total - 1) < 1e-3
