"""Measures of sharpness against closed forms on quadratics, and what leaves them the same on ReLU networks."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import curvature, networks

KEY = jax.random.key(1)


def bowl(w, matrix, slope):
    return w @ matrix @ w / 2 + slope @ w


@pytest.fixture(scope="module")
def quadratic():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    return (
        jnp.asarray(root @ root.T / 6 - 0.2 * np.eye(6)),
        jnp.asarray(rng.normal(size=6)),
        jnp.asarray(rng.normal(size=6)),
    )


def test_eigenvalue_and_trace_of_a_quadratic(quadratic):
    matrix, slope, w = quadratic
    np.testing.assert_allclose(curvature.top_sharpness(bowl, w, matrix, slope), np.linalg.eigvalsh(matrix)[-1])
    found = curvature.trace_sharpness(bowl, w, matrix, slope, key=KEY)
    np.testing.assert_allclose(found.value, np.trace(matrix))


def test_the_ball_at_a_critical_point_is_half_the_top_eigenvalue(quadratic):
    matrix, slope, _ = quadratic
    found = curvature.ball_sharpness(bowl, jnp.zeros(6), matrix, 0 * slope, radius=0.3, key=KEY)
    exact = 0.045 * np.linalg.eigvalsh(matrix)[-1]
    np.testing.assert_allclose([found.rise, found.second_order], exact, rtol=1e-6)
    assert found.first_order == 0.0
    np.testing.assert_allclose(float(jnp.linalg.norm(found.step)), 0.3, rtol=1e-6)


def trust_region_maximum(matrix, gradient, radius):
    """max of g·d + ½dᵀAd over ‖d‖ ≤ ρ by the secular equation: d = (μ − A)⁻¹g with μ > λ_max and ‖d‖ = ρ."""
    from scipy.optimize import brentq

    values, vectors = np.linalg.eigh(matrix)
    g = vectors.T @ gradient
    mu = brentq(lambda m: np.linalg.norm(g / (m - values)) - radius, values[-1] + 1e-9, values[-1] + 1e3)
    d = vectors @ (g / (mu - values))
    return d @ matrix @ d / 2 + gradient @ d


@pytest.mark.parametrize("radius", [0.1, 2.0])
def test_the_ball_with_a_gradient_is_the_trust_region_problem(quadratic, radius):
    matrix, slope, w = (np.asarray(a) for a in quadratic)
    exact = trust_region_maximum(matrix, matrix @ w + slope, radius)
    found = curvature.ball_sharpness(bowl, *(jnp.asarray(a) for a in (w, matrix, slope)), radius=radius, key=KEY)
    np.testing.assert_allclose(found.rise, exact, rtol=1e-3)
    assert found.rise <= exact * (1 + 1e-9)
    assert exact <= found.second_order
    np.testing.assert_allclose(found.first_order, radius * np.linalg.norm(matrix @ w + slope))


def test_the_relative_ellipsoid_is_the_ball_in_relative_coordinates(quadratic):
    matrix, slope, w = (np.asarray(a) for a in quadratic)
    t = np.abs(w)
    exact = trust_region_maximum(t[:, None] * matrix * t, t * (matrix @ w + slope), 0.5)
    found = curvature.adaptive_sharpness(bowl, *(jnp.asarray(a) for a in (w, matrix, slope)), radius=0.5, key=KEY)
    np.testing.assert_allclose(found.rise, exact, rtol=1e-3)
    assert np.linalg.norm(np.asarray(found.step) / t) <= 0.5 * (1 + 1e-9)


def test_the_relative_box_is_attained_at_a_corner_of_a_convex_quadratic():
    rng = np.random.default_rng(3)
    root = rng.normal(size=(6, 6))
    matrix, w = root @ root.T, rng.normal(size=6)
    corners = np.stack(np.meshgrid(*[[-1.0, 1.0]] * 6), -1).reshape(-1, 6) * 0.2 * np.abs(w)
    exact = max(d @ matrix @ d / 2 + d @ matrix @ w for d in corners)
    found = curvature.adaptive_sharpness(
        bowl, jnp.asarray(w), jnp.asarray(matrix), jnp.zeros(6), radius=0.2, key=KEY, norm="linf", starts=16
    )
    np.testing.assert_allclose(found.rise, exact, rtol=1e-9)
    np.testing.assert_allclose(found.first_order, 0.2 * np.abs(w * (matrix @ w)).sum())
    assert exact <= found.second_order


def test_weights_that_are_zero_stay_where_they_are():
    w = jnp.array([0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
    found = curvature.adaptive_sharpness(bowl, w, jnp.eye(6), jnp.ones(6), radius=0.5, key=KEY, norm="linf", starts=16)
    assert found.step.tolist() == [0.0, 0.5, 0.5, 0.0, 0.0, 0.5]


def test_filter_normalised_curvature_is_the_mean_over_directions(quadratic):
    matrix = quadratic[0]
    params = {"w": jnp.asarray(np.random.default_rng(1).normal(size=(2, 3)))}

    def loss(p, a):
        return p["w"].ravel() @ a @ p["w"].ravel() / 2

    exact = curvature.filter_normalised_sharpness(loss, params, matrix, key=KEY)
    norms = np.repeat(np.linalg.norm(params["w"], axis=1) ** 2 / 3, 3)
    np.testing.assert_allclose(exact.value, norms @ np.diag(matrix))
    rises = curvature.filter_normalised_rise(loss, params, matrix, radius=0.1, directions=2000, key=KEY)
    assert abs(rises.mean / (0.005 * float(exact.value)) - 1) < 5 * rises.standard_error / abs(rises.mean)
    assert rises.worst >= rises.mean


# A ReLU network and what leaves its function the same


def squared(net, x, y):
    return jnp.mean((jax.vmap(net)(x) - y[:, :2]) ** 2 * y[:, 2:])


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(5)
    net = networks.MLP((3, 5, 2), bias_scale=0.5, key=jax.random.key(0))
    return (
        net,
        jnp.asarray(rng.normal(size=(12, 3))),
        jnp.asarray(
            np.append(rng.normal(size=(12, 2)), np.ones((12, 1)), 1)  # targets, and the unit of the loss
        ),
    )


def measures(net, x, y):
    loss = squared
    ball = curvature.ball_sharpness(loss, net, x, y, radius=0.05, key=KEY)
    adaptive = curvature.adaptive_sharpness(loss, net, x, y, radius=0.05, key=KEY)
    plain = curvature.filter_normalised_sharpness(loss, net, x, y, key=KEY)
    biased = curvature.filter_normalised_sharpness(loss, net, x, y, key=KEY, biases="normalise")
    return {
        "top": curvature.top_sharpness(loss, net, x, y),
        "trace": float(curvature.trace_sharpness(loss, net, x, y, key=KEY, probes=100).value),
        "ball": ball.rise,
        "adaptive l2": adaptive.rise,
        "filter": float(plain.value),
        "filter with biases": float(biased.value),
    }


@pytest.fixture(scope="module")
def base(problem):
    return measures(*problem)


def same(found, base):
    return {name for name in base if abs(found[name] / base[name] - 1) < 2e-3}


PLAIN = {"top", "trace", "ball"}
FILTER = {"filter", "filter with biases"}
RELATIVE = {"adaptive l2"}


def test_rescaling_layers_leaves_the_relative_measures(problem, base):
    net, x, y = problem
    moved = networks.rescale_units(net, [jnp.full(5, 4.0)])
    assert same(measures(moved, x, y), base) == FILTER | RELATIVE


def test_rescaling_single_units_leaves_the_elementwise_measures_only(problem, base):
    net, x, y = problem
    moved = networks.rescale_units(net, [jnp.array([4.0, 0.3, 1.0, 2.0, 0.7])])
    assert same(measures(moved, x, y), base) == RELATIVE


def test_permuting_units_leaves_all(problem, base):
    net, x, y = problem
    moved = networks.permute_units(net, [jnp.array([2, 0, 4, 1, 3])])
    assert same(measures(moved, x, y), base) == PLAIN | FILTER | RELATIVE


def test_the_rise_along_normalised_directions_follows_layers(problem):
    net, x, y = problem
    moved = networks.rescale_units(net, [jnp.full(5, 4.0)])
    first, second = (
        curvature.filter_normalised_rise(squared, n, x, y, radius=0.3, directions=5, key=KEY).rises
        for n in (net, moved)
    )
    np.testing.assert_allclose(first, second, rtol=1e-9)


def test_inputs_in_other_units_leave_the_relative_measures(problem, base):
    net, x, y = problem
    moved = eqx.tree_at(lambda n: n.layers[0].weight, net, net.layers[0].weight / 10)
    assert same(measures(moved, 10 * x, y), base) == FILTER | RELATIVE


def test_a_loss_in_other_units_multiplies_all(problem, base):
    net, x, y = problem
    found = measures(net, x, y * jnp.array([1.0, 1.0, 7.0]))
    for name, value in base.items():
        np.testing.assert_allclose(found[name], 7 * value, rtol=1e-6, err_msg=name)


def test_bad_input(quadratic):
    matrix, slope, w = quadratic
    with pytest.raises(ValueError, match="positive radius"):
        curvature.ball_sharpness(bowl, w, matrix, slope, radius=0.0, key=KEY)
    with pytest.raises(ValueError, match="'l2' or 'linf'"):
        curvature.adaptive_sharpness(bowl, w, matrix, slope, radius=0.1, norm="l1", key=KEY)
    with pytest.raises(ValueError, match="nothing can move"):
        curvature.adaptive_sharpness(bowl, 0 * w, matrix, slope, radius=0.1, key=KEY)
    with pytest.raises(ValueError, match="at least 2 directions"):
        curvature.filter_normalised_rise(bowl, w, matrix, slope, radius=0.1, directions=1, key=KEY)
