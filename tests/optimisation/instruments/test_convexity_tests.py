import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import optimisation
from leadline.optimisation.instruments.convexity_tests import convexity_violation

KEY = jax.random.key(0)
SADDLE = optimisation.Quadratic(jnp.diag(jnp.array([-1.0, 3.0])), jnp.zeros(2))
BOWL = optimisation.Quadratic(jnp.diag(jnp.array([0.0, 3.0])), jnp.zeros(2))


@pytest.mark.parametrize(
    ("test", "worst"), [("chord", 2.0), ("midpoint", 2.0), ("bregman", 8.0), ("monotonicity", 16.0), ("hessian", 1.0)]
)
def test_worst_witness_of_a_saddle_spans_the_box(test, worst):
    found = optimisation.refute_convexity(SADDLE, -2.0, 2.0, key=KEY, dimension=2, test=test, pairs=200)
    assert found.witness.violation == pytest.approx(worst, rel=1e-2)
    value, _ = convexity_violation(SADDLE, *map(jnp.asarray, found.witness[2:]), test)
    assert float(value) == pytest.approx(found.witness.violation)
    assert not optimisation.refute_convexity(BOWL, -2.0, 2.0, key=KEY, dimension=2, test=test, pairs=200).refuted


def test_lanczos_finds_the_one_negative_direction_of_many():
    diagonal = np.linspace(1.0, 2.0, 120)
    diagonal[77] = -0.5
    found = optimisation.refute_convexity(
        lambda w: jnp.sum(diagonal * w**2) / 2,
        -1.0,
        1.0,
        key=KEY,
        dimension=120,
        test="hessian",
        pairs=1,
        climb_steps=0,
    )
    assert found.witness.violation == pytest.approx(0.5, rel=1e-6)
    assert abs((found.witness.second - found.witness.first)[77]) == pytest.approx(1.0, abs=1e-6)


def test_trajectory_of_many_points_is_thinned_and_a_convex_one_passes():
    path = np.linspace(-2, 2, 500)[:, None]
    assert optimisation.refute_convexity_along(lambda w: jnp.sum(w**4), path).witness is None
    assert optimisation.refute_convexity_along(lambda w: -jnp.sum(w**4), path, test="monotonicity").refuted


def test_certificate_of_a_non_convex_function_is_refused_with_both_points():
    with pytest.raises(optimisation.NotConvex, match=r"not convex: at .* w = .* w′ = ") as caught:
        optimisation.certify_convex(SADDLE, -2.0, 2.0, key=KEY, dimension=2, pairs=200)
    witness = caught.value.search.witness
    assert witness.first.shape == witness.second.shape == (2,)


def test_certificate_of_a_convex_function_says_that_nothing_was_found():
    searches = optimisation.certify_convex(BOWL, -2.0, 2.0, key=KEY, dimension=2, pairs=200)
    assert [str(search).split(" (")[0] for search in searches] == [
        "chord: no violation found in 200",
        "bregman: no violation found in 200",
    ]


def test_bad_regions_and_functions_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="inside the function's domain"):
        optimisation.refute_convexity(lambda w: -jnp.sum(jnp.log(w)), -1.0, 1.0, key=KEY, climb_steps=0)
    with pytest.raises(ValueError, match="low < high"):
        optimisation.refute_convexity(BOWL, 1.0, 1.0, key=KEY)
    with pytest.raises(ValueError, match="two ends"):
        optimisation.refute_convexity_along(BOWL, np.zeros((1, 2)))
