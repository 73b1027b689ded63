import numpy as np
import pytest

from leadline import stochastic
from leadline.stochastic.moments.scalar_recursion import suffix_moment


@pytest.mark.parametrize("length", [1, 2, 7, 100])
def test_an_affine_recurrence_is_its_loop(length):
    rng = np.random.default_rng(length)
    a, c, x = rng.uniform(-1, 1, (3, length)), rng.normal(size=(3, length)), rng.normal(size=3)
    expected = []
    value = x
    for t in range(length):
        value = a[:, t] * value + c[:, t]
        expected.append(value)
    np.testing.assert_allclose(stochastic.affine_recurrence(a, c, x), np.array(expected).T, rtol=1e-12)


def test_the_moments_are_those_of_an_explicit_linear_map():
    # w^t = Σ_s (coefficient) ξ_s + (coefficient) w⁰: square the coefficients
    steps, h, noise, start = np.array([0.5, 0.3, 0.7, 0.2]), 1.3, 2.0, 1.7
    row = np.array([1.0, 0, 0, 0, 0])
    rows = [row]
    for t, eta in enumerate(steps):
        row = (1 - eta * h) * row
        row[t + 1] = -eta
        rows.append(row)
    scale = np.array([start**2, *[noise] * 4])
    last = [r**2 @ scale for r in rows[1:]]
    mean = [np.mean(rows[: t + 1], axis=0) ** 2 @ scale for t in range(4)]
    found = stochastic.scalar_moments(steps, curvature=h, noise=noise, start=start)
    np.testing.assert_allclose(found.last, last, rtol=1e-12)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-12)
    tail = suffix_moment(steps, 2, curvature=h, noise=noise, start=start)
    np.testing.assert_allclose(tail, np.mean(rows[2:4], axis=0) ** 2 @ scale, rtol=1e-12)
    with pytest.raises(ValueError, match="leaves no iterate"):
        suffix_moment(steps, 4)
