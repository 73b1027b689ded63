"""The gradient checker finds what is wrong, says where, and does not cry wolf."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.differentiation import check_gradient, check_layer
from leadline.differentiation.checks.difference_table import difference_table, leaf_names
from leadline.networks import MLP

W = np.random.default_rng(0).normal(size=(3, 3))


def quadratic(p):
    return 0.5 * jnp.sum((p["w"] @ jnp.array([1.0, 2.0, 3.0]) + p["b"]) ** 2)


POINT = {"w": W, "b": np.ones(3)}


def right():
    return jax.tree.map(np.asarray, jax.grad(quadratic)(POINT))


def test_a_right_gradient_passes_and_none_means_jax():
    assert check_gradient(quadratic, POINT, right()).passed
    report = check_gradient(quadratic, POINT)
    assert report.passed
    assert report["w"].complex_error < 1e-14
    assert "All gradients" in str(report)


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (lambda g: g | {"w": -g["w"]}, "wrong sign"),
        (lambda g: g | {"w": 2 * g["w"]}, "2 times"),
        (lambda g: g | {"w": g["w"].T}, "transpose"),
        (lambda g: g | {"w": 0 * g["w"]}, "is zero"),
        (lambda g: {"b": g["b"]}, "no gradient was supplied"),
        (lambda g: g | {"w": g["w"][:2]}, r"shape (2, 3)"),
        (lambda g: g | {"w": g["w"] * np.nan}, "not finite"),
    ],
)
def test_the_usual_mistakes_are_called_by_their_names(spoil, fault):
    report = check_gradient(quadratic, POINT, spoil(right()))
    assert report.failed == ("w",)
    assert fault in report.failure


def test_one_wrong_entry_is_located():
    wrong = right()
    wrong["w"] = wrong["w"].copy()
    wrong["w"][2, 1] += 0.01
    report = check_gradient(quadratic, POINT, wrong)
    assert report["w"].worst == (2, 1)
    assert "w[2, 1]" in report.failure
    assert "WRONG" in str(report)


def test_a_function_in_numpy_is_checked_too():
    def function(p):
        return float(np.sum(np.sin(p["a"])))

    a = np.array([[0.3, 1.0]])
    report = check_gradient(function, {"a": a}, {"a": np.cos(a)})
    assert report.passed
    assert report["a"].complex_error is None  # it casts to real numbers


def test_a_function_that_is_not_analytic_has_no_complex_step():
    report = check_gradient(lambda z: jnp.sum(jnp.abs(z) ** 2), np.array([1.0, -2.0]), np.array([2.0, -4.0]))
    assert report.passed
    assert report["parameter"].complex_error is None


@pytest.mark.parametrize("distance", [3e-3, 1e-5, 2e-7])
def test_stencils_across_a_kink_are_flagged_and_not_held_against_the_gradient(distance):
    point, gradient = np.array([distance, 1.0]), np.array([1.0, 1.0])
    report = check_gradient(lambda z: jnp.sum(jax.nn.relu(z)), point, gradient)
    assert report.passed
    assert report["parameter"].kinks == 1
    assert not check_gradient(lambda z: jnp.sum(jax.nn.relu(z)), point, np.array([0.9, 1.0])).passed


def test_an_entry_at_the_kink_itself_is_not_judged():
    report = check_gradient(lambda z: jnp.sum(jnp.abs(z)), np.array([0.0]), np.array([0.7]))
    assert report["parameter"].set_aside == 1
    assert "not judged" in str(report)


def test_the_best_step_of_a_smooth_function_is_where_truncation_meets_rounding():
    report = check_gradient(lambda z: jnp.exp(z).sum(), np.array([0.5]), np.exp([0.5]))
    assert 1e-7 <= report["parameter"].best_step <= 1e-4


def test_it_works_in_double_precision_whatever_it_is_given():
    with jax.enable_x64(False):
        skeleton = eqx.filter_eval_shape(MLP, (2, 3, 1), "tanh", key=jax.random.key(0))
        net = jax.tree.map(lambda leaf: jnp.full(leaf.shape, 0.3), skeleton)
        report = check_gradient(lambda n: jnp.sum(n(jnp.ones(2)) ** 2), net)
    assert report.passed
    assert [c.name for c in report.parameters] == [
        "layers.0.weight",
        "layers.0.bias",
        "layers.1.weight",
        "layers.1.bias",
    ]


def test_a_layer_without_parameters_is_checked_in_its_input():
    report = check_layer(
        lambda h, _: (h**2, h), lambda d, h: (2 * h * d, ()), np.ones((2, 2)), (), key=jax.random.key(0)
    )
    assert report.passed
    assert [c.name for c in report.parameters] == ["input"]


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="needs one number"):
        check_gradient(lambda z: z, np.ones(2), np.ones(2))
    with pytest.raises(ValueError, match="no floating-point"):
        check_gradient(lambda z: 0.0, {"n": 3}, {})
    with pytest.raises(ValueError, match="from large to small"):
        difference_table(lambda z: z.sum(), jnp.ones(2), steps=(1e-4, 1e-2))
    with pytest.raises(ValueError, match="finite value"):
        check_gradient(lambda z: jnp.log(z).sum(), np.zeros(1), np.zeros(1))
    with pytest.raises(ValueError, match="no parameter 'v'"):
        check_gradient(quadratic, POINT, right())["v"]


def test_leaves_have_names():
    assert leaf_names(jnp.ones(2))[0] == ["parameter"]
    assert leaf_names({"a": [1.0, 2], "b": None})[0] == ["a.0"]
