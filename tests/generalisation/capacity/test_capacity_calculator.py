import itertools
import math

import jax
import numpy as np
import pytest

from leadline import generalisation as g
from leadline.generalisation.capacity.capacity_calculator import (
    finite_class_size,
    finite_class_tail,
    growth_bound,
    relu_vc_orders,
    vc_excess,
    vc_sample_orders,
    vc_vacuous_below,
)
from leadline.generalisation.capacity.growth_functions import (
    class_vc_dimension,
    growth,
    log_growth_of_network,
    log_sauer,
    network_vc_ceiling,
)
from leadline.generalisation.capacity.planar_half_spaces import best_half_plane, half_plane_errors


def listed(values, kind):
    """All labellings that a class shows on points of the line, by brute force."""
    cuts = np.concatenate([[-1], (values[:-1] + values[1:]) / 2, [9]])
    if kind == "thresholds":
        return {tuple(values > c) for c in cuts}
    return {tuple((values > a) & (values < b)) for a, b in itertools.product(cuts, cuts)}


@pytest.mark.parametrize("kind", ["thresholds", "intervals"])
def test_growth_functions_on_the_line_count_labellings(kind):
    for n in range(1, 9):
        assert growth(kind, n) == len(listed(np.arange(float(n)), kind))


def test_growth_of_half_planes_counts_arcs():
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, 9)
    thetas = half_plane_errors(angles[None], np.ones((1, 9), int)).middles[0]
    assert growth("half-spaces", 9, 2) == len({tuple(np.cos(angles - t) > 0) for t in thetas})
    assert growth("affine half-spaces", 4, 2) == 14


def test_half_plane_errors_agree_with_counting():
    rng = np.random.default_rng(1)
    angles, labels = rng.uniform(-9, 9, (3, 20)), rng.choice([-1, 1], (3, 20))
    found = half_plane_errors(angles, labels)
    for s in range(3):
        predicted = np.where(np.cos(angles[s] - found.middles[s][:, None]) > 0, 1, -1)
        np.testing.assert_array_equal(found.errors[s], (predicted != labels[s]).sum(axis=1))
    theta, errors = best_half_plane(angles, labels)
    np.testing.assert_array_equal(errors, found.errors.min(axis=1))
    assert (np.where(np.cos(angles - theta[:, None]) > 0, 1, -1) != labels).sum(axis=1).tolist() == errors.tolist()


def test_sauer_is_the_sum_and_reached_by_small_subsets():
    assert math.exp(log_sauer(12, 3)) == pytest.approx(sum(math.comb(12, i) for i in range(4)))
    assert log_sauer(5, 9) == pytest.approx(5 * math.log(2))
    members = np.array([row for row in itertools.product((0, 1), repeat=6) if sum(row) <= 2])
    assert class_vc_dimension(members) == 2
    assert len(members) == round(math.exp(log_sauer(6, 2)))


def test_vc_dimension_by_brute_force():
    rng = np.random.default_rng(2)
    for _ in range(10):
        members = rng.integers(0, 2, (rng.integers(1, 40), 5))
        brute = max(
            size
            for size in range(6)
            for columns in itertools.combinations(range(5), size)
            if len(np.unique(members[:, columns], axis=0)) == 2**size
        )
        assert class_vc_dimension(members) == brute


def test_finite_classes():
    assert finite_class_tail(math.log(7), 100, 0.2).value == pytest.approx(14 * math.exp(-8))
    n = finite_class_size(math.log(7), 0.1)
    assert finite_class_tail(math.log(7), n, 0.1).value <= 0.05 < finite_class_tail(math.log(7), n - 1, 0.1).value
    assert g.finite_class_bound(0.0, 3.0, 100).value == pytest.approx(1 - math.exp(-(3 + math.log(20)) / 100))
    assert g.finite_class_bound(0.1, 3.0, 100).value <= 0.1 + math.sqrt((3 + math.log(20)) / 200)
    assert g.bits_bound(0.0, 10**6, 1000).value <= 1
    assert g.bits_bound(0.0, 10**6, 1000).vacuous


def test_vc_forms():
    assert g.vc_inequality(math.log(5), 3200, 0.1).value == pytest.approx(40 / math.e)
    gap = growth_bound(0.0, 50.0, 10**6).value
    assert g.vc_inequality(50.0, 10**6, gap).value == pytest.approx(0.05)
    assert vc_excess(10, 1000).value == pytest.approx(2 * math.sqrt((10 * (math.log(200) + 1) + math.log(80)) / 1000))
    refused = vc_excess(11, 10)
    assert not refused.valid
    assert "n ≥ V" in refused.why
    assert g.vc_schematic(1e8, 50_000).value == pytest.approx(126.49, abs=0.01)
    classical, tight = vc_sample_orders(7, 0.1, confidence=0.9)
    assert classical - tight == pytest.approx(700 * (math.log(10) - 1))
    with pytest.raises(ValueError, match="stays vacuous"):
        vc_vacuous_below(lambda n: n * math.log(2), 0.5)


def test_network_growth_is_above_what_half_spaces_do():
    for n in (10, 100, 5000):
        assert log_growth_of_network(n, [], [3]) >= math.log(growth("affine half-spaces", n, 2)) - 1e-9
    assert network_vc_ceiling([], [3]) >= 3
    small, large = network_vc_ceiling([4], [12, 17]), network_vc_ceiling([8], [24, 33])
    assert 3 <= small < large < 100 * relu_vc_orders(33, 2).upper
    with pytest.raises(ValueError, match="cumulative"):
        log_growth_of_network(5, [3], [4])
    with pytest.raises(ValueError, match="each layer"):
        relu_vc_orders(2, 5)


def test_rademacher_averages_agree_with_listing():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(6, 3))
    signs = np.array(list(itertools.product((-1, 1), repeat=6)))
    ball = g.rademacher_of_linear_ball(x, 2.0, key=jax.random.key(0))
    assert ball.value == pytest.approx(np.linalg.norm(signs @ x, axis=1).mean() / 3)
    assert ball.standard_error == 0
    ceiling = g.linear_ball_ceiling(x, 2.0)
    assert ceiling / math.sqrt(2) <= ball.value <= ceiling
    everything = g.rademacher_of_patterns(signs, key=jax.random.key(0))
    assert everything.value == 1
    assert g.massart_ceiling(6 * math.log(2), 6) >= 1
    many = g.rademacher_of_patterns(np.array([[1.0] * 40, [-1.0] * 40]), key=jax.random.key(1))
    exact = np.abs(2 * np.arange(41) - 40) @ np.array([math.comb(40, k) for k in range(41)]) / 2.0**40 / 40
    assert abs(many.value - exact) < 4 * many.standard_error
    assert g.rademacher_bound(0.1, 0.2, 200).value == pytest.approx(0.5 + 3 * math.sqrt(math.log(40) / 400))
