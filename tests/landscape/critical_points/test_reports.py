"""Labels and inertia against known polynomials, and the two routes to the inertia against each other."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.landscape import coupled_wells, critical_point_report, quartic_landscape, refine_critical_point
from leadline.landscape.critical_points.reports import labels_by_necessary_conditions


@pytest.mark.parametrize(
    ("terms", "label", "inertia", "order"),
    [
        ({(2, 0): 1.0, (0, 2): -2.0}, "strict saddle", (1, 0, 1), 2),
        ({(2, 0): 1.0, (0, 2): 2.0}, "strict minimum", (0, 0, 2), 0),
        ({(2, 0): -1.0, (0, 2): -2.0}, "maximum", (2, 0, 0), 2),
        ({(3, 0): 1.0, (1, 2): -3.0}, "degenerate saddle", (0, 2, 0), 3),
        ({(4, 0): -1.0, (0, 2): -1.0}, "degenerate maximum", (1, 1, 0), 2),
        ({(4, 0): 1.0, (0, 2): -1.0}, "degenerate saddle", (1, 1, 0), 2),
        ({(4, 0): 1.0, (0, 4): 1.0}, "degenerate minimum", (0, 2, 0), 0),
        ({(0, 0): 3.0, (2, 0): 0.0}, "flat", (0, 2, 0), 0),
        ({(0, 2): 1.0, (2, 1): -2.0, (4, 0): 0.5}, "degenerate saddle", (0, 1, 1), 4),
    ],
)
def test_the_origin_of_a_polynomial_gets_its_known_label(terms, label, inertia, order):
    report = critical_point_report(quartic_landscape(terms), jnp.zeros(2))
    assert (report.label, report.inertia, report.order) == (label, inertia, order)


def test_the_escape_direction_lowers_the_loss_of_any_pytree():
    def loss(params, y):
        return jnp.mean((params["a"] * params["b"] - y) ** 2)

    start = {"a": jnp.zeros(2), "b": jnp.zeros(2)}
    report = critical_point_report(loss, start, jnp.array([1.0, -2.0]))
    assert (report.label, report.inertia) == ("strict saddle", (2, 0, 2))
    moved = eqx.apply_updates(start, jnp_scaled(report.escape, 1e-2))
    assert loss(moved, jnp.array([1.0, -2.0])) < loss(start, jnp.array([1.0, -2.0]))


def jnp_scaled(tree, factor):
    return {name: factor * leaf for name, leaf in tree.items()}


def test_lanczos_with_deflation_counts_multiple_eigenvalues():
    diagonal = jnp.asarray(np.concatenate([[-2.0] * 3, [0.0] * 4, np.linspace(1.0, 2.0, 243)]))
    report = critical_point_report(lambda w: jnp.sum(diagonal * w**2), jnp.zeros(250), method="lanczos")
    assert (report.inertia, report.counted) == ((3, 4, 243), True)
    short = critical_point_report(lambda w: jnp.sum(diagonal * w**2), jnp.zeros(250), method="lanczos", most=2)
    assert (short.negative, short.counted) == (2, False)


def test_away_from_critical_points_the_escape_is_the_descent():
    report = critical_point_report(coupled_wells(np.zeros((2, 2))), jnp.array([0.5, 0.5]))
    assert (report.label, report.order) == ("not critical", 1)
    assert np.allclose(report.escape, np.ones(2) / np.sqrt(2))


@pytest.mark.parametrize("method", ["newton", "gradient norm"])
def test_refinement_reaches_the_saddle_next_to_the_start(method):
    wells = coupled_wells(np.zeros((2, 2)))
    found = refine_critical_point(wells, jnp.array([0.9, 0.1]), method=method, tolerance=1e-9)
    assert found.converged
    assert np.allclose(found.params, [1.0, 0.0], atol=1e-8)
    assert found.gradient_norms[-1] <= 1e-9 < found.gradient_norms[0]


def test_necessary_conditions_leave_cases_open():
    assert labels_by_necessary_conditions(np.array([1.0, 2.0]), 0.1) == {"minimum"}
    assert labels_by_necessary_conditions(np.array([-1.0, 2.0]), 0.1) == {"saddle"}


def test_bad_input_is_told():
    wells = coupled_wells(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="at least 1"):
        critical_point_report(wells, jnp.zeros(2), most=0)
    with pytest.raises(ValueError, match="steps = 0"):
        refine_critical_point(wells, jnp.zeros(2), num_steps=0)
    with pytest.raises(ValueError, match="degree 5"):
        quartic_landscape({(5, 0): 1.0})
    with pytest.raises(ValueError, match="symmetric"):
        coupled_wells(np.array([[0.0, 1.0], [0.0, 0.0]]))
