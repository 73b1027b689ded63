import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import networks
from leadline.networks.architectures.image_classifiers import permute_inputs, train_classifier


def test_permuting_the_first_layer_undoes_a_permutation_of_the_inputs():
    net = eqx.nn.MLP(6, 3, 5, 2, key=jax.random.key(0))
    x, order = jnp.arange(6.0) ** 0.5, jax.random.permutation(jax.random.key(1), 6)
    assert np.allclose(permute_inputs(net, order)(x[order]), net(x))
    assert not np.allclose(net(x[order]), net(x))


def test_training_learns_what_can_be_learnt():
    inputs = jax.random.normal(jax.random.key(0), (300, 4), jnp.float32)
    labels = (inputs[:, 0] > inputs[:, 1]).astype(int)
    net = eqx.nn.MLP(4, 2, 16, 1, dtype=jnp.float32, key=jax.random.key(1))
    trained = train_classifier(net, inputs, labels, num_steps=300, rate=1e-2, key=jax.random.key(2))
    by_hand = np.mean([np.argmax(trained(x)) == t for x, t in zip(inputs[:50], labels[:50], strict=True)])
    assert float(networks.accuracy(trained, inputs[:50], labels[:50])) == pytest.approx(by_hand)
    assert by_hand > 0.9
