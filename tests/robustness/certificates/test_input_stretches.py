import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.robustness.certificates.input_stretches import KRYLOV, largest_stretch, stretch_passes, stretches

KEY = jax.random.key(0)


def perceptron(params, x):
    return jnp.maximum(x.reshape(len(x), -1) @ params[0], 0) @ params[1]


def network(inputs, hidden, outputs, kind=jnp.float64):
    rng = np.random.default_rng(0)
    return tuple(jnp.asarray(rng.normal(size=shape), kind) for shape in ((inputs, hidden), (hidden, outputs)))


def dense(params, x):
    """The singular values of every Jacobian, by JAX's own and an SVD."""
    jacobians = jax.vmap(jax.jacobian(lambda one: perceptron(params, one[None])[0]))(x)
    return np.linalg.norm(np.asarray(jacobians).reshape(len(x), jacobians.shape[1], -1), 2, axis=(1, 2))


@pytest.mark.parametrize("kind", [jnp.float32, jnp.float64])
@pytest.mark.parametrize(("hidden", "outputs", "least"), [(30, 4, 1.0), (5, 60, 1.0), (40, 200, 0.97)])
def test_stretches_are_norms_of_jacobians_or_little_below_them(hidden, outputs, least, kind):
    params, x = network(12, hidden, outputs, kind), np.random.default_rng(1).normal(size=(11, 3, 4))
    found, directions = stretches(perceptron, params, x, batch=4, key=KEY)
    exact, rounding = dense(params, jnp.asarray(x, kind)), 1e3 * float(jnp.finfo(kind).eps)
    assert np.all(found <= exact * (1 + rounding))
    assert np.all(found >= least * exact * (1 - rounding))
    for one, value, v in zip(jnp.asarray(x, kind), found, directions, strict=True):
        v = jnp.asarray(v, kind).reshape(one.shape)
        _, image = jax.jvp(lambda one: perceptron(params, one[None])[0], (one,), (v,))
        assert np.linalg.norm(v) == pytest.approx(1, rel=1e-5)
        assert np.linalg.norm(image) == pytest.approx(value, rel=1e-4)


def test_a_network_without_slope_has_stretch_zero():
    params, x = network(12, 8, 4 * KRYLOV), np.ones((3, 12))
    found, _ = stretches(lambda params, x: perceptron(params, 0 * x), params, x, key=KEY)
    np.testing.assert_array_equal(found, 0.0)


@pytest.mark.parametrize("outputs", [3, 50])
def test_more_rounds_never_find_less_and_where_is_where(outputs):
    params, x = network(6, 12, outputs), np.random.default_rng(2).normal(size=(40, 6))
    few, _ = largest_stretch(perceptron, params, x, key=KEY, rounds=0, points=80)
    many, where = largest_stretch(perceptron, params, x, key=KEY, rounds=3)
    assert dense(params, x).max() * 0.97 <= few <= many
    assert many <= dense(params, where[None])[0] * (1 + 1e-9)


def test_few_points_are_few_points():
    params, x = network(6, 12, 3), np.random.default_rng(2).normal(size=(40, 6))
    value, _ = largest_stretch(perceptron, params, x, key=KEY, rounds=0, points=8)
    assert value == pytest.approx(dense(params, x[:4]).max())


def test_many_outputs_cost_no_more_passes_than_a_krylov_space():
    assert [stretch_passes(k) for k in (1, 10, 360)] == [1, 10, 2 * KRYLOV]
