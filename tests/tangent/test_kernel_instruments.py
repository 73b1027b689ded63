"""Products, spectrum, drift, curvature and the linearised network against dense linear algebra and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import tangent, training
from leadline.networks import MLP
from leadline.tangent.dynamics.hessian_ratio import extreme_eigenpair


@pytest.fixture(scope="module")
def small():
    f, params = tangent.as_function(MLP((3, 6, 2), "tanh", bias_scale=0.5, key=jax.random.key(0)))
    x = jnp.asarray(np.random.default_rng(0).standard_normal((5, 3)))
    return f, params, x, np.asarray(tangent.empirical_ntk(f, params, x))


def test_products_and_eigenvalues_need_no_matrix(small):
    f, params, x, K = small
    V = np.random.default_rng(1).standard_normal((10, 2))
    np.testing.assert_allclose(tangent.ntk_product(f, params, x, None, V), K @ V, rtol=1e-10)
    found = tangent.ntk_eigenvalues(f, params, x, 3)
    np.testing.assert_allclose(found, np.linalg.eigvalsh(K)[::-1][:3], rtol=1e-8)


def test_the_report_says_what_the_matrix_says(small):
    f, params, x, K = small
    y = np.random.default_rng(2).standard_normal((5, 2))
    report = tangent.describe_ntk(f, params, x, y)
    np.testing.assert_allclose(report.eigenvalues, np.linalg.eigvalsh(K)[::-1], rtol=1e-9)
    assert report.rank == 10
    assert report.condition_number == pytest.approx(np.linalg.cond(K), rel=1e-6)
    assert sum(report.shares.values()) == pytest.approx(1)
    assert report.weights.sum() == pytest.approx(1)
    y = y.ravel()
    assert report.alignment == pytest.approx(y @ K @ y / (y @ y * np.linalg.norm(K)))
    assert "rank 10" in str(report)
    twice = tangent.describe_ntk(f, params, jnp.concatenate([x[:4], x[:1]]))
    assert twice.rank == 8
    assert twice.condition_number == np.inf
    with pytest.raises(ValueError, match="3 numbers"):
        tangent.describe_ntk(f, params, x, np.ones(3))


def test_drift_is_the_relative_change_of_the_kernel(small):
    f, params, x, K = small
    moved = jax.tree.map(lambda leaf: 1.1 * leaf, params)
    drift = tangent.ntk_drift(f, [params, moved], x, np.ones(10))
    there = np.asarray(tangent.empirical_ntk(f, moved, x))
    np.testing.assert_allclose(drift.total, [0, np.linalg.norm(there - K) / np.linalg.norm(K)], rtol=1e-9)
    np.testing.assert_allclose(drift.relative_distance, [0, 0.1], atol=1e-12)
    parts, later = tangent.layer_ntks(f, params, x), tangent.layer_ntks(f, moved, x)
    for path, part in parts.items():
        assert drift.layers[path][1] == pytest.approx(np.linalg.norm(later[path] - part) / np.linalg.norm(part))
    lin = tangent.linearise(f, params)
    still = tangent.ntk_drift(lin, [lin.zero(), moved], x)
    assert still.total[1] < 1e-14
    with pytest.raises(ValueError, match="no checkpoints"):
        tangent.ntk_drift(f, [], x)


def test_the_curvature_of_a_two_layer_network_is_known():
    m, x = 50, jnp.array([[1.0, 2.0, -1.0]])
    rng = np.random.default_rng(0)
    params = {"W": jnp.asarray(rng.standard_normal((m, 3))), "v": jnp.asarray(rng.standard_normal(m))}
    found = tangent.hessian_gradient_ratio(lambda p, x: jnp.sqrt(2 / m) * p["v"] @ jax.nn.relu(p["W"] @ x), params, x)
    assert float(found.hessian_norm[0]) == pytest.approx(np.sqrt(2 / m * 6), rel=1e-10)
    h = np.asarray(params["W"] @ x[0])
    squared = 2 / m * (np.sum(np.maximum(h, 0) ** 2) + 6 * np.sum(np.asarray(params["v"])[h > 0] ** 2))
    assert float(found.squared_gradient[0]) == pytest.approx(squared)
    with pytest.raises(ValueError, match="output 3"):
        tangent.hessian_gradient_ratio(lambda w, x: w * x, jnp.ones(2), jnp.ones((1, 2)), output=3)


def test_the_extreme_eigenpair_is_that_of_the_matrix():
    A = np.random.default_rng(3).standard_normal((40, 40))
    A = jnp.asarray(A + A.T)
    value, vector = extreme_eigenpair(lambda v: A @ v, 40, A.dtype, 40)
    assert abs(float(value)) == pytest.approx(np.linalg.norm(np.asarray(A), 2), rel=1e-10)
    np.testing.assert_allclose(A @ vector, value * vector, atol=1e-8)


def test_the_linearised_network_trains_like_any(small):
    f, params, x, K = small
    lin = tangent.linearise(f, params)
    y = jnp.asarray(np.random.default_rng(4).standard_normal((5, 2)))

    def loss(beta, x, y):
        return 0.5 * jnp.sum((jax.vmap(lin, (None, 0))(beta, x) - y) ** 2)

    step = 1 / np.linalg.eigvalsh(K)[-1]
    end, losses = training.minimise(loss, lin.zero(), optax.sgd(step), 40, x, y)
    residual = (np.asarray(jax.vmap(lin, (None, 0))(lin.zero(), x)) - y).ravel()
    values, vectors = np.linalg.eigh(K)
    modes = (1 - step * values) ** np.arange(40)[:, None] * (vectors.T @ residual)
    np.testing.assert_allclose(losses, 0.5 * np.sum(modes**2, axis=1), rtol=1e-8)
    np.testing.assert_allclose(jax.tree.leaves(lin.moved(end))[0], jax.tree.leaves(params)[0] + jax.tree.leaves(end)[0])
    with pytest.raises(ValueError, match="nothing to linearise"):
        tangent.linearise(f, {})
