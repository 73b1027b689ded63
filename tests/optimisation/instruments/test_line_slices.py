import jax.numpy as jnp
import numpy as np
import pytest

from leadline import networks, optimisation


def test_slice_of_a_cubic_is_the_cubic():
    found = optimisation.slice_loss(lambda w, c: c * jnp.sum(w**3), np.array([0.0]), np.array([2.0]), 2.0, points=9)
    assert found.values == pytest.approx(16 * found.t**3)
    assert found.curvature == pytest.approx(96 * found.t)
    assert found.barrier < 0


def test_models_are_interpolated_leaf_by_leaf_as_the_barrier_of_networks_does():
    rng = np.random.default_rng(0)
    a, b = ({"weight": rng.normal(size=3), "bias": rng.normal(size=1)} for _ in range(2))
    x = rng.normal(size=(5, 3))

    def loss(model, x, xp=jnp):
        return xp.mean(xp.tanh(x @ model["weight"] + model["bias"]) ** 2)

    found = optimisation.slice_loss(loss, a, b, jnp.asarray(x), points=13)
    reference = networks.barrier(lambda model: loss(model, x, np), a, b, points=13)
    assert found.values == pytest.approx(reference.losses)
    assert found.barrier == pytest.approx(reference.excess[1:-1].max())


def test_lines_without_inner_points_or_finite_losses_are_refused():
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        optimisation.slice_loss(jnp.sum, np.zeros(1), np.ones(1), points=2)
    with pytest.raises(ValueError, match="at t ="):
        optimisation.slice_loss(lambda w: jnp.log(w[0]), np.array([1.0]), np.array([-1.0]))
