"""Hand-written backpropagation against jax.grad, in every option of the network."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.differentiation import backpropagate, network_loss
from leadline.differentiation.backward_pass import adjoint_steps, hand_differentiated
from leadline.differentiation.loss_pairs import loss_pair
from leadline.networks import MLP
from leadline.training import minimise

X = jnp.asarray(np.random.default_rng(0).normal(size=(6, 4)))
LABELS = jnp.asarray([0, 1, 2, 0, 1, 2])
TARGETS = jnp.asarray(np.random.default_rng(1).normal(size=(6, 3)))


def drawn(widths, activation, seed=0, **options):
    """A network with numbers from NumPy, which needs no compilation."""
    skeleton = eqx.filter_eval_shape(MLP, widths, activation, key=jax.random.key(0), **options)
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape)), skeleton)


@eqx.filter_jit
def both(net, x, y, loss):
    return backpropagate(net, x, y, loss=loss), eqx.filter_grad(lambda net: network_loss(net, x, y, loss=loss))(net)


def assert_trees_close(a, b, **kw):
    for u, v in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(u, v, **kw)


@pytest.mark.parametrize(
    ("activation", "loss", "options"),
    [
        ("relu", "cross_entropy", {}),
        ("tanh", "squared", {"last_activation": True}),
        ("gelu", "cross_entropy", {"bias": False}),
        ("sin", "squared", {"parametrisation": "ntk", "gain": 1.5, "bias_scale": 0.3}),
    ],
)
def test_gradients_are_those_of_jax(activation, loss, options):
    net = drawn((4, 5, 3), activation, **options)
    hand, auto = both(net, X, LABELS if loss == "cross_entropy" else TARGETS, loss)
    assert_trees_close(hand.gradient, auto, rtol=1e-12, atol=1e-14)
    assert jax.tree.structure(hand.gradient) == jax.tree.structure(net)


def test_any_loss_will_do_and_the_input_gradient_is_a_by_product():
    net = drawn((4, 5, 3), "tanh")
    huber = lambda f, y: jnp.mean(optax.huber_loss(f, y))  # noqa: E731
    hand = eqx.filter_jit(backpropagate)(net, X, TARGETS, loss=huber)
    value, exact = jax.jit(jax.value_and_grad(lambda x: huber(jax.vmap(net)(x), TARGETS)))(X)
    np.testing.assert_allclose(hand.adjoints[0], exact, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(hand.loss, value, rtol=1e-14)


def test_cross_entropy_is_that_of_optax():
    logits = 20 * TARGETS
    expected = jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, LABELS))
    np.testing.assert_allclose(loss_pair("cross_entropy").value(logits, LABELS), expected, rtol=1e-13)


def test_a_trainer_descends_by_the_hand_written_gradient():
    net = drawn((4, 5, 3), "relu")
    plain = lambda net, x, y: network_loss(net, x, y, loss="cross_entropy")  # noqa: E731
    ends = [minimise(f, net, optax.adam(0.01), 20, X, LABELS) for f in (hand_differentiated("cross_entropy"), plain)]
    np.testing.assert_allclose(ends[0][1], ends[1][1], rtol=1e-11)
    assert_trees_close(ends[0][0], ends[1][0], rtol=1e-9, atol=1e-12)


def test_steps_carry_the_values_and_adjoints_of_the_passes():
    net = drawn((4, 5, 3), "relu")
    steps = list(adjoint_steps(net, X[0], TARGETS[0]))
    found = eqx.filter_jit(backpropagate)(net, X[:1], TARGETS[:1])
    last = {step.quantity: step.adjoint for step in steps if step.direction == "backward"}
    np.testing.assert_allclose(last["W1"], found.gradient.layers[0].weight, rtol=1e-13)
    np.testing.assert_allclose(last["h0"], found.adjoints[0][0], rtol=1e-13)
    assert all(step.adjoint is None for step in steps if step.direction == "forward")


def test_bad_input_is_refused():
    net = drawn((4, 5, 3), "relu")
    with pytest.raises(ValueError, match="takes 4 inputs"):
        backpropagate(net, X[:, :3], TARGETS)
    with pytest.raises(ValueError, match="no loss called 'mse'"):
        backpropagate(net, X, TARGETS, loss="mse")
