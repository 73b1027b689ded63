import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import curvature
from leadline.curvature.operators.example_norms import norms_of_rows
from leadline.networks import MLP

KEY = jax.random.key(0)
IMAGES = jnp.asarray(np.random.default_rng(1).normal(size=(6, 8, 8)))
LABELS = jnp.asarray([0, 1, 2, 0, 1, 2])


def cross_entropy(apply):
    def loss(params, x, y):
        return optax.softmax_cross_entropy_with_integer_labels(apply(params, x), y)

    return loss


def normals(*shapes):
    rng = np.random.default_rng(0)
    return [jnp.asarray(rng.normal(size=shape) / 2) for shape in shapes]


def mlp():
    net = MLP((64, 12, 3), key=KEY)
    return cross_entropy(lambda net, x: jax.vmap(net)(x.reshape(-1, 64))), net


def convolutions():
    shapes = ((4, 1, 3, 3), (4,), (8, 4, 3, 3), (3, 8 * 16), (3,))

    def apply(params, x):
        w1, b1, w2, v, c = params
        x = jnp.tanh(jax.lax.conv(x[:, None], w1, (1, 1), "SAME") + b1[:, None, None])
        x = jnp.tanh(jax.lax.conv(x, w2, (2, 2), "SAME"))
        return x.reshape(len(x), -1) @ v.T + c

    return cross_entropy(apply), normals(*shapes)


def shared_weights_and_layer_norm():
    """Tokens are the rows of the image; one weight is used twice, and a layer norm has a scale and a shift."""

    def apply(params, x):
        w, gain, shift, v = params["w"], params["gain"], params["shift"], params["v"]
        h = jnp.tanh(x @ w)
        h = gain * (h - h.mean(-1, keepdims=True)) / jnp.sqrt(h.var(-1, keepdims=True) + 1e-5) + shift
        return jnp.tanh(h @ w).mean(axis=1) @ v

    w, gain, shift, v = normals((8, 8), (8,), (8,), (8, 3))
    return cross_entropy(apply), {"w": w, "gain": gain, "shift": shift, "v": v}


def explicit(loss, params, *data):
    moved, fixed = eqx.partition(params, eqx.is_inexact_array)

    def norm(*row):
        gradient = jax.grad(lambda p: jnp.sum(loss(eqx.combine(p, fixed), *(part[None] for part in row))))(moved)
        return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradient)))

    return jax.jit(jax.vmap(norm))(*data)


@pytest.mark.parametrize("case", [mlp, convolutions, shared_weights_and_layer_norm])
def test_the_norms_are_those_of_explicit_gradients(case):
    loss, params = case()
    found = curvature.example_gradient_norms(loss, params, IMAGES, LABELS)
    np.testing.assert_allclose(found, explicit(loss, params, IMAGES, LABELS), rtol=1e-9)


def test_a_mean_loss_in_batches_gives_the_same():
    loss, params = mlp()
    found = curvature.example_gradient_norms(
        lambda net, x, y: jnp.mean(loss(net, x, y)), params, IMAGES, LABELS, batch=4
    )
    np.testing.assert_allclose(found, explicit(loss, params, IMAGES, LABELS), rtol=1e-9)


def test_data_in_a_file_are_read_in_pieces(tmp_path):
    rows = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=(1500, 2))
    rows[:] = np.random.default_rng(0).normal(size=(1500, 2))
    found = curvature.example_gradient_norms(lambda w, x: (x @ w) ** 2 / 2, jnp.ones(2), rows)
    np.testing.assert_allclose(found, np.abs(rows.sum(axis=1)) * np.linalg.norm(rows, axis=1), rtol=1e-12)


def test_squares_sum_to_the_trace_of_the_empirical_fisher():
    loss, params = mlp()
    found = curvature.example_gradient_norms(loss, params, IMAGES, LABELS)
    fisher = curvature.empirical_fisher(loss, params, IMAGES, LABELS)
    trace = fisher.trace(key=KEY, probes=24)  # rank 6: Hutch++ is exact
    assert float(trace.value) == pytest.approx(float(jnp.mean(found**2)), rel=1e-9)


def test_no_array_of_all_gradients_is_held():
    net = MLP((64, 256, 256, 10), key=KEY)
    params, fixed = eqx.partition(net, eqx.is_inexact_array)
    n, size = 512, sum(leaf.size for leaf in jax.tree.leaves(params))
    loss = cross_entropy(lambda net, x: jax.vmap(net)(x))
    data = (jnp.zeros((n, 64)), jnp.zeros(n, int))
    memory = norms_of_rows.lower(loss, params, fixed, data, None).compile().compiled.memory_analysis()
    assert memory.temp_size_in_bytes < 0.1 * n * size * 8


def test_bad_input_is_refused():
    loss, params = mlp()
    with pytest.raises(ValueError, match="no data"):
        curvature.example_gradient_norms(lambda p: jnp.sum(p), jnp.ones(2))
    with pytest.raises(ValueError, match="positive number of rows"):
        curvature.example_gradient_norms(loss, params, IMAGES, LABELS, batch=0)
    with pytest.raises(ValueError, match="one real number per row"):
        curvature.example_gradient_norms(lambda w, x: x * w, jnp.ones(2), jnp.ones((3, 2)))
    with pytest.raises(ValueError, match="integers"):
        curvature.example_gradient_norms(lambda w, x: x @ w, jnp.ones(2, int), jnp.ones((3, 2)))
