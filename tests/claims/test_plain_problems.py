"""The NumPy twins that entries run without compilation are the library's objectives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import optimisation
from leadline.claims.scenarios.optimisation import plain_problems


def _data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(12, 3)), rng.choice([-1.0, 1.0], 12)


@pytest.mark.parametrize(
    ("plain", "objective", "point"),
    [
        (plain_problems.least_squares(*_data(), 0.2), optimisation.LeastSquares(*_data(), 0.2), [0.3, -1.0, 2.0]),
        (plain_problems.logistic(*_data(), 0.2), optimisation.LogisticRidge(*_data(), 0.2), [0.3, -1.0, 2.0]),
        (plain_problems.sine_parabola(), optimisation.SineParabola(), [1.3]),
        (plain_problems.huber(0.4), optimisation.Huber(0.4), [1.3]),
        (plain_problems.quartic(2.0), optimisation.PowerFunction(4), [1.3]),
        (plain_problems.double_well(), optimisation.DoubleWell(0.1), [0.7]),
        (plain_problems.chain(3), optimisation.WorstChain(3, 1.0), [0.3, -1.0, 2.0]),
    ],
)
def test_twin(plain, objective, point):
    w = np.array(point)
    with jax.disable_jit():
        value, gradient = objective(jnp.asarray(w)), objective.gradient(jnp.asarray(w))
    assert float(plain.value(w)) == pytest.approx(float(value), rel=1e-6)
    np.testing.assert_allclose(plain.gradient(w), gradient, rtol=1e-5, atol=1e-7)
    known = objective.constants()
    assert plain.minimum == pytest.approx(known.minimum, abs=1e-9)
    np.testing.assert_allclose(plain.minimiser, known.minimiser, atol=1e-7)
    if known.smoothness is not None:
        assert plain.smoothness == pytest.approx(known.smoothness)
    step = 1e-6 * np.eye(len(w))
    slope = [(plain.value(w + d) - plain.value(w - d)) / 2e-6 for d in step]
    np.testing.assert_allclose(plain.gradient(w), slope, atol=1e-7)
