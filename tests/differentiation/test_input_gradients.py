"""Input gradients and saliency."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.differentiation import input_gradient, saliency
from leadline.networks import MLP
from leadline.robustness import fgsm

RNG = np.random.default_rng(0)
X, Y = jnp.asarray(RNG.normal(size=(5, 4))), jnp.asarray([0, 1, 2, 0, 1])
SKELETON = eqx.filter_eval_shape(MLP, (4, 6, 3), "tanh", key=jax.random.key(0))
NETWORK = jax.tree.map(lambda leaf: jnp.asarray(RNG.normal(size=leaf.shape)), SKELETON)
NET = jax.jit(lambda x: NETWORK(x))


def test_the_input_gradient_is_that_of_each_example_alone():
    found = eqx.filter_jit(input_gradient)(NET, X, Y)
    h = 1e-6
    score = jax.jit(lambda x: -jax.nn.log_softmax(NET(x))[Y[2]])
    numeric = [(score(X[2] + h * e) - score(X[2] - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(found[2], numeric, atol=1e-8)


def test_images_keep_their_shape():
    model = lambda image: jnp.stack([image.sum(), image[0, 0]])  # noqa: E731
    assert input_gradient(model, jnp.ones((2, 3, 3)), jnp.array([0, 1])).shape == (2, 3, 3)
    assert saliency(model, jnp.ones((2, 3, 3)), 1)[0].sum() == 1.0


def test_saliency_is_of_the_predicted_class_unless_told():
    predicted = jnp.argmax(jax.vmap(NET)(X), axis=1)
    np.testing.assert_array_equal(saliency(NET, X), saliency(NET, X, predicted))
    with pytest.raises(ValueError, match="vector of scores"):
        saliency(lambda x: x.sum(), X)


def test_one_small_step_raises_the_loss_by_the_one_norm_of_its_gradient():
    loss = jax.jit(lambda x: -jax.nn.log_softmax(jax.vmap(NET)(x))[jnp.arange(5), Y])
    eps = 1e-6
    gain = loss(fgsm(lambda net, x: jax.vmap(net)(x), NETWORK, X, Y, eps)) - loss(X)
    np.testing.assert_allclose(gain / eps, jnp.abs(input_gradient(NET, X, Y)).sum(axis=1), rtol=1e-4)
