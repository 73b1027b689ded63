"""Whole networks: numbers of an independent library, two ways through all positions, edge cases, bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import infinite_width as iw
from leadline.infinite_width.layers.attention import Attention
from leadline.infinite_width.layers.branches import FanInConcat, FanOut
from leadline.infinite_width.layers.combinators import Identity
from leadline.infinite_width.layers.layer import Covariance, Form
from leadline.infinite_width.layers.normalisation import LayerNorm
from leadline.infinite_width.layers.pooling import AvgPool, Flatten
from leadline.infinite_width.pair_tiles import fill, over_tiles

RNG = np.random.default_rng(0)
IMAGES, OTHERS = RNG.normal(size=(3, 6, 5, 2)), RNG.normal(size=(2, 6, 5, 2))
WORDS, WORDS_2 = RNG.normal(size=(3, 5, 4)), RNG.normal(size=(2, 5, 4))
LAST = iw.Dense(1, 1.1, 0.1)


def conv(**options):
    return iw.Conv(8, (3, 3), W_std=1.3, b_std=0.2, **options)


def standard(width, *spread):
    return iw.Dense(width, *spread, parametrisation="standard")


STDS = {"W_key_std": 1.2, "W_value_std": 1.1, "W_query_std": 0.9, "W_out_std": 1.3, "b_std": 0.3}
# The last entries of the kernels of IMAGES and OTHERS, or WORDS and WORDS_2, in neural-tangents 0.6.5.
NETWORKS = {
    "images": (
        iw.serial(
            conv(padding="VALID", strides=(1, 2)),
            LayerNorm(),
            iw.Relu(),
            AvgPool((2, 1)),
            conv(),
            iw.residual(iw.Erf(), conv(padding="CIRCULAR")),
            iw.Relu(),
            iw.GlobalAvgPool(),
            LAST,
        ),
        0.253943146790,
        0.427481267232,
    ),
    "words": (
        iw.serial(
            iw.Conv(8, (3,), W_std=1.3, b_std=0.2),
            iw.Relu(),
            Attention(8, **STDS),
            iw.Relu(),
            Attention(8, mechanism="identity", scaling="square_root", **STDS),
            Flatten(),
            LAST,
        ),
        1.590996038159,
        13.924144715283,
    ),
    "standard parametrisation": (
        iw.serial(
            standard(8, 1.2, 0.1),
            iw.Relu(),
            FanOut(2),
            iw.parallel(standard(5, 1.3, 0.1), standard(9, 1.1, 0.3)),
            FanInConcat(),
            Flatten(),
            standard(1, 1.0, 0.1),
        ),
        0.462350703604,
        194.896041430449,
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_agree_with_an_independent_library(name):
    net, nngp, ntk = NETWORKS[name]
    pair = (WORDS, WORDS_2) if name == "words" else (IMAGES, OTHERS)
    found = net.kernel_fn(*pair, ("nngp", "ntk"))
    np.testing.assert_allclose([k[2, 1] for k in found], [nngp, ntk], rtol=1e-10)


def test_offsets_one_at_a_time_and_all_positions_at_once_agree():
    net = iw.serial(conv(padding="CIRCULAR"), iw.residual(iw.Erf(), conv()), iw.Relu(), iw.GlobalAvgPool(), LAST)
    x = jnp.asarray(IMAGES[:, :4, :3])
    whole = jax.jit(lambda x: over_tiles(net, Form((4, 3), 2, True), True, x, None))(x)
    np.testing.assert_allclose(net.kernel_fn(x), whole.ntk, rtol=1e-12)


def test_tiles_of_any_size_give_the_whole_matrix():
    a = RNG.normal(size=(7, 3))
    whole = a @ a.T

    def block(i, j, rows, columns):
        part = jax.lax.dynamic_slice(jnp.asarray(whole), (i, j), (rows, columns))
        return Covariance(part, None)

    for rows, columns in ((1, 1), (2, 3), (4, 2), (7, 5)):
        np.testing.assert_array_equal(fill(block, 7, 7, rows, columns, True).nngp, whole)
        np.testing.assert_array_equal(fill(block, 7, 7, rows, columns, False).nngp, whole)


def test_a_finite_network_has_this_covariance_over_initialisations():
    # one hidden layer: the mean over initialisations is the limit at every width
    hidden = iw.Conv(32, (2, 2), padding="VALID", b_std=0.4)
    net = iw.serial(hidden, iw.Relu(), iw.GlobalAvgPool(), iw.Dense(1, b_std=0.3))
    x = jnp.asarray(IMAGES[:2, :3, :3])
    draw = jax.jit(jax.vmap(lambda key: net.apply(net.init(key, (3, 3, 2)), x)[:, 0]))
    y = np.asarray(draw(jax.random.split(jax.random.key(0), 1000)))
    products = y[:, :, None] * y[:, None, :]
    limit = net.kernel_fn(x, get="nngp")
    assert np.max(np.abs(products.mean(axis=0) - limit) / (products.std(axis=0) / 1000**0.5)) < 4.5


def test_inputs_of_norm_zero_and_equal_inputs_have_finite_kernels_and_gradients():
    net = iw.dense_stack(2, "relu", 2**0.5)
    x = jnp.asarray([[0.0, 0.0], [1.0, 2.0], [1.0, 2.0], [-1.0, -2.0]])
    nngp, ntk = net.kernel_fn(x, get=("nngp", "ntk"))
    np.testing.assert_array_equal(nngp[0], np.zeros(4))
    np.testing.assert_allclose(ntk[1, 1:3], [7.5 * 2, 7.5 * 2], rtol=1e-14)
    slope = jax.grad(lambda z: jnp.sum(net.kernel_fn(z)))(x)
    assert np.all(np.isfinite(slope))


def test_bad_input_is_told_in_one_sentence():
    net = iw.dense_stack(1, "relu")
    cases = [
        (lambda: net.kernel_fn(np.ones((2, 3)), np.ones((2, 4))), r"\(2, 3\) and \(2, 4\)"),
        (lambda: net.kernel_fn(np.ones(3)), r"shape \(3,\)"),
        (lambda: net.kernel_fn(np.ones((2, 3)), get="nntk"), "'nntk'"),
        (lambda: iw.serial(), "no layers"),
        (lambda: iw.serial(iw.Relu()).kernel_fn(np.ones((2, 3))), "not Gaussian"),
        (lambda: iw.serial(conv()).kernel_fn(np.ones((2, 3))), "dimensions of positions"),
        (lambda: iw.serial(iw.Dense(), iw.Relu(), LayerNorm()).kernel_fn(np.ones((2, 3))), "LayerNorm follows"),
        (lambda: iw.serial(iw.Dense(), iw.residual(Identity())).kernel_fn(np.ones((2, 3))), "share random weights"),
        (
            lambda: iw.serial(iw.Dense(), iw.Relu(), iw.Dense(parametrisation="standard")).kernel_fn(np.ones((2, 3))),
            "give every layer its width",
        ),
        (lambda: iw.serial(Attention(4, scaling="square_root")).kernel_fn(np.ones((2, 3, 4))), "no closed form"),
        (lambda: iw.serial(iw.Dense()).init(jax.random.key(0), (3,)), "needs widths"),
        (lambda: iw.Conv(3, padding="REFLECT"), "'REFLECT'"),
    ]
    for call, words in cases:
        with pytest.raises(ValueError, match=words):
            call()


def test_double_precision_data_in_single_precision_is_warned_of():
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.warns(UserWarning, match="float32"):
            iw.dense_stack(1, "erf").kernel_fn(np.ones((2, 3)))
    finally:
        jax.config.update("jax_enable_x64", True)


def test_large_matrices_in_single_precision_are_computed_in_tiles():
    x = RNG.normal(size=(1400, 20)).astype(np.float32)
    found = np.asarray(iw.dense_stack(2, "relu", 2**0.5).kernel_fn(x))
    np.testing.assert_allclose(found, found.T, rtol=1e-5, atol=1e-5)
    exact = iw.dense_stack(2, "relu", 2**0.5).kernel_fn(x[-50:].astype(float))
    np.testing.assert_allclose(found[-50:, -50:], exact, rtol=2e-6, atol=2e-5)


def test_a_matrix_spread_over_the_cores_is_the_closed_form_and_exactly_symmetric():
    x = RNG.normal(size=(1100, 3))
    x[7] = 0.0
    found = np.asarray(iw.dense_stack(1, "relu", 2**0.5).kernel_fn(x))
    norms = np.linalg.norm(x, axis=1)
    scale = np.outer(norms, norms)
    angle = np.arccos(np.clip(np.divide(x @ x.T, scale, out=np.zeros_like(scale), where=scale > 0), -1, 1))
    np.fill_diagonal(angle, 0.0)
    nngp = scale * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
    exact = 2 / 3 * (nngp + scale * np.cos(angle) * (np.pi - angle) / np.pi)
    np.testing.assert_allclose(found, exact, atol=1e-9 * exact.max())
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.slow
def test_images_spread_over_the_cores_have_the_kernels_of_a_few():
    images = RNG.normal(size=(40, 4, 4, 1))
    network = iw.serial(conv(padding="SAME"), iw.Relu(), iw.GlobalAvgPool(), LAST)
    found = np.asarray(network.kernel_fn(images))
    few = np.asarray(network.kernel_fn(images[30:]))
    np.testing.assert_allclose(found[30:, 30:], few, atol=1e-12)
    np.testing.assert_array_equal(found, found.T)
