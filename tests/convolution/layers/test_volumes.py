"""The volume form on a computed tomography of a head: 256 x 256 x 108 cells."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy import ndimage

from leadline import data, training
from leadline.convolution import ConvLayer, ConvNetwork
from leadline.regularisation import paired_difference

BONE = 226.0  # Hounsfield units, from which InVesalius counts bone


@pytest.fixture(scope="module")
def head():
    """Every second cell of the head, in thousands of Hounsfield units above air: (128, 128, 54)."""
    try:
        volume = data.load("head-ct", notice=lambda _: None)
    except data.DataUnavailable as unavailable:
        pytest.skip(str(unavailable))
    assert volume.values.shape == (256, 256, 108)
    assert volume.spacing.round(3).tolist() == [0.957, 0.957, 1.5]
    assert volume.values.min() == -1024
    return (volume.values[::2, ::2, ::2] + 1024) / 1000


@pytest.mark.slow
def test_a_layer_on_a_head_is_scipys_correlation_of_the_volume(head, optimised_as_for_users):
    net = ConvNetwork([ConvLayer(2, 3, padding="same")], (1, *head.shape), dtype=jnp.float32, key=jax.random.key(0))
    found = np.asarray(eqx.filter_jit(net)(jnp.asarray(head[None])))
    layer = net.built[0]
    for channel in range(2):
        expected = ndimage.correlate(head, np.asarray(layer.weight)[channel, 0], mode="constant")
        np.testing.assert_allclose(found[channel], expected + layer.bias[channel], atol=1e-4)


@pytest.mark.slow
def test_a_network_finds_bone_in_a_noisy_head_better_than_a_threshold(head, optimised_as_for_users):
    """Trained on one half of the head and tested on the other; a threshold does not see a cell's neighbours."""
    noisy = head + 0.3 * np.random.default_rng(0).normal(size=head.shape).astype(np.float32)
    bone = (head >= (BONE + 1024) / 1000).astype(int)
    blocks, labels = (_blocks(volume) for volume in (noisy, bone))
    left = np.arange(len(blocks)) < len(blocks) // 2
    layers = [ConvLayer(8, 3, padding="same"), ConvLayer(2, 3, padding="same")]
    net = ConvNetwork(layers, (1, *blocks.shape[1:]), dtype=jnp.float32, key=jax.random.key(1))

    def loss(net, batch, key, state):
        images, labels = batch
        scores = jnp.moveaxis(jax.vmap(net)(images[:, None]), 1, -1)
        losses = optax.softmax_cross_entropy_with_integer_labels(scores, labels)
        return losses.mean((1, 2, 3)), state

    rows = (blocks[left], labels[left])
    options = {"optimiser": optax.adam(0.01), "epochs": 8, "batch": 16, "key": jax.random.key(2)}
    run = training.fit(net, rows, objective=loss, **options)
    scores = np.asarray(jax.lax.map(run.model, blocks[~left][:, None], batch_size=16))
    wrong = (scores.argmax(1) != labels[~left]).mean((1, 2, 3))
    cut = min(np.linspace(0.8, 1.8, 21), key=lambda cut: np.mean((rows[0] >= cut) != rows[1]))
    by_threshold = ((blocks[~left] >= cut) != labels[~left]).mean((1, 2, 3))
    assert paired_difference(by_threshold, wrong).low > 0


def _blocks(volume):
    """Cubes of 16 cells that tile as much of a volume as they can, from its first axis on."""
    a, b, c = (n // 16 for n in volume.shape)
    cut = volume[: 16 * a, : 16 * b, : 16 * c].reshape(a, 16, b, 16, c, 16)
    return cut.transpose(0, 2, 4, 1, 3, 5).reshape(-1, 16, 16, 16)
