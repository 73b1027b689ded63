"""Patches that excite units against loops over all positions; images made to excite them against closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.convolution import ConvLayer, ConvNetwork, PoolLayer, maximise_responses, top_patches


@pytest.fixture(scope="module")
def net():
    layers = [ConvLayer(3, 3, padding="same"), PoolLayer(2), ConvLayer(2, 3, padding="same"), ConvLayer(1, 1)]
    return ConvNetwork(layers, (1, 8, 8), dtype=float, key=jax.random.key(0))


def test_the_best_patches_are_those_of_a_loop_over_images(net):
    images = np.random.default_rng(0).normal(size=(6, 8, 8))
    found = top_patches(net, images, 2, 3)
    assert found.patches.shape == (2, 3, 8, 8)
    for channel in range(2):
        maps = [np.asarray(net.stages(jnp.asarray(x)[None])[2])[channel] for x in images]
        best = sorted(range(6), key=lambda i: -maps[i].max())[:3]
        assert found.images[channel].tolist() == best
        np.testing.assert_allclose(found.responses[channel], [maps[i].max() for i in best], rtol=1e-12)
        for k, i in enumerate(best):
            row, column = np.unravel_index(maps[i].argmax(), (4, 4))
            assert found.places[channel, k].tolist() == [row, column]
            padded = np.pad(images[i], 8)  # output p of the third layer sees 2p - 3, ..., 2p + 4
            expected = padded[8 + 2 * row - 3 : 16 + 2 * row - 3, 8 + 2 * column - 3 : 16 + 2 * column - 3]
            np.testing.assert_array_equal(found.patches[channel, k], expected)


def test_a_first_layer_unit_is_excited_most_by_its_own_weights(net):
    start = np.random.default_rng(1).normal(size=(3, 8, 8))
    units = np.array([[c, 4, 3] for c in range(3)])
    for c in range(3):  # where the unit responds
        start[c, 3:6, 2:5] = net.built[0].weight[c, 0]
    found = maximise_responses(net, start, 0, units, norm=2.0, num_steps=400)
    for c in range(3):
        weight = np.asarray(net.built[0].weight[c, 0])
        expected = np.zeros((8, 8))
        expected[3:6, 2:5] = 2 * weight / np.linalg.norm(weight)
        np.testing.assert_allclose(found[c], expected, atol=0.02)


def test_a_deeper_unit_responds_more_and_the_norm_is_kept(net):
    images = np.random.default_rng(2).normal(size=(6, 8, 8))
    best = top_patches(net, images, 2, 1)
    starts = images[best.images[:, 0]]
    starts = 3 * starts / np.linalg.norm(starts, axis=(1, 2), keepdims=True)
    units = np.column_stack([np.arange(2), best.places[:, 0]])
    made = maximise_responses(net, starts, 2, units, norm=3.0)
    np.testing.assert_allclose(np.linalg.norm(made, axis=(1, 2)), 3.0, rtol=1e-10)
    for (c, i, j), before, after in zip(units, starts, made, strict=True):
        assert net.stages(jnp.asarray(after)[None])[2][c, i, j] > net.stages(jnp.asarray(before)[None])[2][c, i, j]


def test_bad_requests_are_refused(net):
    with pytest.raises(ValueError, match="count 9 of 2 images"):
        top_patches(net, np.ones((2, 8, 8)), 0, 9)
    with pytest.raises(ValueError, match="start of zeros"):
        maximise_responses(net, np.zeros((1, 8, 8)), 0, np.zeros((1, 3), int))
