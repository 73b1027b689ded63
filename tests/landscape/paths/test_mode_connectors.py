"""Curves between models: their formulas, their ends, the barrier, and what training a curve achieves."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.landscape import Curve, aligned_line, path_profile, straight_line, train_curve
from leadline.landscape.paths.mode_connectors import Profile, check_alike
from leadline.networks import mlp_from_affine, permute_units


def two_layers(rng, width=5):
    return mlp_from_affine(
        [(jnp.asarray(rng.normal(size=(width, 3))), None), (jnp.asarray(rng.normal(size=(2, width))), None)], "relu"
    )


def test_a_bezier_curve_is_that_of_scipy_and_a_polygon_passes_its_nodes():
    from scipy.interpolate import BPoly

    rng = np.random.default_rng(0)
    nodes = rng.normal(size=(4, 3))
    bezier = Curve(jnp.asarray(nodes[0]), jnp.asarray(nodes[1:-1]), jnp.asarray(nodes[-1]), "bezier")
    reference = BPoly(nodes[:, None], [0, 1])
    for t in (0.0, 0.3, 0.85, 1.0):
        np.testing.assert_allclose(bezier(t), reference(t), rtol=1e-12, atol=1e-14)
    polygon = Curve(bezier.start, bezier.bends, bezier.end, "polygon")
    np.testing.assert_allclose([polygon(i / 3) for i in range(4)], nodes, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(polygon(0.5), (nodes[1] + nodes[2]) / 2, rtol=1e-12)


def test_equally_spaced_bends_leave_the_line_as_it_is():
    a, b = {"w": np.zeros(2), "n": 3}, {"w": np.array([1.0, 4.0]), "n": 3}
    for kind in ("bezier", "polygon"):
        line = straight_line(a, b, bends=3, kind=kind)
        np.testing.assert_allclose(line(0.3)["w"], [0.3, 1.2], rtol=1e-12)
        assert line(0.3)["n"] == 3


def test_the_barrier_is_above_the_worse_end_not_above_the_chord():
    assert Profile(np.linspace(0, 1, 3), np.array([0.0, 2.0, 1.5])).barrier == 0.5
    assert Profile(np.linspace(0, 1, 3), np.array([0.0, 1.0, 1.5])).barrier == 0.0


def test_matching_removes_the_barrier_between_a_network_and_its_shuffled_copy():
    rng = np.random.default_rng(1)
    net = two_layers(rng)
    copy = permute_units(net, [np.array([3, 0, 4, 1, 2])])
    x = jnp.asarray(rng.normal(size=(20, 3)))
    loss = jax.jit(lambda m: jnp.mean((jax.vmap(m)(x) - jax.vmap(net)(x)) ** 2))
    assert path_profile(loss, straight_line(net, copy), points=5).barrier > 1e-3
    assert path_profile(loss, aligned_line(net, copy), points=5).barrier < 1e-12
    assert path_profile(loss, aligned_line(net, copy, x), points=5).barrier < 1e-12


def test_a_trained_curve_goes_around_a_hill_on_rows_of_data_and_keeps_its_ends():
    a, b = {"w": jnp.array([-1.0, 0.1])}, {"w": jnp.array([1.0, 0.1])}
    rows = jnp.ones(6)

    def loss(p, scale):
        return jnp.mean(scale) * (p["w"] @ p["w"] - 1) ** 2

    found = train_curve(
        loss,
        a,
        b,
        rows,
        key=jax.random.key(0),
        kind="polygon",
        bends=3,
        batch=2,
        num_steps=300,
        optimiser=optax.adam(0.03),
    )
    assert found.losses.shape == (300,)
    assert path_profile(loss, found.curve, rows, points=33).barrier < 0.2
    np.testing.assert_array_equal(found.curve(0.0)["w"], a["w"])
    np.testing.assert_array_equal(found.curve(1.0)["w"], b["w"])


def test_what_cannot_be_joined_is_said():
    with pytest.raises(ValueError, match="different structures"):
        check_alike({"w": np.zeros(2)}, {"v": np.zeros(2)})
    with pytest.raises(ValueError, match=r"shape of \['w'\]: \(2,\) and \(3,\)"):
        straight_line({"w": np.zeros(2)}, {"w": np.zeros(3)})
    with pytest.raises(ValueError, match="no floating-point parameters"):
        straight_line({"w": np.arange(2)}, {"w": np.arange(2)})
    with pytest.raises(ValueError, match="choose 'bezier' or 'polygon'"):
        straight_line(np.zeros(2), np.ones(2), kind="spline")
    with pytest.raises(ValueError, match="at least 3"):
        path_profile(lambda w: 0.0, straight_line(np.zeros(2), np.ones(2)), points=2)
    with pytest.raises(ValueError, match="at least 1 of each"):
        train_curve(lambda w: w @ w, np.zeros(2), np.ones(2), key=jax.random.key(0), bends=0)
