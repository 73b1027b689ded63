"""Weight decay on two factors: the closed forms against Hessians and BFGS."""

import jax
import numpy as np
import pytest

from leadline.landscape import deep_linear
from leadline.landscape.deep_linear.penalised_factors import PenalisedFactors


@pytest.fixture
def whitened():
    rng = np.random.default_rng(0)
    x = np.linalg.qr(rng.normal(size=(40, 4)))[0].T * 40**0.5
    u, v = (np.linalg.qr(rng.normal(size=(4, 4)))[0] for _ in range(2))
    return deep_linear.LinearProblem(x, (u[:3, :3] * np.array([3.0, 2.0, 1.0])) @ v[:3] @ x)


@pytest.mark.parametrize("penalty", [0.1, 0.7, 1.2, 1.6])
def test_families_are_critical_with_their_level_and_index(whitened, penalty):
    for hidden in (1, 2, 3, 4):
        penalised = PenalisedFactors(whitened, hidden, penalty)
        alive = int(np.sum(penalised.singular_values > 2 * penalty))
        families = penalised.families()
        assert len(families) == deep_linear.count_families(alive, hidden)
        assert families[0].level == pytest.approx(penalised.minimum, rel=1e-12)
        np.testing.assert_allclose(families[0].a @ families[0].b, penalised.optimum, atol=1e-12)
        for family in families:
            assert max(np.abs(g).max() for g in penalised.factor_gradient(family.a, family.b)) < 1e-12
            assert penalised.factor_loss(family.a, family.b) == pytest.approx(family.level, rel=1e-12)
            inertia = deep_linear.hessian_inertia(penalised.factor_hessian(family.a, family.b))
            assert inertia[0] == family.index


def test_bfgs_finds_the_soft_threshold(whitened):
    penalised = PenalisedFactors(whitened, 2, 0.3)
    rng = np.random.default_rng(1)
    a, b = penalised.minimise(rng.normal(size=(3, 2)), rng.normal(size=(2, 4)))
    np.testing.assert_allclose(a @ b, penalised.optimum, atol=1e-6)
    np.testing.assert_allclose(a.T @ a, b @ b.T, atol=1e-6)


def test_bad_input_is_said(whitened):
    with pytest.raises(ValueError, match="whiten them"):
        PenalisedFactors(deep_linear.random_problem(4, 3, 20, key=jax.random.key(0)), 2, 0.1)
    with pytest.raises(ValueError, match="at least one unit"):
        PenalisedFactors(whitened, 0, 0.1)
