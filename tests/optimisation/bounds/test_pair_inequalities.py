import jax.numpy as jnp
import numpy as np
import pytest

from leadline import optimisation
from leadline.optimisation.instruments.remainders import remainder_integral


def pairs_of(matrix, seed=0):
    a, b = np.random.default_rng(seed).normal(size=(2, 50, len(matrix)))
    return optimisation.pair_table(optimisation.Quadratic(jnp.asarray(matrix), jnp.ones(len(matrix))), a, b)


def test_on_a_quadratic_every_quantity_is_a_quadratic_form():
    matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
    table = pairs_of(matrix)
    step = table.second - table.first
    form = np.einsum("ni,ij,nj->n", step, matrix, step)
    assert table.forward == pytest.approx(form / 2, abs=1e-12)
    assert table.backward == pytest.approx(form / 2, abs=1e-12)
    assert table.inner == pytest.approx(form, abs=1e-12)
    assert table.squared_change == pytest.approx(np.sum((step @ matrix) ** 2, axis=1), abs=1e-12)


def test_all_inequalities_hold_with_the_right_constants_and_name_a_witness_with_wrong_ones():
    table = pairs_of(np.diag([1.0, 4.0]))
    right = optimisation.inequality_table(table, smoothness=4.0, strong_convexity=1.0)
    assert len(right) == 10
    assert all(row.holds for row in right.values())
    wrong = optimisation.inequality_table(table, smoothness=2.0, strong_convexity=2.0)
    for name in (
        "Lipschitz gradient",
        "curvature at most L",
        "descent lemma",
        "curvature at least m",
        "parabola below",
    ):
        assert not wrong[name].holds
        assert wrong[name].least == wrong[name].slack.min()
    broken = wrong["descent lemma"]
    step = broken.second - broken.first
    assert step @ np.diag([1.0, 4.0]) @ step / 2 > step @ step


def test_points_outside_the_domain_and_unequal_pairs_are_refused():
    with pytest.raises(ValueError, match="not finite"):
        optimisation.pair_table(lambda w: jnp.log(w[0]), np.array([[1.0]]), np.array([[-1.0]]))
    with pytest.raises(ValueError, match="equal shape"):
        optimisation.pair_table(jnp.sum, np.zeros((2, 1)), np.zeros((3, 1)))


def test_remainder_integral_is_the_divergence_and_needs_breaks_at_kinks():
    x, y = np.array([[1.0, 2.0]]), np.array([[0.5, -1.0]])
    cubic = remainder_integral(lambda w: 3 * w**2, x, y, nodes=3)
    assert cubic == pytest.approx(np.sum(x**3 - y**3 - 3 * y**2 * (x - y)))
    kink = remainder_integral(np.abs, np.array([[1.0]]), np.array([[-1.0]]), breaks=[0.5])
    assert kink == pytest.approx(-1.0, abs=1e-14)  # l = w|w|/2: ½ + ½ − 1·2
    with pytest.raises(ValueError, match="between 0 and 1"):
        remainder_integral(np.abs, x, y, breaks=[1.5])
