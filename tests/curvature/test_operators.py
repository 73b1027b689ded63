"""Products of all operators against dense matrices and closed forms."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from curvature.small_network import apply, dense_reference, losses, mean_loss

from leadline import curvature


@pytest.fixture(scope="module")
def reference():
    return dense_reference()


@pytest.mark.parametrize(("loss", "batch"), [(losses, 8), (mean_loss, None)])
def test_hessian_is_the_dense_one_however_it_is_streamed(reference, loss, batch):
    h = curvature.hessian(loss, reference.net, reference.x, reference.y, batch=batch)
    np.testing.assert_allclose(h.dense(), reference.hessian, atol=1e-14)


def test_a_held_hessian_is_the_same_and_has_no_blocks(reference):
    h = curvature.hessian(losses, reference.net, reference.x, reference.y, batch=8, reduction="sum").linearised()
    v = np.random.default_rng(8).normal(size=h.size)
    np.testing.assert_allclose(h(v), 21 * reference.hessian @ v, rtol=1e-10, atol=1e-12)
    with pytest.raises(ValueError, match="of the Hessian first and hold that"):
        h.block("layers[0].weight")


def test_sum_reduction_is_n_times_the_mean(reference):
    h = curvature.hessian(losses, reference.net, reference.x, reference.y, reduction="sum")
    np.testing.assert_allclose(h(np.ones(h.size)), 21 * reference.hessian.sum(axis=1), rtol=1e-12)


def test_gauss_newton_and_fisher_of_a_classifier(reference):
    p = np.exp(reference.outputs)
    p /= p.sum(axis=1, keepdims=True)
    metric = np.einsum("ni,ij->nij", p, np.eye(3)) - np.einsum("ni,nj->nij", p, p)
    expected = np.einsum("nip,nij,njq->pq", reference.jacobian, metric, reference.jacobian) / 21
    criterion = optax.softmax_cross_entropy_with_integer_labels
    g = curvature.gauss_newton(apply, criterion, reference.net, reference.x, reference.y, batch=8)
    f = curvature.fisher(apply, reference.net, reference.x)
    np.testing.assert_allclose(g.dense(), expected, atol=1e-14)
    v = np.random.default_rng(5).normal(size=f.size)
    np.testing.assert_allclose(f(v), expected @ v, atol=1e-14)


def test_fisher_of_a_regression_has_the_variance_of_the_errors(reference):
    f = curvature.fisher(apply, reference.net, reference.x, likelihood="gaussian", deviation=0.5, batch=10)
    expected = np.einsum("nip,niq->pq", reference.jacobian, reference.jacobian) / 21 / 0.25
    v = np.random.default_rng(6).normal(size=f.size)
    np.testing.assert_allclose(f(v), expected @ v, atol=1e-12)


def test_moments_of_the_gradients(reference):
    g = reference.gradients
    f = curvature.empirical_fisher(mean_loss, reference.net, reference.x, reference.y)
    c = curvature.gradient_covariance(losses, reference.net, reference.x, reference.y, batch=8)
    v = np.random.default_rng(4).normal(size=f.size)
    np.testing.assert_allclose(f(v), g.T @ (g @ v) / 21, atol=1e-14)
    np.testing.assert_allclose(c(v), np.cov(g.T, bias=True) @ v, atol=1e-14)


def test_linear_model_in_closed_form():
    rng = np.random.default_rng(1)
    x, y, w = rng.normal(size=(12, 5)), rng.normal(size=12), rng.normal(size=5)
    residual = x @ w - y

    def half_squares(w, x, y):
        return 0.5 * (x @ w - y) ** 2

    def squares(w, x, y):
        return (x @ w - y) ** 2

    np.testing.assert_allclose(curvature.hessian(half_squares, w, x, y).dense(), x.T @ x / 12, rtol=1e-12)
    np.testing.assert_allclose(curvature.hessian(squares, w, x, y).dense(), 2 * x.T @ x / 12, rtol=1e-12)
    fisher = curvature.fisher(lambda w, x: (x @ w)[:, None], w, x, likelihood="gaussian", deviation=2.0)
    np.testing.assert_allclose(fisher.dense(), x.T @ x / 12 / 4, rtol=1e-12)
    g = x * residual[:, None]
    np.testing.assert_allclose(curvature.empirical_fisher(half_squares, w, x, y).dense(), g.T @ g / 12, atol=1e-13)


def test_a_block_is_the_part_of_the_matrix_and_keeps_its_name(reference):
    h = curvature.hessian(losses, reference.net, reference.x, reference.y)
    c = curvature.gradient_covariance(losses, reference.net, reference.x, reference.y)
    v = np.random.default_rng(7).normal(size=36)
    sizes = [leaf.size for leaf in jax.tree.leaves(eqx.filter(reference.net, eqx.is_inexact_array))]
    assert h.names[2] == "layers[1].weight"
    assert sum(sizes) == h.size
    part = slice(sum(sizes[:2]), sum(sizes[:3]))
    covariance = np.cov(reference.gradients.T, bias=True)
    np.testing.assert_allclose(h.block("layers[1].weight")(v), reference.hessian[part, part] @ v, atol=1e-14)
    np.testing.assert_allclose(c.block("layers[1].weight")(v), covariance[part, part] @ v, atol=1e-14)
    assert list(h.blocks()) == h.names
    with pytest.raises(ValueError, match=r"no array 'head'.*layers\[0\].weight"):
        h.block("head")


def test_a_vector_may_be_flat_or_a_pytree(reference):
    h = curvature.hessian(losses, reference.net, reference.x, reference.y)
    v = np.random.default_rng(2).normal(size=h.size)
    np.testing.assert_allclose(h.flat(h(h.unflat(v))), h(v), rtol=1e-12)
    with pytest.raises(ValueError, match=r"shape \(.*give a flat one of length"):
        h(v[1:])
    with pytest.raises(ValueError, match="or a pytree like the parameters"):
        h({"a": v})


def test_a_matrix_may_be_the_parameters():
    h = curvature.hessian(lambda w: jnp.sum(w**2 * jnp.arange(1.0, 7.0).reshape(2, 3)), jnp.ones((2, 3)))
    assert h.names == ["parameters"]
    np.testing.assert_allclose(h.top(2).values, [12.0, 10.0])
    np.testing.assert_allclose(h(np.ones((2, 3))), 2 * np.arange(1.0, 7.0).reshape(2, 3))
    np.testing.assert_allclose(h(np.ones(6)), 2 * np.arange(1.0, 7.0))


def test_rows_in_a_file_are_read_batch_by_batch(reference, tmp_path):
    stored = np.memmap(tmp_path / "rows", dtype=float, mode="w+", shape=reference.x.shape)
    stored[:] = reference.x
    h = curvature.hessian(losses, reference.net, stored, reference.y, batch=8)
    v = np.random.default_rng(3).normal(size=h.size)
    np.testing.assert_allclose(h(v), reference.hessian @ v, rtol=1e-10)


def test_products_hold_less_than_a_gradient_when_streamed():
    net = eqx.nn.MLP(64, 10, 64, 2, jnp.tanh, key=jax.random.key(0), dtype=jnp.float32)
    x, y = np.zeros((2000, 64), np.float32), np.zeros(2000, np.int32)

    def temporary(function, *arguments):
        return jax.jit(function).lower(*arguments).compile().memory_analysis().temp_size_in_bytes

    moved, fixed = eqx.partition(net, eqx.is_inexact_array)
    gradient = temporary(jax.grad(lambda p, x, y: mean_loss(eqx.combine(p, fixed), x, y)), moved, x, y)
    h = curvature.hessian(losses, net, x, y, batch=250)
    arrays, rest = eqx.partition(h, eqx.is_array)
    product = temporary(lambda a, v: eqx.combine(a, rest)(v), arrays, jnp.zeros(h.size, jnp.float32))
    assert product <= gradient


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((losses, jnp.arange(3), np.ones((2, 3)), np.zeros(2)), "only integers"),
        ((lambda w: w[0], jnp.ones(2, complex)), "complex"),
        ((lambda w, x: x @ w[:, None], jnp.ones(3), np.ones((2, 3))), r"shape \(2, 1\) for 2 rows"),
        ((lambda w, x, y: x @ w, jnp.ones(3), np.ones((2, 3)), np.ones(4)), "as many in each"),
        ((lambda w, x: x @ w, jnp.ones(3), np.ones((0, 3))), "no rows"),
    ],
)
def test_what_cannot_be_differentiated_is_refused_in_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        curvature.hessian(*arguments)


def test_integers_beside_weights_are_held_fixed_and_said():
    with pytest.warns(UserWarning, match="held fixed"):
        h = curvature.hessian(lambda p: jnp.sum(p["w"] ** 2 * p["n"]), {"w": jnp.ones(2), "n": jnp.arange(2)})
    assert h.names == ["['w']"]
    np.testing.assert_allclose(h.dense(), np.diag([0.0, 2.0]))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"likelihood": "poisson"}, "likelihood is"), ({"deviation": 0.0}, "positive standard deviation")],
)
def test_fisher_refuses(reference, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        curvature.fisher(apply, reference.net, reference.x, **options)


def test_a_single_output_is_no_distribution_over_classes():
    with pytest.raises(ValueError, match="two classes"):
        curvature.fisher(lambda w, x: x @ w[:, None], jnp.ones(2), np.ones((3, 2)))
