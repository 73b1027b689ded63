import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy_models import numpy_model

from leadline.networks import MLP, permute_units, random_permutations, rescale_units
from leadline.networks.symmetry.symmetries import layer_norms, permutation_copies, scale_balance, scale_invariants


@pytest.fixture(scope="module")
def net():
    return numpy_model(MLP, (3, 4, 5, 2))


X = jnp.asarray(np.random.default_rng(1).normal(size=(6, 3)))


def test_permuting_is_multiplication_by_permutation_matrices(net):
    orders = random_permutations(net, key=jax.random.key(3))
    moved = permute_units(net, orders)
    P, Q = (np.eye(len(p))[np.asarray(p)] for p in orders)
    np.testing.assert_array_equal(moved.layers[1].weight, Q @ np.asarray(net.layers[1].weight) @ P.T)
    np.testing.assert_array_equal(moved.layers[0].bias, P @ np.asarray(net.layers[0].bias))
    np.testing.assert_allclose(jax.vmap(moved)(X), jax.vmap(net)(X), rtol=1e-12)


def test_rescaling_keeps_the_function_and_changes_the_norms(net):
    moved = rescale_units(net, [jnp.array([0.1, 2.0, 3.0, 10.0]), jnp.full(5, 7.0)])
    np.testing.assert_allclose(jax.vmap(moved)(X), jax.vmap(net)(X), rtol=1e-12)
    assert layer_norms(moved)[-1] == pytest.approx(float(layer_norms(net)[-1]) / 49)


def test_networks_without_biases_can_be_moved_too():
    plain = numpy_model(MLP, (3, 4, 2), bias=False)
    for moved in (permute_units(plain, [jnp.array([3, 2, 1, 0])]), rescale_units(plain, [jnp.full(4, 3.0)])):
        np.testing.assert_allclose(moved(X[0]), plain(X[0]), rtol=1e-12)


def test_both_sides_of_the_balance_agree_for_relu_only(net):
    def loss(net):
        return jnp.sum(jnp.sin(jax.vmap(net)(X)))

    for into, out in scale_balance(net, jax.grad(loss)(net)):
        np.testing.assert_allclose(into, out, rtol=1e-10, atol=1e-12)
    curved = numpy_model(MLP, (3, 4, 2), "tanh")
    ((into, out),) = scale_balance(curved, jax.grad(loss)(curved))
    assert float(jnp.abs(into - out).max()) > 1e-3


def test_copies_are_counted_exactly_however_many():
    assert permutation_copies(numpy_model(MLP, (2, 25, 1))) == 15511210043330985984000000
    assert permutation_copies(numpy_model(MLP, (2, 1))) == 1


@pytest.mark.parametrize(
    ("move", "message"),
    [
        (lambda net: permute_units(net, [jnp.arange(4)]), "1 permutations for 2 hidden layers"),
        (lambda net: permute_units(net, [jnp.array([0, 0, 1, 2]), jnp.arange(5)]), "every unit exactly once"),
        (lambda net: rescale_units(net, [jnp.ones(4)]), "1 vectors of factors for 2"),
        (lambda net: rescale_units(net, [jnp.ones(3), jnp.ones(5)]), "one per unit"),
        (lambda net: rescale_units(net, [jnp.array([1.0, 0, 1, 1]), jnp.ones(5)]), "is 0"),
    ],
)
def test_what_is_no_symmetry_is_refused(net, move, message):
    with pytest.raises(ValueError, match=message):
        move(net)


def test_a_step_changes_the_invariants_by_the_square_of_the_step_only(net):
    gradient = jax.grad(lambda net: jnp.sum(jnp.sin(jax.vmap(net)(X))))(net)
    start = np.concatenate(scale_invariants(net))
    steps = [jax.tree.map(lambda p, g, eta=eta: p - eta * g, net, gradient) for eta in (1e-3, 5e-4)]
    change = [np.concatenate(scale_invariants(moved)) - start for moved in steps]
    np.testing.assert_allclose(change[0], 4 * change[1], rtol=1e-6, atol=1e-12)
    plain = numpy_model(MLP, (3, 4, 2), bias=False)
    norms = layer_norms(plain)
    assert float(scale_invariants(plain)[0].sum()) == pytest.approx(float(norms[1] - norms[0]))
