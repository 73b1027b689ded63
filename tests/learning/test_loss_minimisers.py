"""Exact minimisers against numerical ones, closed forms and scikit-learn."""

import numpy as np
import pytest

from leadline.learning import LOSSES, fit_affine
from leadline.learning.loss_minimisers import best_constant

SHAPES = {"squared": None, "absolute": None, "huber": 0.7, "pinball": 0.8, "epsilon_insensitive": 0.4}


def total(loss, prediction, y):
    shape = SHAPES[loss]
    return float(LOSSES[loss].value(prediction, y, *([] if shape is None else [shape])).sum())


@pytest.mark.parametrize("loss", SHAPES)
def test_no_constant_does_better(loss):
    rng = np.random.default_rng(1)
    shape = [] if SHAPES[loss] is None else [SHAPES[loss]]
    for n in (1, 6, 41):
        y = rng.standard_t(2, n)
        found = best_constant(y, loss, SHAPES[loss])
        rivals = np.concatenate(
            [[found], y, np.linspace(y.min() - 1, y.max() + 1, 301), found + 1e-5 * rng.normal(size=9)]
        )
        costs = np.asarray(LOSSES[loss].value(rivals[:, None], y, *shape)).sum(axis=1)
        assert costs[0] <= costs.min() * (1 + 1e-12)


def test_the_constants_are_the_named_statistics():
    y = np.array([3.0, -1.0, 10.0, 4.0, 2.0, 0.5])
    assert best_constant(y, "absolute") == np.median(y)
    assert best_constant(y, "huber", 1e6) == pytest.approx(y.mean(), rel=1e-12)
    assert best_constant(y, "huber", 1e-9) == pytest.approx(np.median(y), abs=1e-8)
    assert best_constant(np.arange(11.0), "pinball", 0.75) == 8.0
    assert best_constant(np.array([0.0, 1.0]), "epsilon_insensitive", 5.0) == pytest.approx(0.5)


@pytest.mark.parametrize("loss", SHAPES)
def test_no_affine_function_does_better(loss):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 3))
    y = x @ [1.0, -2.0, 0.5] + rng.standard_t(1.5, 60)
    matrix = np.column_stack([x, np.ones(60)])
    w = fit_affine(x, y, loss, SHAPES[loss])
    best = total(loss, matrix @ w, y)
    for size in (1e-6, 1e-3, 0.1):
        for _ in range(40):
            assert best <= total(loss, matrix @ (w + size * rng.normal(size=4)), y) * (1 + 1e-12)


def test_it_agrees_with_scikit_learn():
    from sklearn.linear_model import HuberRegressor, QuantileRegressor

    rng = np.random.default_rng(3)
    x = rng.normal(size=(80, 2))
    y = x @ [1.0, -2.0] + 0.3 + rng.standard_t(3, 80)
    quantile = QuantileRegressor(quantile=0.8, alpha=0.0).fit(x, y)
    np.testing.assert_allclose(fit_affine(x, y, "pinball", 0.8), [*quantile.coef_, quantile.intercept_], atol=1e-8)
    robust = HuberRegressor(epsilon=1.5, alpha=0.0, tol=1e-10, max_iter=1000).fit(x, y)  # delta is epsilon * scale_
    mine = fit_affine(x, y, "huber", 1.5 * robust.scale_)
    np.testing.assert_allclose(mine, [*robust.coef_, robust.intercept_], atol=1e-5)


def test_a_huber_fit_whose_inliers_are_too_few_for_a_plane_still_ends_at_the_minimum():
    x, y = np.arange(6.0)[:, None], np.array([0.0, 50.0, -80.0, 120.0, -200.0, 7.0])
    w = fit_affine(x, y, "huber", 1e-3)
    best = float(LOSSES["huber"].value(x[:, 0] * w[0] + w[1], y, 1e-3).sum())
    lines = fit_affine(x, y, "absolute")
    assert best <= float(LOSSES["huber"].value(x[:, 0] * lines[0] + lines[1], y, 1e-3).sum()) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: best_constant(np.ones(3), "huber"), "shape"),
        (lambda: best_constant(np.ones(3), "pinball", 1.5), "between 0 and 1"),
        (lambda: best_constant(np.array([1.0, np.nan]), "squared"), "finite"),
        (lambda: fit_affine(np.ones((3, 1)), np.ones(2), "squared"), "one row"),
    ],
)
def test_bad_input_is_refused(call, word):
    with pytest.raises(ValueError, match=word):
        call()
