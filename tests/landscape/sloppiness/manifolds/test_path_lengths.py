"""Lengths of known curves, ratios of known detours, optimisers against their formulas."""

import numpy as np
import pytest

from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.manifolds.geodesic_paths import resample
from leadline.landscape.sloppiness.manifolds.model_manifolds import haversine, sphere_model
from leadline.landscape.sloppiness.manifolds.path_lengths import optimiser_path

LINE = sloppiness.polynomial_model(np.array([-1.0, 0.0, 2.0]), 1)


def test_a_circle_of_latitude_has_its_length():
    path = np.stack([np.full(7, 0.8), np.linspace(0, 2, 7)], 1)
    length = sloppiness.fisher_length(sphere_model(), path, deviation=0.5)
    assert length * 0.5 * np.sqrt(3) == pytest.approx(2 * np.sin(0.8), rel=1e-9)


def test_the_detour_over_a_circle_of_latitude_is_known():
    path = np.stack([np.full(7, 0.8), np.linspace(0, 2, 7)], 1)
    found = sloppiness.path_length(sphere_model(), path, segments=8)
    assert found.ratio == pytest.approx(2 * np.sin(0.8) / haversine(path[0], path[-1]), rel=1e-6)


def test_natural_gradient_goes_straight_on_a_linear_model_and_descent_does_not():
    y = np.array([1.0, -2.0, 0.5])
    natural = optimiser_path(LINE, y, np.zeros(2), "natural", step_size=0.1, num_steps=40)
    plain = optimiser_path(LINE, y, np.zeros(2), "gradient", step_size=0.3, num_steps=200)
    best = LINE.fit(y, np.zeros(2)).weights
    np.testing.assert_allclose(natural[-1], best * (1 - 0.9**40), atol=1e-9)
    np.testing.assert_allclose(plain[-1], best, atol=1e-6)
    assert sloppiness.path_length(LINE, natural).ratio == pytest.approx(1.0, abs=1e-6)
    assert sloppiness.path_length(LINE, plain).ratio > 1.01


def test_levenberg_marquardt_and_stochastic_descent_reach_the_fit():
    y = LINE.predict(np.array([0.5, -1.0]))
    for rule, step, steps in (("levenberg-marquardt", 1.0, 30), ("stochastic", 0.2, 400)):
        path = optimiser_path(LINE, y, np.zeros(2), rule, step_size=step, num_steps=steps)
        np.testing.assert_allclose(path[-1], [0.5, -1.0], atol=1e-4)


def test_equal_pieces_of_a_path_are_equal():
    path = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 4.0]])
    chords = np.linalg.norm(np.diff(LINE.predict(resample(LINE, path, 100)), axis=0), axis=1)
    assert np.median(chords) == pytest.approx(chords.max(), rel=1e-6)


def test_bad_input_is_told():
    with pytest.raises(ValueError, match="at least two rows"):
        sloppiness.fisher_length(LINE, np.zeros((1, 2)))
    with pytest.raises(ValueError, match="no rule 'newton'"):
        optimiser_path(LINE, np.zeros(3), np.zeros(2), "newton", step_size=1.0, num_steps=1)
