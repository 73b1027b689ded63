"""The separability programme against closed forms, constructed data and Gordan's alternative."""

import inspect

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linprog

from leadline.linear_classifiers import margins

CORNERS = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
XOR = np.array([1.0, 1.0, -1.0, -1.0])


def hulls_meet(x, y):
    """Whether the convex hulls of the two classes share a point: the geometric meaning of inseparable."""
    plus, minus = x[y > 0], x[y < 0]
    if len(plus) == 0 or len(minus) == 0:
        return False
    equalities = np.block(
        [
            [plus.T, -minus.T],
            [np.ones((1, len(plus))), np.zeros((1, len(minus)))],
            [np.zeros((1, len(plus))), np.ones((1, len(minus)))],
        ]
    )
    right = np.concatenate([np.zeros(x.shape[1]), [1.0, 1.0]])
    return linprog(np.zeros(len(x)), A_eq=equalities, b_eq=right).status == 0


def test_xor_is_not_separable_and_the_certificate_is_uniform():
    found = margins.separate(CORNERS, XOR)
    assert not found.separable
    assert found.margin == 0.0
    np.testing.assert_allclose(found.multipliers, 0.25, atol=1e-12)
    assert found.residual < 1e-12


def test_the_origin_alone_is_impossible_without_a_bias():
    found = margins.separate(np.zeros((1, 2)), np.array([1.0]), bias=False)
    assert not found.separable
    assert found.residual == 0.0
    assert margins.separate(np.zeros((1, 2)), np.array([1.0])).separable


def test_the_margin_of_two_points_on_a_line_is_the_hand_computed_one():
    # max t with 2w + b >= t, -(w + b) >= t, |w|, |b| <= 1 is attained at w = 2/3, b = -1, t = 1/3.
    found = margins.separate(np.array([[2.0], [1.0]]), np.array([1.0, -1.0]))
    np.testing.assert_allclose([found.margin, found.weights[0], found.bias], [1 / 3, 2 / 3, -1.0], atol=1e-12)


def test_basis_vectors_with_any_labels_have_margin_one_through_the_origin():
    labels = np.array([1.0, -1.0, -1.0, 1.0, 1.0])
    found = margins.separate(np.eye(5), labels, bias=False)
    assert found.margin == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(found.weights, labels, atol=1e-12)
    assert found.bias == 0.0


def test_shifted_clouds_are_separated_by_the_returned_classifier():
    rng = np.random.default_rng(1)
    y = np.repeat([1.0, -1.0], 100)
    x = rng.uniform(-1, 1, size=(200, 6)) + 1.5 * y[:, None]
    found = margins.separate(jnp.asarray(x), jnp.asarray(y))
    scores = y * (x @ found.weights + found.bias)
    assert found.separable
    assert scores.min() == pytest.approx(found.margin)
    assert found.margin > found.tolerance
    assert np.abs(found.weights).max() <= 1 + 1e-9
    assert abs(found.bias) <= 1 + 1e-9


def test_the_same_point_with_both_labels_is_inseparable_by_those_two_rows():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(12, 20))
    y = np.where(np.arange(12) % 2, 1.0, -1.0)
    x[7] = x[4]
    found = margins.separate(x, y)
    np.testing.assert_allclose(found.multipliers[[4, 7]], 0.5, atol=1e-9)
    assert not found.separable
    assert found.residual < 1e-9


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e4, 1e9])
@pytest.mark.parametrize("separable", [True, False])
def test_the_verdict_does_not_depend_on_the_unit_of_measurement(scale, separable):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 3))
    y = np.sign(x @ np.array([1.0, 2.0, -1.0]) + 0.3)
    if not separable:
        y[np.argmax(np.abs(x @ np.array([1.0, 2.0, -1.0]) + 0.3))] *= -1
    assert margins.separate(scale * x, y).separable is separable is not hulls_meet(x, y)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 3), st.integers(1, 9), st.data())
def test_on_integer_grids_the_verdict_is_whether_the_hulls_are_disjoint(d, n, data):
    x = data.draw(hnp.arrays(float, (n, d), elements=st.integers(-3, 3).map(float)))
    y = data.draw(hnp.arrays(float, (n,), elements=st.sampled_from([-1.0, 1.0])))
    found = margins.separate(x, y)
    assert found.separable is not hulls_meet(x, y)
    np.testing.assert_allclose(found.multipliers.sum(), 1.0)
    assert found.multipliers.min() >= 0
    np.testing.assert_allclose(found.residual, found.margin, atol=1e-9)  # strong duality


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.array([[0.0, np.nan], [1.0, 1.0]]), np.array([1.0, -1.0]), "NaN"),
        (np.array([[0.0, np.inf], [1.0, 1.0]]), np.array([1.0, -1.0]), "infinity"),
        (CORNERS, np.array([0, 1, 1, 0]), "expected -1 and"),
        (CORNERS, np.array([1.0, -1.0]), "n >= 1"),
        (np.zeros((0, 2)), np.zeros(0), "n >= 1"),
        (np.zeros(3), np.ones(3), "n >= 1"),
    ],
)
def test_bad_input_is_named(x, y, message):
    with pytest.raises(ValueError, match=message):
        inspect.unwrap(margins.separate)(x, y)
