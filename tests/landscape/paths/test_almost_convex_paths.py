"""The seven segments: constant, convex and bounded where they should be; brute-force coverings; refusals."""

import jax
import numpy as np
import pytest

from leadline.landscape import (
    almost_convex_path,
    lipschitz_outer_bound,
    path_profile,
    row_covering,
    squared_outer_bound,
)
from leadline.landscape.paths.almost_convex_paths import normalise_rows, two_layer
from leadline.networks import MLP, TwoLayer


def network(rng, width=12, dim=3, outputs=2):
    return TwoLayer(rng.normal(size=(width, dim)), rng.normal(size=(outputs, width)))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_the_segments_are_constant_convex_and_within_their_bounds(rng):
    a, b = network(rng), network(rng)
    x, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    path = almost_convex_path(a, b)

    def loss(f):
        return np.mean(np.sum((f - y) ** 2, axis=1))

    losses = path.losses(loss, x)
    np.testing.assert_allclose(losses[1:3], losses[0, -1], rtol=1e-12)
    np.testing.assert_allclose(losses[4:6], losses[6, 0], rtol=1e-12)
    assert np.diff(losses[3], 2).min() > -1e-12
    assert losses[0, 0] == pytest.approx(loss(a(x)), rel=1e-12)
    assert losses[-1, -1] == pytest.approx(loss(b(x)), rel=1e-12)
    for side, end, delta in zip(
        (losses[0], losses[-1]), (losses[0, 0], losses[-1, -1]), path.output_bounds(x), strict=True
    ):
        assert side.max() <= squared_outer_bound(end, delta)
    np.testing.assert_allclose(
        path_profile(lambda net: loss(net(x)), path, points=8).losses, [*losses[:, 0], losses[-1, -1]], rtol=1e-12
    )


def test_outputs_move_by_no_more_than_their_bound(rng):
    a = network(rng)
    x = rng.normal(size=(40, 3))
    path = almost_convex_path(a, network(rng))
    moved = np.max([np.linalg.norm(path.at(0, s)(x) - a(x), axis=1) for s in np.linspace(0, 1, 11)], axis=0)
    assert np.all(moved <= path.output_bounds(x)[0])
    assert lipschitz_outer_bound(np.array([1.0, 3.0]), np.array([2.0, 1.0])) == 2.5


def test_rows_that_repeat_make_the_outer_segments_flat(rng):
    half = network(rng, width=6)
    a = TwoLayer(np.tile(half.weight, (2, 1)), rng.normal(size=(2, 12)))
    path = almost_convex_path(a, a)
    assert path.covering_a.radius == 0
    losses = path.losses(lambda f: np.sum(f), np.ones((1, 3)))
    np.testing.assert_allclose(losses[:3], losses[0, 0], rtol=1e-12)


def test_normalising_keeps_the_function_with_zero_rows_too(rng):
    net = network(rng)
    net.weight[[0, 5]] = 0.0
    unit = normalise_rows(net)
    x = rng.normal(size=(30, 3))
    np.testing.assert_allclose(unit(x), net(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(unit.weight, axis=1), 1.0)
    assert unit.mass == pytest.approx(net.mass)
    dead = normalise_rows(TwoLayer(np.zeros((2, 3)), np.ones((1, 2))))
    np.testing.assert_allclose(dead(x), 0.0)
    assert almost_convex_path(dead, dead).covering_a.radius == 0


def test_coverings_are_those_of_all_pairs(rng):
    rows = rng.normal(size=(20, 4))
    centres = np.array([3, 7, 19])
    cover = row_covering(rows, centres=centres)
    distances = np.linalg.norm(rows[:, None] - rows[centres], axis=2)
    np.testing.assert_allclose(cover.distances, distances.min(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(cover.nearest, centres[distances.argmin(axis=1)])


def test_networks_of_equinox_are_read_and_others_refused(rng):
    key = jax.random.key(0)
    net = MLP((3, 4, 2), bias=False, init="zeros", key=key)
    assert two_layer(net).weight.shape == (4, 3)
    with pytest.raises(ValueError, match="3 layers"):
        two_layer(MLP((3, 4, 4, 2), init="zeros", key=key))
    with pytest.raises(ValueError, match="'tanh'"):
        two_layer(MLP((3, 4, 2), "tanh", init="zeros", key=key))
    with pytest.raises(ValueError, match="append a constant 1"):
        two_layer(jax.tree.map(lambda w: w + 1, MLP((3, 4, 2), init="zeros", key=key)))
    with pytest.raises(ValueError, match="shapes"):
        two_layer(TwoLayer(np.ones((4, 3)), np.ones((2, 5))))
    with pytest.raises(ValueError, match="even number"):
        almost_convex_path(network(rng, width=5), network(rng, width=5))
    with pytest.raises(ValueError, match="two of one shape"):
        almost_convex_path(network(rng), network(rng, dim=4))
    with pytest.raises(ValueError, match="even number"):
        row_covering(np.ones((3, 2)))
