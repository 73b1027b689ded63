import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.signal import correlate2d

from leadline import networks
from leadline.networks.architectures.image_classifiers import permute_inputs, train_classifier


def test_the_convolutional_network_is_correlation_relu_and_pooling():
    net = networks.ConvClassifier(8, 4, 3, channels=2, dtype=jnp.float64, key=jax.random.key(0))
    hidden = [np.random.default_rng(0).normal(size=(8, 4))]
    image = hidden[0]
    for layer in (net.first, net.second):
        maps = []
        for kernels, bias in zip(np.asarray(layer.weight), np.asarray(layer.bias), strict=True):
            map_ = sum(correlate2d(h, k, mode="same") for h, k in zip(hidden, kernels, strict=True)) + bias.item()
            map_ = np.maximum(map_, 0)
            maps.append(np.max([map_[i::2, j::2] for i in (0, 1) for j in (0, 1)], axis=0))
        hidden = maps
    expected = np.asarray(net.head.weight) @ np.concatenate([h.ravel() for h in hidden]) + np.asarray(net.head.bias)
    assert np.allclose(net(jnp.asarray(image)), expected)


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


def test_images_that_cannot_be_halved_twice_are_refused():
    with pytest.raises(ValueError, match="multiples of 4"):
        networks.ConvClassifier(6, 8, 10, key=jax.random.key(0))
