import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import optimisation, stochastic
from leadline.stochastic.averaging import decay_variance_factor, explicit_weights

WEIGHTS = {
    "mean": stochastic.AverageWeight(),
    "polynomial": stochastic.PolynomialWeight(3.0),
    "exponential": stochastic.DecayWeight(0.8),
    "debiased": stochastic.DecayWeight(0.8, debias=True),
}


def test_explicit_weights_are_the_textbook_ones():
    t = np.arange(1, 8.0)
    expected = {
        "mean": np.full(7, 1 / 7),
        "polynomial": (t + 2) * (t + 1) * t / np.sum((t + 2) * (t + 1) * t),
        "exponential": np.where(t == 1, 1.0, 0.2) * 0.8 ** (7 - t),
        "debiased": 0.8 ** (7 - t) / np.sum(0.8 ** (7 - t)),
    }
    for name, weight in WEIGHTS.items():
        np.testing.assert_allclose(explicit_weights(weight, 7), expected[name], rtol=1e-12)
    np.testing.assert_allclose(explicit_weights(WEIGHTS["mean"], 1), [1.0])
    with pytest.raises(ValueError, match="at least 1"):
        explicit_weights(WEIGHTS["mean"], 0)


@pytest.mark.parametrize("name", WEIGHTS)
def test_the_rule_keeps_the_average_and_steps_as_before(name):
    rule = stochastic.with_average(optax.sgd(0.3, momentum=0.5), WEIGHTS[name], burn_in=2)
    plain = optax.sgd(0.3, momentum=0.5)
    w = v = jnp.array([1.0, -2.0])
    memory, inner, path = rule.init(w), plain.init(v), [w]
    for _ in range(6):
        change, memory = rule.update(w * jnp.array([1.0, 2.0]), memory, w)
        other, inner = plain.update(v * jnp.array([1.0, 2.0]), inner, v)
        w, v = w + change, v + other
        path.append(w)
    np.testing.assert_array_equal(w, v)
    expected = stochastic.average_path(np.array(path), WEIGHTS[name], burn_in=2)
    np.testing.assert_allclose(stochastic.averaged_parameters(memory), expected, rtol=1e-6)


def test_the_averaged_rule_runs_compiled_and_refuses_what_it_cannot_do():
    quadratic = optimisation.Quadratic(jnp.eye(2), jnp.ones(2))
    rule = stochastic.with_average(optimisation.tunable(optax.sgd, learning_rate=0.1))
    run = optimisation.descend(quadratic, rule, jnp.zeros(2), 5)
    assert run.points.shape == (6, 2)
    with pytest.raises(ValueError, match="parameters"):
        rule.update(jnp.ones(2), rule.init(jnp.ones(2)))
    with pytest.raises(ValueError, match="no average"):
        stochastic.averaged_parameters(optax.sgd(0.1).init(jnp.ones(2)))
    with pytest.raises(ValueError, match="leaves none"):
        stochastic.average_path(np.ones((3, 1)), burn_in=3)


def test_the_variance_factor_is_the_double_sum():
    rho, a, lags = 0.7, 0.9, np.arange(400)
    weights = (1 - rho) * rho**lags
    double = weights @ a ** np.abs(lags[:, None] - lags) @ weights
    np.testing.assert_allclose(decay_variance_factor(rho, a), double, rtol=1e-10)
    assert jax.tree.leaves(stochastic.DecayWeight(0.5)) == [0.5]
