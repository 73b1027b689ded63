"""Learning curves against closed forms, and diagnoses of models whose fault is known."""

import jax
import numpy as np
import pytest

from leadline.regularisation import diagnose, learning_curve
from leadline.regularisation.evaluation.error_regimes import follow_advice

RNG = np.random.default_rng(17)
KEY = jax.random.key(0)


def polynomial(degree):
    return lambda x, y, new: np.polyval(np.polyfit(x[:, 0], y, degree), new[:, 0])


def rows(n):
    x = RNG.uniform(-1, 1, size=(n, 1))
    return x, x[:, 0] ** 2 + 0.1 * RNG.normal(size=n)


def test_the_curve_of_the_mean_has_the_errors_of_its_formula():
    x, y = np.zeros((4000, 1)), RNG.normal(size=4000)
    mean = lambda x, y, new: np.full(len(new), y.mean())  # noqa: E731
    curve = learning_curve(mean, (x, y), (x[:500], RNG.normal(size=500)), [5, 50], repeats=400, key=KEY)
    np.testing.assert_allclose(curve.train.mean(axis=1), [1 - 1 / 5, 1 - 1 / 50], rtol=0.1)
    assert curve.validation[0].mean() - curve.validation[1].mean() == pytest.approx(1 / 5 - 1 / 50, abs=0.06)


def test_too_small_a_model_is_bias_and_too_large_a_one_is_variance():
    ladder = [polynomial(d) for d in (0, 2, 9)]
    held = rows(300)
    small = follow_advice(ladder, 0, rows(200), held, 0.01)
    large = follow_advice(ladder, 2, rows(13), held, 0.01)
    assert (small.diagnosis.regime, small.chosen, small.after < small.before) == ("bias", 1, True)
    assert (large.diagnosis.regime, large.chosen, large.after < large.before) == ("variance", 1, True)
    right = follow_advice(ladder, 1, rows(400), held, 0.011)
    assert (right.diagnosis.regime, right.chosen, right.after) == ("fine", 1, right.before)


def test_the_excess_is_gap_and_training_excess():
    found = diagnose(0.2, 0.5, 0.1)
    assert found.excess == pytest.approx(found.gap + 0.1)
    assert (found.regime, found.step) == ("variance", -1)
    assert "smaller model" in found.advice


def test_the_end_of_the_ladder_is_kept():
    found = follow_advice([polynomial(0)], 0, rows(50), rows(50), 0.001)
    assert (found.chosen, found.after) == (0, found.before)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: diagnose(-0.1, 0.2, 0.1), "at least 0"),
        (lambda: diagnose(0.1, float("nan"), 0.1), "give finite numbers"),
        (lambda: follow_advice([polynomial(0)], 1, rows(5), rows(5), 0.1), "ladder of 1"),
        (lambda: learning_curve(polynomial(0), rows(5), rows(5), [6], key=KEY), "for 5 rows"),
        (lambda: learning_curve(polynomial(0), rows(5), rows(5), [0], key=KEY), "at least 1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
