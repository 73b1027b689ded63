"""Fits of Gabor filters against filters made by the formula and against least squares by SciPy."""

import numpy as np
import pytest

from leadline.kernels import features


def test_filters_made_by_the_formula_are_found_again():
    rng = np.random.default_rng(0)
    made = []
    for _ in range(12):
        wave, angle, width, aspect, phase = rng.uniform((3.5, 0, 1.2, 0.55, 0), (9, np.pi, 3, 0.95, 6))
        made.append(features.gabor_filter(9, wave, angle, width=width, aspect=aspect, phase=phase))
    made = 3.0 * np.stack(made) + 0.7  # neither size nor offset matters
    fit = features.fit_gabor(made)
    assert (fit.explained > 0.999).all()
    np.testing.assert_allclose(fit.fitted, made, atol=0.05)


def test_the_share_explained_is_one_less_the_residual_and_no_worse_than_other_starts():
    from scipy.optimize import least_squares

    rng = np.random.default_rng(1)
    noise = rng.normal(size=(3, 7, 7))
    fit = features.fit_gabor(noise)
    v, u = np.mgrid[:7, :7] - 3.0

    def residual(p, target):
        x, y, wave, angle, width, aspect, even, odd, offset = p
        a = (u - x) * np.cos(angle) + (v - y) * np.sin(angle)
        b = (v - y) * np.cos(angle) - (u - x) * np.sin(angle)
        window, turn = np.exp(-(a**2 + aspect**2 * b**2) / (2 * width**2)), 2 * np.pi * a / wave
        return (window * (even * np.cos(turn) + odd * np.sin(turn)) + offset - target).ravel()

    low = [-1.75, -1.75, 2.5, -np.pi, 0.8, 0.5, -20, -20, -9]
    high = [1.75, 1.75, 14, 2 * np.pi, 3.5, 1, 20, 20, 9]
    for target, explained, fitted in zip(noise, fit.explained, fit.fitted, strict=True):
        total = ((target - target.mean()) ** 2).sum()
        assert explained == pytest.approx(1 - ((target - fitted) ** 2).sum() / total, abs=1e-10)
        starts = rng.uniform([-1, -1, 3, 0, 1, 0.6, -1, -1, -1], [1, 1, 9, 3, 3, 0.9, 1, 1, 1], (8, 9))
        best = min(2 * least_squares(residual, s, bounds=(low, high), args=(target,)).cost for s in starts)
        assert explained >= 1 - best / total - 0.02


def test_what_cannot_be_fitted_is_refused():
    with pytest.raises(ValueError, match="constant"):
        features.fit_gabor(np.ones((1, 5, 5)))
    with pytest.raises(ValueError, match=r"\(2, 5, 4\)"):
        features.fit_gabor(np.ones((2, 5, 4)))
