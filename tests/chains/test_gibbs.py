"""Grid kernels, Gibbs laws and annealing against closed forms, published numbers and simulation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

from leadline import chains, optimisation
from leadline.chains.annealing import geometric_cooling, in_stretches
from leadline.chains.coupling import coupled_distances
from leadline.chains.grid import on_grid
from leadline.chains.temperature import block_estimate
from leadline.chains.wells import TwinWells, critical_points_on
from leadline.stochastic.problems.finite_sum import six_points

KEY = jax.random.key(5)
WELL = optimisation.DoubleWell()


def test_a_gaussian_kernel_has_the_stationary_variance_of_the_recursion():
    model = chains.IsotropicLangevin(0.5, 4.0)
    points = chains.even_grid(-2.5, 2.5, 61)
    law = chains.invariant_law(model.kernel(optimisation.Quadratic(jnp.eye(1), jnp.zeros(1)), points).chain)
    np.testing.assert_allclose(law @ points**2, 0.0625 / 0.75, rtol=1e-8)
    assert model.stationary_variance(4.0) == np.inf


def test_what_a_grid_cannot_hold_is_refused_or_reported():
    points = chains.even_grid(-1.0, 1.0, 11)
    with pytest.raises(ValueError, match="too coarse"):
        chains.gaussian_kernel(points, points, 0.1)
    wide = chains.gaussian_kernel(points, np.full(11, 5.0), 0.5)
    np.testing.assert_allclose(wide.leaked, 1.0, atol=1e-9)
    np.testing.assert_allclose(wide.chain.matrix.sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="low < high"):
        chains.even_grid(1.0, 0.0, 5)
    with pytest.raises(ValueError, match="must all be positive"):
        chains.IsotropicLangevin(0.1, 0.0)


def test_the_kernel_of_sgd_lists_all_batches():
    problem = six_points()
    points = chains.even_grid(-3.0, 4.0, 57)
    gradients = on_grid(problem.gradients, points)[..., 0]
    one = chains.sgd_kernel(gradients, points, step_size=0.3)
    two = chains.sgd_kernel(gradients, points, step_size=0.3, batch=2)
    pairs = (gradients[:, :, None] + gradients[:, None, :]).reshape(57, 36) / 2
    direct = chains.splitting_kernel(points, points[:, None] - 0.3 * pairs, np.full(36, 1 / 36))
    np.testing.assert_allclose(two.chain.dense, direct.chain.dense, atol=1e-14)
    mean = points - 0.3 * gradients.mean(axis=1)
    np.testing.assert_allclose(one.chain.matrix @ points, mean, atol=1e-12)
    with pytest.raises(ValueError, match="batches of 40"):
        chains.sgd_kernel(gradients, points, step_size=0.3, batch=40)


def test_the_double_well_has_the_numbers_of_the_specification():
    ends = critical_points_on(WELL, chains.even_grid(-3.0, 3.0, 101))
    np.testing.assert_allclose(ends.places, [-1.04668, 0.101031, 0.945649], atol=1e-6)
    np.testing.assert_allclose(ends.losses, [-0.102386, 0.255026, 0.097361], atol=1e-6)
    np.testing.assert_allclose(ends.curvatures, [2.28662, -0.96938, 1.68276], atol=1e-5)
    assert len(ends.minima.places) == 2
    kernel = chains.IsotropicLangevin.at(0.05, 20.0).kernel(WELL, chains.even_grid(-2.5, 2.5, 301))
    crossing = chains.hitting_times(kernel.chain, kernel.points <= ends.places[0])
    np.testing.assert_allclose(0.05 * np.interp(ends.places[2], kernel.points, crossing), 131.84, rtol=1e-3)


@pytest.mark.parametrize("beta", [0.7, 30.0])
def test_the_partition_function_agrees_with_adaptive_quadrature(beta):
    found = chains.partition_function(lambda w: (w[..., 0] ** 2 - 1) ** 2 / 4 + 0.1 * w[..., 0], beta)
    exact, _ = quad(lambda w: np.exp(-beta * ((w**2 - 1) ** 2 / 4 + 0.1 * w)), -8, 8, points=[-1, 1], epsabs=1e-13)
    np.testing.assert_allclose(found.log_value, np.log(exact), atol=1e-9)


def test_integrals_that_diverge_are_said_to():
    assert not chains.partition_function(lambda w: np.log1p(np.abs(w[..., 0])), 0.9).finite
    assert chains.partition_function(lambda w: np.abs(w[..., 0]), 1.0).finite
    with pytest.raises(ValueError, match="beta = 0"):
        chains.partition_function(lambda w: w[..., 0] ** 2, 0.0)
    with pytest.raises(ValueError, match="degenerate"):
        chains.laplace_log_partition(np.zeros(1), np.zeros((1, 1, 1)), 1.0)
    with pytest.raises(ValueError, match="the second negative"):
        chains.kramers_time(1.0, 1.0, 0.1, 10.0)


def test_twin_wells_have_the_curvatures_asked_for():
    spacing = 1e-3
    for place, curvature in ((-1.0, 1.0), (1.0, 4.0)):
        low, middle, high = on_grid(TwinWells(4.0), place + spacing * np.array([-1.0, 0.0, 1.0]))
        assert abs(middle) < 1e-15
        assert abs((low + high) / spacing**2 - curvature) < 1e-4


def test_annealed_laws_agree_with_step_by_step_propagation_and_with_runs():
    points = chains.even_grid(-2.2, 2.2, 151)
    schedule = geometric_cooling(0.2, 0.05, 60)
    stretches = in_stretches(schedule, 0.05)
    assert stretches.lengths.sum() == 60
    start = chains.gibbs_law((points - 1) ** 2, 40.0)
    law = start
    for temperature in stretches.schedule:
        law = law @ chains.IsotropicLangevin.at(0.1, 1 / temperature).kernel(WELL, points).chain.matrix
    laws = chains.annealed_laws(WELL, points, start, stretches, step_size=0.1)
    np.testing.assert_allclose(laws[-1], law, atol=1e-12)
    rng = np.random.default_rng(0)
    begin = rng.choice(points, p=start, size=(3000, 1))
    ends = chains.annealed_runs(WELL, begin, stretches.schedule, step_size=0.1, key=KEY)
    expected = law[points < 0].sum()
    assert abs(np.mean(np.asarray(ends) < 0) - expected) < 4 * np.sqrt(expected / 3000)
    with pytest.raises(ValueError, match="positive ones"):
        in_stretches(np.array([1.0, 0.0]))


def test_parallel_tempering_reaches_the_share_of_the_invariant_law():
    ends = chains.parallel_tempering(
        WELL, np.full((600, 1), 0.9456), np.array([0.3, 0.15, 0.1]), step_size=0.05, rounds=250, between=5, key=KEY
    )
    points = chains.even_grid(-2.5, 2.5, 201)
    law = chains.invariant_law(chains.IsotropicLangevin.at(0.05, 10.0).kernel(WELL, points).chain)
    share = law[points < 0.101].sum()
    assert abs(np.mean(np.asarray(ends) < 0.101) - share) < 4 * np.sqrt(share * (1 - share) / 600)


def test_runs_in_chunks_are_one_run_and_follow_the_recursion(monkeypatch):
    from leadline.chains import langevin

    model, start = chains.IsotropicLangevin(0.1, 1.0), np.zeros((2, 1))
    whole = np.asarray(model.run(WELL, start, 12, every=2, key=KEY))
    monkeypatch.setattr(langevin, "_AT_ONCE", 17)
    np.testing.assert_allclose(np.asarray(model.run(WELL, start, 12, every=2, key=KEY)), whole, atol=1e-14)
    assert whole.shape == (7, 2, 1)
    with pytest.raises(ValueError, match="does not divide"):
        model.run(WELL, start, 5, every=2, key=KEY)


def test_coupled_runs_contract_exactly_on_a_parabola():
    bowl = optimisation.Quadratic(0.5 * jnp.eye(2), jnp.zeros(2))
    far = coupled_distances(chains.IsotropicLangevin(0.4, 1.0), bowl, np.array([3.0, 4.0]), np.zeros(2), 5, key=KEY)
    np.testing.assert_allclose(far, 5 * 0.8 ** np.arange(6))


def test_temperatures_of_the_six_points():
    problem, best = six_points(), np.array([0.3591837])
    found = chains.measure_temperatures(problem, best, step_size=0.1, batch=1, num_steps=4000, every=10, key=KEY)
    np.testing.assert_allclose(found.trace, 0.1 * 0.159787 / 2, rtol=1e-4)
    np.testing.assert_allclose(found.directions, found.trace)
    assert found.equipartition.holds(found.expected, rtol=0.1)
    with pytest.raises(ValueError, match="beyond 2/L"):
        chains.measure_temperatures(problem, best, step_size=3.0, batch=1, key=KEY)
    with pytest.raises(ValueError, match="do not make 20 blocks"):
        block_estimate(np.ones(10))
