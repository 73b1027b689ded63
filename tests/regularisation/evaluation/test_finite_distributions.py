"""Finite distributions: sums against draws, the split against the double sum, quantiles against SciPy's search."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from leadline.regularisation.evaluation.finite_distributions import finite_distribution

RNG = np.random.default_rng(7)


def law(k=4, v=6):
    return finite_distribution(RNG.dirichlet(np.ones(k)), RNG.normal(size=v), RNG.dirichlet(np.ones(v), size=k))


def test_the_split_adds_up_for_every_function():
    one = law()
    for f in RNG.normal(size=(10, 4)):
        parts = one.split(f)
        double = sum(
            p * q * (f[i] - y) ** 2
            for i, p in enumerate(one.inputs)
            for y, q in zip(one.values, one.conditional[i], strict=True)
        )
        assert parts.distance + parts.floor == pytest.approx(double, abs=1e-13)
        assert parts.cross == pytest.approx(0, abs=1e-13)
        assert parts.risk == pytest.approx(one.risk(f), abs=1e-13)


def test_the_median_has_the_least_absolute_risk():
    one = law()
    best = one.conditional_risk(one.quantile(), lambda c, y: np.abs(c - y))
    for row in range(4):
        alone = one._replace(inputs=np.ones(1), conditional=one.conditional[row : row + 1])
        found = minimize_scalar(lambda c, alone=alone: alone.risk(np.array([c]), lambda a, y: np.abs(a - y)))
        assert best[row] <= found.fun + 1e-9


def test_draws_follow_the_table():
    one = law()
    x, y = one.draw(40_000, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(x[:, 0], minlength=4) / 40_000, one.inputs, atol=0.02)
    row = int(np.argmax(one.inputs))
    assert y[x[:, 0] == row].mean() == pytest.approx(one.mean()[row], abs=0.1)
    assert np.isin(y, one.values).all()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([0.5, 0.6], [0.0], [[1.0], [1.0]]), "no probabilities"),
        (([1.0], [0.0, 1.0], [[0.5, 0.5], [0.5, 0.5]]), "give"),
        (([1.0], [0.0, 1.0], [[-0.5, 1.5]]), "no probabilities"),
    ],
)
def test_what_is_no_distribution_is_refused(parts, message):
    with pytest.raises(ValueError, match=message):
        finite_distribution(*parts)
