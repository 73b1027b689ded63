"""Normalisations against Equinox's and Flax's, forwards and backwards, and what they refuse."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from leadline.regularisation import BatchNorm, normalisation
from leadline.regularisation.layers.running_statistics import empty_statistics

RNG = np.random.default_rng(0)
DENSE = jnp.asarray(RNG.normal(2.0, 3.0, size=(7, 6)))
IMAGES = jnp.asarray(RNG.normal(2.0, 3.0, size=(3, 6, 4, 5)))  # channels first, as in Equinox
SCALE, SHIFT = jnp.asarray(RNG.normal(size=6)), jnp.asarray(RNG.normal(size=6))


def affine(layer):
    layer = eqx.tree_at(lambda n: n.weight, layer, SCALE)
    return layer if layer.bias is None else eqx.tree_at(lambda n: n.bias, layer, SHIFT)


def over_batch(layer, state, x, inference=False):
    def one(x, state):
        return layer(x, state, inference=inference)

    return jax.vmap(one, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(x, state)


def value_and_slope(function, x):
    weights = jnp.sin(jnp.arange(x.size)).reshape(x.shape)
    return function(x), jax.grad(lambda x: jnp.sum(weights * function(x)))(x)


def agree(ours, theirs, x):
    for a, b in zip(value_and_slope(ours, x), value_and_slope(theirs, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


def of_flax(module):
    """On channels first: moved to the end, where Flax has them."""
    module.scale[...] = SCALE
    if getattr(module, "bias", None) is not None:
        module.bias[...] = SHIFT
    return lambda x: jnp.moveaxis(nnx.clone(module)(jnp.moveaxis(x, 1, -1)), -1, 1)


@pytest.mark.parametrize("x", [DENSE, IMAGES], ids=["dense", "images"])
def test_batch_normalisation_in_training_is_that_of_equinox_and_flax(x):
    layer, state = eqx.nn.make_with_state(BatchNorm)(6)
    theirs, their_state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(6, "batch", mode="batch")
    layer, theirs = affine(layer), affine(theirs)
    agree(lambda x: over_batch(layer, state, x)[0], lambda x: over_batch(theirs, their_state, x)[0], x)
    flax = nnx.BatchNorm(6, momentum=0.99, epsilon=1e-5, param_dtype=float, rngs=nnx.Rngs(0))
    agree(lambda x: over_batch(layer, state, x)[0], of_flax(flax), x)


def test_images_are_normalised_as_their_pixels_in_rows():
    layer, state = eqx.nn.make_with_state(BatchNorm)(6)
    rows = jnp.moveaxis(IMAGES, 1, -1).reshape(-1, 6)
    flat, _ = over_batch(layer, state, rows)
    whole, _ = over_batch(layer, state, IMAGES)
    np.testing.assert_allclose(jnp.moveaxis(whole, 1, -1).reshape(-1, 6), flat, rtol=1e-10)


def test_running_statistics_are_the_weighted_means_of_those_of_the_batches():
    layer, state = eqx.nn.make_with_state(BatchNorm)(6, momentum=0.9)
    batches = RNG.normal(size=(5, 8, 6)) * np.arange(1, 7)
    for batch in batches:
        _, state = over_batch(layer, state, jnp.asarray(batch))
    weights = 0.9 ** np.arange(4, -1, -1)
    weights /= weights.sum()
    mean, variance = layer.statistics(state)
    np.testing.assert_allclose(mean, weights @ batches.mean(axis=1), rtol=1e-9)
    np.testing.assert_allclose(variance, weights @ batches.var(axis=1), rtol=1e-9)
    assert int(layer.batches_seen(state)) == 5
    used, after = over_batch(affine(layer), state, DENSE, inference=True)
    np.testing.assert_allclose(used, (DENSE - mean) / np.sqrt(variance + 1e-5) * SCALE + SHIFT, rtol=1e-9)
    assert eqx.tree_equal(after, state)


def test_running_statistics_are_those_of_flax_but_for_its_beginning_at_0_and_1():
    layer, state = eqx.nn.make_with_state(BatchNorm)(6, momentum=0.9)
    flax = nnx.BatchNorm(6, momentum=0.9, param_dtype=float, rngs=nnx.Rngs(0))
    for _ in range(4):
        _, state = over_batch(layer, state, DENSE)
        flax(DENSE)
    mean, variance = layer.statistics(state)
    np.testing.assert_allclose(flax.mean[...], (1 - 0.9**4) * mean, rtol=1e-6)
    np.testing.assert_allclose(flax.var[...], (1 - 0.9**4) * variance + 0.9**4, rtol=1e-6)


def test_the_average_of_equinox_is_too_large_by_what_the_docstring_says():
    ours, state = eqx.nn.make_with_state(BatchNorm)(6)
    theirs, their_state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(6, "batch", mode="batch")
    for _ in range(10):
        _, state = over_batch(ours, state, DENSE)
        _, their_state = over_batch(theirs, their_state, DENSE)
    excess = 0.99**10 / (1 - 0.99**10)
    assert excess == pytest.approx(9.46, abs=0.01)
    their_variance = their_state.get(theirs.batch_state_index)[1] / (1 - 0.99**10)
    np.testing.assert_allclose(their_variance - ours.statistics(state)[1], excess, rtol=1e-9)


@pytest.mark.parametrize("name", ["layer", "rms", "group"])
def test_normalisations_of_one_example_are_those_of_equinox_and_flax(name):
    made = affine(normalisation(name, 6, groups=3, spatial=False))
    equinox = {"layer": eqx.nn.LayerNorm(6), "rms": eqx.nn.RMSNorm(6, use_bias=False), "group": eqx.nn.GroupNorm(3, 6)}
    agree(jax.vmap(made), jax.vmap(affine(equinox[name])), DENSE)
    options = {"epsilon": 1e-5, "param_dtype": float, "rngs": nnx.Rngs(0)}
    if name == "group":
        theirs = nnx.GroupNorm(6, 3, **options)
    else:
        theirs = {"layer": nnx.LayerNorm, "rms": nnx.RMSNorm}[name](6, **options)
    agree(jax.vmap(made), of_flax(theirs), DENSE)


@pytest.mark.parametrize(("name", "groups"), [("layer", 1), ("group", 2), ("instance", 6)])
def test_normalisations_of_images_are_those_of_flax(name, groups):
    made = affine(normalisation(name, 6, groups=2))
    options = {"epsilon": 1e-5, "param_dtype": float, "rngs": nnx.Rngs(0)}
    agree(jax.vmap(made), of_flax(nnx.GroupNorm(6, groups, **options)), IMAGES)
    if name == "instance":
        agree(jax.vmap(made), of_flax(nnx.InstanceNorm(6, **options)), IMAGES)


def test_a_batch_of_one_is_refused_in_training_and_taken_in_use():
    layer, state = eqx.nn.make_with_state(BatchNorm)(6)
    with pytest.raises(ValueError, match="got a batch of one"):
        over_batch(layer, state, DENSE[:1])
    _, state = over_batch(layer, state, DENSE)
    assert over_batch(layer, state, DENSE[:1], inference=True)[0].shape == (1, 6)
    layer, state = eqx.nn.make_with_state(BatchNorm)(6)
    assert over_batch(layer, state, IMAGES[:1])[0].shape == (1, 6, 4, 5)  # one image has many pixels


def test_bad_arguments_are_told_in_a_sentence():
    with pytest.raises(ValueError, match="6 channels for 4 groups"):
        normalisation("group", 6, groups=4)
    with pytest.raises(ValueError, match="over space"):
        normalisation("instance", 6, spatial=False)
    with pytest.raises(ValueError, match="momentum 1"):
        BatchNorm(6, momentum=1)


@pytest.mark.parametrize("mode", ["batch", "ema"])
def test_layers_that_have_seen_no_batch_are_named(mode):
    net, state = eqx.nn.make_with_state(eqx.nn.Sequential)(
        [eqx.nn.Identity(), eqx.nn.BatchNorm(6, "batch", mode=mode), eqx.nn.BatchNorm(6, "batch", mode=mode)]
    )
    assert empty_statistics(net, state) == ["layers[1]", "layers[2]"]
    _, state = jax.vmap(net, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(DENSE, state)
    assert empty_statistics(net, state) == []


@pytest.mark.parametrize("inference", [False, True])
def test_channels_on_the_last_axis_are_normalised_as_on_the_first(inference):
    layer, state = eqx.nn.make_with_state(BatchNorm)(6)
    layer = affine(layer)
    _, state = over_batch(layer, state, IMAGES)

    def last(x, state):
        return layer(x, state, inference=inference, channels=-1)

    expected, then = over_batch(layer, state, IMAGES, inference)
    moved = jax.vmap(last, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(jnp.moveaxis(IMAGES, 1, -1), state)
    np.testing.assert_allclose(jnp.moveaxis(moved[0], -1, 1), expected, rtol=1e-12)
    for a, b in zip(layer.statistics(moved[1]), layer.statistics(then), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
