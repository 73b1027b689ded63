"""Well landscapes against their own formula and a Gaussian integral; escape times against exact recursions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.landscape import WellLandscape, basin_masses, laplace_masses
from leadline.landscape.critical_points.saddle_escape import degenerate_escape_steps, escape_times, strict_escape_steps


def test_values_gradient_and_basins_agree_with_the_definition():
    hessians = np.array([np.diag([1.0, 3.0]), np.eye(2)])
    wells = WellLandscape([0.0, 0.2], [[0.0, 0.0], [1.0, 1.0]], hessians, sharpness=3.0)
    points = np.random.default_rng(0).normal(size=(5, 2))
    traced, slopes, formula = jax.jit(jax.vmap(lambda w: (wells(w), jax.grad(wells)(w), wells.gradient(w))))(points)
    assert np.allclose(wells.values(points), traced)
    assert np.allclose(formula, slopes)
    by_hand = [np.argmin([0.5 * (p @ hessians[0] @ p), 0.2 + 0.5 * (p - 1) @ (p - 1)]) for p in points]
    assert wells.basins(points).tolist() == by_hand


def test_masses_of_distant_wells_are_gaussian_integrals():
    wells = WellLandscape([0.0, 0.1], [[-4.0], [4.0]], [4.0, 1.0], sharpness=500.0)
    grid = np.linspace(-8.0, 10.0, 2001)[:, None]
    found = basin_masses(wells.values(grid), wells.basins(grid), 5.0)
    weights = np.array([1 / 2, np.exp(-0.5)])
    assert np.allclose(found, weights / weights.sum(), rtol=1e-6)
    assert np.allclose(laplace_masses(wells.depths, wells.hessians, 5.0), weights / weights.sum())


def test_escape_from_a_quadratic_saddle_is_the_formula():
    times = escape_times(
        lambda w: w * np.array([2.0, -0.5]), np.array([[0.0, 1e-6], [0.0, 1e-3]]), step_size=0.1, radius=1.0
    )
    assert np.allclose(times, strict_escape_steps(np.array([1e-6, 1e-3]), 1.0, 0.1, -0.5))
    never = escape_times(lambda w: w, np.array([[0.1]]), step_size=0.1, radius=1.0, max_steps=10)
    assert np.isinf(never).all()


def test_the_degenerate_formula_integrates_the_flow():
    from scipy.integrate import quad

    time = quad(lambda r: 1 / (4 * 0.7 * r**3), 0.1, 2.0)[0]
    assert np.isclose(degenerate_escape_steps(0.1, 2.0, 0.05, 4, 0.7), time / 0.05)


def test_bad_input_is_told():
    with pytest.raises(ValueError, match="positive definite"):
        WellLandscape([0.0], [[0.0]], [-1.0])
    with pytest.raises(ValueError, match="one row"):
        WellLandscape([0.0, 1.0], jnp.zeros((1, 1)), [1.0])
    with pytest.raises(ValueError, match="positive definite"):
        laplace_masses(np.zeros(1), -np.ones((1, 1, 1)), 1.0)
    with pytest.raises(ValueError, match="negative curvature"):
        strict_escape_steps(0.1, 1.0, 0.1, 1.0)
    with pytest.raises(ValueError, match="order of 3"):
        degenerate_escape_steps(0.1, 1.0, 0.1, 2, 1.0)
    with pytest.raises(ValueError, match="start at distances"):
        escape_times(lambda w: w, np.array([[2.0]]), step_size=0.1, radius=1.0)
