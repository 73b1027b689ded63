"""Spectra against eigenvalues, lower bounds against brute force, the span test, and the flows' closed forms."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from leadline import optimisation
from leadline.optimisation.bounds.momentum_bounds import flat_minimum_exponents, heavy_ball_average_bound
from leadline.optimisation.bounds.momentum_spectrum import best_momentum, companion, factor_map, measured_factor
from leadline.optimisation.runs.momentum_flows import Particle, vanishing_friction_energy

METHODS = ("gradient descent", "heavy ball", "nesterov")


@pytest.mark.parametrize("method", METHODS)
def test_the_factor_is_the_largest_eigenvalue_and_the_run_shows_it(method):
    for scaled, momentum in ((0.1, 0.3), (0.5, 0.9), (1.2, 0.5), (3.5, 0.8)):
        matrix = companion(method, scaled, momentum)
        radius = np.max(np.abs(np.linalg.eigvals(matrix)))
        assert factor_map(method, np.array([scaled]), np.array([momentum]))[0, 0] == pytest.approx(radius)
        measured = measured_factor(method, np.array([scaled]), momentum, num_steps=4000)
        assert measured[0] == pytest.approx(radius, abs=1e-3)


def test_mode_paths_are_the_recursions():
    forms = {"heavy ball": optimisation.heavy_ball_one_line, "nesterov": optimisation.nesterov_two_line}
    for method, form in forms.items():
        run = form(lambda w: w, np.ones(1), optimisation.constant_schedule(0.3, 0.7, 20))[:, 0]
        np.testing.assert_allclose(optimisation.mode_path(method, 0.3, 0.7, 20), run, atol=1e-12)


def test_the_worst_curvature_is_at_an_end():
    for method in METHODS:
        inside = optimisation.growth_factor(method, 0.9 / 50, np.linspace(1, 50, 400), 0.6)
        assert optimisation.worst_factor(method, 0.9 / 50, 0.6, 50.0, 1.0) >= inside.max() - 1e-12


def test_searched_momenta_are_the_formulas():
    for kappa in (5.0, 300.0):
        rho, factor = best_momentum("nesterov", 1 / kappa, kappa, 1.0)
        assert rho == pytest.approx((kappa**0.5 - 1) / (kappa**0.5 + 1), abs=1e-6)
        assert factor == pytest.approx(1 - kappa**-0.5, abs=1e-6)
        step, momentum = optimisation.heavy_ball_tuning(kappa, 1.0)
        assert best_momentum("heavy ball", step, kappa, 1.0)[0] == pytest.approx(momentum, abs=1e-6)


def test_alignment_is_the_cosine():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    gradients = np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 2.0]])
    np.testing.assert_allclose(optimisation.momentum_alignment(points, gradients), [-(0.5**0.5), 0.0])


def test_the_best_gap_in_the_span_is_that_of_brute_force():
    t, links, smoothness = 3, 9, 2.0
    chain = optimisation.WorstChain(links, smoothness)
    matrix = smoothness / 4 * (2 * np.eye(links) - np.eye(links, k=1) - np.eye(links, k=-1))
    linear = smoothness / 4 * np.eye(links)[0]
    krylov = np.stack([np.linalg.matrix_power(matrix, i) @ linear for i in range(t)], axis=1)
    best = krylov @ np.linalg.solve(krylov.T @ matrix @ krylov, krylov.T @ linear)
    gap = float(chain(jnp.asarray(best))) - chain.constants().minimum
    assert gap == pytest.approx(optimisation.chain_best_gap(t, smoothness, links))
    np.testing.assert_allclose(
        optimisation.chain_gradient(best, smoothness), chain.gradient(jnp.asarray(best)), atol=1e-12
    )
    assert optimisation.chain_gap(best, smoothness) == pytest.approx(gap)
    assert optimisation.chain_distance(links) == pytest.approx(np.linalg.norm(chain.constants().minimiser))
    points = optimisation.conjugate_gradient_points(lambda w: matrix @ w - linear, np.zeros(links), t)
    np.testing.assert_allclose(points[-1], best, atol=1e-10)


def test_conjugate_gradients_also_start_where_the_linear_term_is_zero():
    points = optimisation.conjugate_gradient_points(lambda w: np.array([1.0, 5.0]) * w, np.array([1.0, 2.0]), 4)
    assert points.shape == (5, 2)
    np.testing.assert_allclose(points[2:], 0.0, atol=1e-12)


def test_the_span_residual_is_the_distance_to_the_span():
    rng = np.random.default_rng(1)
    points, gradients = rng.normal(size=(4, 6)), rng.normal(size=(4, 6))
    residuals = optimisation.span_residuals(points, gradients)
    moved = points[3] - points[0]
    fit = np.linalg.lstsq(gradients[:3].T, moved, rcond=None)[0]
    assert residuals[2] == pytest.approx(np.linalg.norm(moved - fit @ gradients[:3]) / np.linalg.norm(moved))
    with pytest.raises(ValueError, match="3 steps need 4 gradients"):
        optimisation.span_residuals(points, gradients[:3], ahead=1)
    with pytest.raises(ValueError, match="1 ≤ steps < p"):
        optimisation.check_span(lambda w: w @ w, optimisation.heavy_ball(0.1, 0.0), jnp.ones(2), 2)


def test_closed_forms_solve_their_equations():
    times = np.linspace(0.0, 8.0, 9)
    for friction, mass in ((0.3, 1.0), (2.0, 1.0), (5.0, 2.0)):
        solved = solve_ivp(
            lambda t, y, c=friction, m=mass: [y[1], (-c * y[1] - y[0]) / m],
            (0, 8),
            [1.0, 0.0],
            t_eval=times,
            rtol=1e-10,
            atol=1e-12,
        )
        np.testing.assert_allclose(optimisation.damped_mode(times, 1.0, friction, mass), solved.y[0], atol=1e-7)
    for r in (1.0, 3.0, 4.5):
        begin = 1e-6
        solved = solve_ivp(
            lambda t, y, r=r: [y[1], -r / t * y[1] - 2 * y[0]],
            (begin, 8),
            [1.0, -2 * begin / (1 + r)],
            t_eval=times[1:],
            rtol=1e-10,
            atol=1e-12,
        )
        np.testing.assert_allclose(optimisation.vanishing_friction_mode(times, 2.0, r)[1:], solved.y[0], atol=1e-6)
        energy = solved.y[1] ** 2 / 2 + solved.y[0] ** 2
        np.testing.assert_allclose(vanishing_friction_energy(times, 2.0, r)[1:], energy, atol=1e-6)


def test_flows_refuse_a_particle_without_mass_and_critical_damping_is_recognised():
    bowl = optimisation.LogCoshBowl(jnp.ones(1), jnp.zeros(1))
    with pytest.raises(ValueError, match="gradient_flow"):
        optimisation.inertial_flow(bowl, jnp.ones(1), jnp.array([0.0, 1.0]), Particle(mass=0.0))
    assert optimisation.damping_regime(2.0, 8.0**0.5) == "critical"


def test_the_log_cosh_bowl_has_its_gradient_and_hessian():
    bowl, w = optimisation.LogCoshBowl(np.array([0.5, 0.0]), np.array([0.0, 2.0])), jnp.array([1.5, -0.7])
    np.testing.assert_allclose(bowl.gradient(w), [0.75, 2 * np.tanh(-0.7)], rtol=1e-6)
    np.testing.assert_allclose(np.diag(bowl.hessian(w)), [0.5, 2 / np.cosh(0.7) ** 2], rtol=1e-6)
    assert float(bowl(jnp.array([2.0, 0.0]))) == pytest.approx(1.0)


def test_averages_of_heavy_ball_keep_their_bound_and_exponents_their_domain():
    plan = optimisation.constant_schedule(0.4, 0.6, 200)
    points = optimisation.heavy_ball_one_line(lambda w: np.clip(w, -0.01, 0.01), np.ones(1), plan)[:, 0]
    average = np.cumsum(points) / np.arange(1, 202)
    inside = np.clip(average, -0.01, 0.01)
    bound = heavy_ball_average_bound(1.0, 1.0, 0.00995, 0.4, 0.6, np.arange(201))
    assert np.all(inside * (average - inside / 2) <= bound)
    with pytest.raises(ValueError, match="needs 0 < step"):
        heavy_ball_average_bound(1.0, 1.0, 1.0, 0.5, 0.6, 1)
    with pytest.raises(ValueError, match="q > 3"):
        flat_minimum_exponents(2.0)
