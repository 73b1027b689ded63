"""The factored gradient of a linear model against autodiff."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import stochastic
from leadline.stochastic.problems.linear_loss import cross_entropy_of_scores, half_square_of_score, logistic_of_score


def test_the_lifted_factor_and_the_penalty_are_the_gradient():
    rng = np.random.default_rng(0)
    w, x, label = jnp.asarray(rng.standard_normal(12)), jnp.asarray(rng.standard_normal(4)), jnp.asarray(2)
    loss = stochastic.LinearLoss(cross_entropy_of_scores, jnp.asarray(0.3), 3)
    made = loss.lift(x, loss.factor(w, x, label)) + 0.3 * w
    np.testing.assert_allclose(made, jax.grad(loss)(w, x, label), atol=1e-12)


def test_the_heads_are_the_usual_losses():
    score = jnp.array([0.7])
    assert abs(float(logistic_of_score(score, jnp.asarray(-1.0))) - np.log1p(np.exp(0.7))) < 1e-12
    assert abs(float(half_square_of_score(score, jnp.asarray(0.2))) - 0.125) < 1e-12
