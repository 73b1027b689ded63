import math

import jax
import numpy as np
import pytest

from leadline import as_apply, networks
from leadline.networks.dissection import dissect, is_odd, read_dense_chain
from leadline.networks.dissection.elementwise import scalar_function
from leadline.networks.symmetry.symmetries import permutation_copies, scale_invariants
from leadline.training.objectives import LOSSES


def chain_of(net):
    return dissect(*as_apply(net), np.ones((2, 3), np.float32)).chain


@pytest.fixture(scope="module")
def net():
    return networks.MLP((3, 5, 4, 2), "relu", key=jax.random.key(0))


@pytest.fixture(scope="module")
def dense(net):
    return read_dense_chain(chain_of(net))


X = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)


def test_it_computes_the_network(net, dense):
    assert np.allclose(dense(X), jax.vmap(net)(X), atol=1e-5)
    assert np.all(np.abs(np.asarray(dense(X), float) - np.asarray(jax.vmap(net)(X), float)) <= 2 * dense.rounding(X))


def test_reordering_is_that_of_the_network(net, dense):
    orders = [np.array([4, 2, 0, 1, 3]), np.array([3, 0, 2, 1])]
    moved = networks.permute_units(net, orders)
    for mine, theirs in zip(dense.reorder(orders).weights, moved.layers, strict=True):
        assert np.allclose(mine, theirs.weight)


def test_rescaling_is_that_of_the_network_and_keeps_the_outputs(net, dense):
    factors = [np.array([0.1, 1.0, 2.0, 5.0, 10.0]), np.array([3.0, 1.0, 0.5, 2.0])]
    moved = dense.rescale(factors)
    theirs = networks.rescale_units(net, [jax.numpy.asarray(f) for f in factors])
    assert np.allclose(moved.weights[1], theirs.layers[1].weight, rtol=1e-5)
    assert np.allclose(moved(X), dense(X), atol=1e-4)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_what_an_activation_allows_changes_no_output_by_more_than_rounding(activation):
    net = networks.MLP((3, 5, 4, 2), activation, key=jax.random.key(1))
    dense, rng = read_dense_chain(chain_of(net)), np.random.default_rng(1)
    moved = [dense.reorder([rng.permutation(n) for n in dense.widths])]
    if activation == "relu":
        moved.append(dense.rescale([10.0 ** rng.uniform(-1, 1, n) for n in dense.widths]))
    else:
        moved.append(dense.rescale([rng.choice([-1.0, 1.0], n) for n in dense.widths]))
    for other in moved:
        apart = np.abs(np.asarray(other(X), float) - np.asarray(dense(X), float))
        assert np.all(apart <= dense.rounding(X) + other.rounding(X))
        assert any(not np.array_equal(a, b) for a, b in zip(other.weights, dense.weights, strict=True))


def test_what_an_activation_does_not_allow_changes_the_outputs():
    dense = read_dense_chain(chain_of(networks.MLP((3, 5, 4, 2), "tanh", key=jax.random.key(1))))
    assert not np.allclose(dense.rescale([np.full(n, 3.0) for n in dense.widths])(X), dense(X), atol=1e-2)


def test_softmax_does_not_see_a_constant_so_the_heads_gradient_sums_to_zero_over_classes(dense):
    labels = np.arange(len(X)) % 2
    gradient = jax.grad(lambda c: LOSSES["cross-entropy"](c(X), labels).mean())(dense)
    assert np.abs(np.asarray(gradient.weights[-1]).sum(0)).max() < 1e-6 < np.abs(gradient.weights[-1]).max()
    assert abs(float(gradient.biases[-1].sum())) < 1e-6


def test_copies_are_factorials_and_equal_units_count_once(net, dense):
    assert dense.copies() == pytest.approx(math.log10(permutation_copies(net)))
    zeros = networks.MLP((3, 4, 2), init="zeros", key=jax.random.key(0))
    assert read_dense_chain(chain_of(zeros)).copies() == pytest.approx(0.0)


def test_invariants_and_balance_are_those_of_the_network(net, dense):
    expected = [float(np.sum(v)) for v in scale_invariants(net)]
    assert np.allclose(dense.invariants(), expected, rtol=1e-5)
    gradient = jax.grad(lambda c: (c(X) ** 2).mean())(dense)
    into, out = dense.unit_balance(gradient)
    assert into.shape == (9,)
    assert np.allclose(into, out, atol=1e-5)


def test_a_chain_that_ends_with_an_activation_is_refused():
    chain = dissect(lambda w, x: jax.numpy.tanh(x @ w), jax.numpy.ones((3, 2)), np.ones((2, 3))).chain
    with pytest.raises(ValueError, match="dense"):
        read_dense_chain(chain)


def test_odd_functions_are_known():
    assert [is_odd([scalar_function(f)]) for f in (jax.numpy.tanh, jax.nn.relu)] == [True, False]
