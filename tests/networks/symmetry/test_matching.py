from itertools import permutations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy_models import numpy_model

from leadline.networks import (
    MLP,
    barrier,
    interpolate,
    match_activations,
    match_weights,
    permute_units,
    unit_correlations,
)


def network(widths, seed, **options):
    return numpy_model(MLP, widths, seed=seed, **options)


def product(a, b):
    return sum(float(jnp.vdot(u, v)) for u, v in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


def test_with_one_hidden_layer_the_best_of_all_permutations_is_found():
    a, b = network((3, 5, 2), 0), network((3, 5, 2), 1)
    best = max(product(a, permute_units(b, [np.array(p)])) for p in permutations(range(5)))
    found = match_weights(a, b)
    assert product(a, found.network) == pytest.approx(best)
    assert found.objective[-1] == pytest.approx(best)


@pytest.mark.parametrize("options", [{}, {"bias": False}])
def test_the_objective_rises_and_the_function_stays(options):
    a, b = network((4, 8, 8, 8, 3), 0, **options), network((4, 8, 8, 8, 3), 1, **options)
    found = match_weights(a, b)
    assert (np.diff(found.objective) >= -1e-12).all()
    assert found.objective[-1] > found.objective[0]
    x = jnp.asarray(np.random.default_rng(2).normal(size=(5, 4)))
    np.testing.assert_allclose(jax.vmap(found.network)(x), jax.vmap(b)(x), rtol=1e-11, atol=1e-12)


def test_planted_permutations_are_undone_by_outputs_and_then_by_weights():
    a = network((4, 8, 8, 3), 0)
    rng = np.random.default_rng(3)
    planted = [rng.permutation(8), rng.permutation(8)]
    b = permute_units(a, planted)
    start = match_activations(a, b, rng.normal(size=(100, 4)))
    found = match_weights(a, b, start=start.permutations)
    assert [p.tolist() for p in found.permutations] == [np.argsort(p).tolist() for p in planted]


def test_correlations_are_numpys_and_dead_units_have_none():
    a, b = network((4, 5, 2), 0), network((4, 5, 2), 2)
    x = jnp.asarray(np.random.default_rng(4).normal(size=(60, 4)))
    found = unit_correlations(a, b, x)[0]
    both = [np.asarray(jax.vmap(net.trace)(x).post[1]) for net in (a, b)]
    np.testing.assert_allclose(found, np.corrcoef(*(h.T for h in both))[:5, 5:], atol=1e-12)
    dead = eqx.tree_at(lambda n: n.layers[0].bias, a, a.layers[0].bias.at[2].set(-1e3))
    assert unit_correlations(dead, b, x)[0][2].tolist() == [0.0] * 5


def test_networks_of_different_shape_are_not_matched():
    with pytest.raises(ValueError, match="one architecture"):
        match_weights(network((3, 5, 2), 0), network((3, 6, 2), 0))
    with pytest.raises(ValueError, match="one architecture"):
        match_activations(network((3, 5, 2), 0), network((3, 5, 2), 0, activation="tanh"), np.ones((2, 3)))


def test_interpolation_is_for_any_pytree():
    a, b = {"w": jnp.zeros(2), "n": 3, "s": 1.0}, {"w": jnp.ones(2), "n": 3, "s": 3.0}
    middle = interpolate(a, b, 0.5)
    assert (middle["w"].tolist(), middle["n"], middle["s"]) == ([0.5, 0.5], 3, 2.0)
    with pytest.raises(ValueError, match="different structure"):
        interpolate(a, {"w": jnp.ones(2)}, 0.5)
    with pytest.raises(ValueError, match="shapes"):
        interpolate({"w": jnp.zeros(2)}, {"w": jnp.zeros(3)}, 0.5)


def test_a_barrier_against_the_closed_form():
    # L(x) = (x² - 1)² from -1 to 1: no loss at the ends, 1 in the middle.
    found = barrier(lambda x: (x**2 - 1) ** 2, jnp.array(-1.0), jnp.array(1.0))
    np.testing.assert_allclose(found.losses, ((2 * found.alphas - 1) ** 2 - 1) ** 2, atol=1e-12)
    assert (len(found.alphas), found.height) == (25, 1.0)


def test_a_convex_loss_has_no_barrier_and_data_are_passed_on():
    def loss(w, x, y):
        return np.mean((np.asarray(x @ w) - y) ** 2)

    rng = np.random.default_rng(0)
    x, y, a, b = (rng.normal(size=s) for s in ((20, 3), 20, 3, 3))
    assert barrier(loss, jnp.asarray(a), jnp.asarray(b), x, y).height == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match="at least 3"):
        barrier(loss, jnp.asarray(a), jnp.asarray(b), x, y, points=2)
