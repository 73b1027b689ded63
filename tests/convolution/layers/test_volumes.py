"""The volume form on a computed tomography of a head: 256 x 256 x 108 cells."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import ndimage

from leadline import data
from leadline.convolution import ConvLayer, ConvNetwork


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
