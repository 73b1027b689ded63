"""The sight instrument: closed forms for linear convolutions, a network written elsewhere, and what does not apply."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from studies.small_subjects import linear_subject

from leadline.convolution import ConvLayer, ConvNetwork, DenseLayer, GlobalPool, PoolLayer, pyramid
from leadline.studies import as_subject
from leadline.studies.instruments.sight import INSTRUMENT, STEPWISE, measure

RNG = np.random.default_rng(0)


def images(shape, count=40, classes=4, rng=RNG):
    return rng.normal(size=(count, *shape)).astype(np.float32), np.arange(count) % classes


def stack(stride, *kernels):
    """Convolutions without activation, then the mean of each half of the channels' positions as two scores."""

    def apply(params, x):
        x = x[:, None]
        for w in params:
            x = jax.lax.conv(x, w, (stride, stride), "VALID")
        return x.reshape(len(x), 2, -1).mean(2)

    return apply, [jnp.asarray(k, jnp.float32) for k in kernels]


def test_constant_kernels_have_the_field_and_the_width_of_the_formula():
    ones = np.ones((1, 1, 3, 3))
    subject = as_subject(stack(1, ones, ones, np.concatenate([ones, 2 * ones])), images((12, 12), classes=2))
    card = INSTRUMENT(subject)
    field = card["field"]
    assert field["size"] == [7, 7]
    assert (field["first"], field["last"]) == ([3, 3], [9, 9]) == (field["seen_first"], field["seen_last"])
    assert field["predicted"] == pytest.approx([np.sqrt(3 * 8 / 12)] * 2)
    assert field["deviation"] == pytest.approx(field["predicted"], rel=1e-5)
    assert field["share"] == pytest.approx(49 / 144)
    assert card.counts()["fails"] == 0
    assert card["strides"] == []
    assert "No layer has a stride" in card.meaning.sentence


def test_a_stride_that_keeps_every_other_pixel_makes_a_wave_into_its_opposite():
    wave = np.tile(np.array([1.0, -1.0], np.float32), (20, 8, 4)) * RNG.uniform(1, 2, (20, 1, 1)).astype(np.float32)
    kernels = np.ones((2, 1, 1, 1))
    subject = as_subject(stack(2, kernels), (wave, np.arange(20) % 2))
    card = INSTRUMENT(subject)
    (stride,) = card["strides"]
    assert stride["energy"] == pytest.approx(1.0)
    assert stride["predicted"] == pytest.approx(2.0)
    assert stride["measured"] == pytest.approx(stride["predicted"])
    assert card["changes"] == pytest.approx([2.0, 0.0])
    assert "Blur before the stride" in card.meaning.advice
    (stepwise,) = (c for c in card.finding.comparisons if c.what == STEPWISE)
    assert (str(stepwise.verdict), stepwise.measured) == ("holds", pytest.approx(-2.0))


def test_a_head_that_knows_places_is_told_from_a_stride():
    """Weights that grow with the place: a shift by two pixels changes the outputs more than a shift by one."""
    ramp = jnp.arange(16.0).reshape(16, 1) * jnp.ones((1, 2))

    def apply(params, x):
        kept = jax.lax.conv(x[:, None], params["w"], (2, 2), "VALID").reshape(len(x), -1)
        return kept @ params["head"]

    images = np.zeros((40, 8, 8), np.float32)
    images[:, 2:4, 1:5] = RNG.uniform(1, 2, (40, 1, 1))
    params = {"w": jnp.ones((1, 1, 1, 1)), "head": jnp.asarray(ramp)}
    card = INSTRUMENT(as_subject((apply, params), (images, np.arange(40) % 2)))
    (stepwise,) = (c for c in card.finding.comparisons if c.what == STEPWISE)
    assert str(stepwise.verdict) == "fails"
    assert "Blur" not in card.meaning.advice


def test_a_specified_network_and_its_poolings_are_followed():
    layers = [
        ConvLayer(4, 3, padding="same", wrap=True),
        PoolLayer(2),
        ConvLayer(8, 3, padding="same"),
        PoolLayer(3, 2, kind="mean"),
        ConvLayer(8, 3),
        GlobalPool(),
        DenseLayer(4),
    ]
    net = ConvNetwork(layers, (1, 32, 32), dtype=jnp.float32, key=jax.random.key(0))
    card = INSTRUMENT(as_subject(net, images((1, 32, 32))))
    assert card["field"]["size"] == [net.costs().rows[4].field] * 2
    assert card["field"]["jump"] == [4, 4]


def test_a_padded_network_sees_what_kernels_and_strides_say():
    net = ConvNetwork(pyramid((2, 4), 3), (1, 8, 8), channels_last=True, dtype=float, key=jax.random.key(0))
    subject = as_subject(net, images((8, 8), classes=3))
    found = measure(subject, jax.random.key(0))
    assert (found.field.size, found.field.jump) == ((8, 8), (2, 2))
    assert (found.field.first, found.field.last) == ((1, 1), (7, 7))  # i·jump - offset = 2·2 - 3, cut off at 7
    assert found.widths is None
    assert all(a >= b for a, b in zip(found.field.seen_first, found.field.first, strict=True))
    assert all(a <= b for a, b in zip(found.field.seen_last, found.field.last, strict=True))


def test_the_network_of_pytorchs_tutorial_on_its_images():
    torch = pytest.importorskip("torch")
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 6, 5),
        nn.ReLU(),
        nn.MaxPool2d(2, 2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2, 2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    )
    card = INSTRUMENT(as_subject(net, images((3, 32, 32), classes=10)))
    assert card["field"]["size"] == [14, 14]
    assert [s["pixels"] for s in card["strides"]] == [1, 2]
    assert card["total"] == 4
    assert len(card["changes"]) == 4
    (picture,) = card.finding.figures
    assert "14 x 14 pixels" in picture.title


def test_networks_without_images_or_convolutions_are_told_why():
    assert "no images" in INSTRUMENT(linear_subject()).skipped
    dense = as_subject((lambda p, x: x.reshape(len(x), -1) @ p, jnp.ones((64, 4))), images((8, 8)))
    assert "no convolution" in INSTRUMENT(dense).skipped
