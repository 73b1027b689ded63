"""Penalties: proximal maps against direct minimisation, parameter groups, rules against each other."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.optimize import minimize

from leadline.regularisation import (
    AbsoluteNorm,
    GroupNorm,
    NormBall,
    Penalised,
    SquaredNorm,
    constrained,
    convert_strength,
    decoupled_decay,
    everything,
    matrices,
    proximal,
)
from leadline.training import minimise

PARAMS = {"kernel": jnp.array([[0.7, -1.2], [0.3, 0.4], [2.0, 0.1]]), "bias": jnp.array([5.0, -1.0])}


@pytest.mark.parametrize("penalty", [SquaredNorm(), AbsoluteNorm(), GroupNorm()], ids=lambda p: type(p).__name__)
def test_the_proximal_map_minimises_what_it_should_and_leaves_biases_alone(penalty):
    moved = penalty.prox(PARAMS, 0.4)
    assert moved["bias"].tolist() == PARAMS["bias"].tolist()
    start = np.asarray(PARAMS["kernel"], float)

    def value(z):
        z = z.reshape(start.shape)
        return 0.5 * np.sum((z - start) ** 2) + 0.4 * float(penalty({"kernel": jnp.asarray(z)}))

    best = minimize(value, np.asarray(moved["kernel"], float).ravel() + 0.05, method="Powell", options={"xtol": 1e-6})
    assert value(np.asarray(moved["kernel"], float).ravel()) <= best.fun + 1e-6
    np.testing.assert_allclose(moved["kernel"].ravel(), best.x, atol=2e-3)


def test_a_penalised_loss_counts_the_group_only():
    slope = jax.grad(Penalised(lambda p, y: jnp.mean(y) * 0.0, SquaredNorm(), 2.0))(PARAMS, jnp.ones(3))
    np.testing.assert_allclose(slope["kernel"], 2 * PARAMS["kernel"])
    assert slope["bias"].tolist() == [0.0, 0.0]
    assert matrices(PARAMS) == {"kernel": True, "bias": False}
    assert everything(PARAMS) == {"kernel": True, "bias": True}


def test_sum_and_mean_conventions_have_one_minimiser():
    y = jnp.array([1.0, 2.0, 6.0])
    ends = []
    for convention, strength in (("mean", 0.2), ("sum", convert_strength(0.2, 3, to="sum"))):
        whole = Penalised(lambda w, y: jnp.mean((w - y) ** 2), SquaredNorm(everything), strength, convention)
        ends.append(float(minimise(whole, jnp.array(0.0), optax.sgd(0.1), 200, y)[0]))
    np.testing.assert_allclose(ends, 2 * 3.0 / 2.2, rtol=1e-5)


def test_projection_is_over_the_whole_group_and_exact_inside():
    ball = NormBall(radius=1.0)
    moved = ball.prox(PARAMS, 1.0)
    np.testing.assert_allclose(jnp.linalg.norm(moved["kernel"]), 1.0, rtol=1e-6)
    assert moved["bias"].tolist() == PARAMS["bias"].tolist()
    plain, bound = optax.sgd(0.1), constrained(optax.sgd(0.1), 100.0)
    gradient = jax.tree.map(lambda a: 1.2345 * a, PARAMS)
    free, _ = plain.update(gradient, plain.init(PARAMS), PARAMS)
    kept, _ = bound.update(gradient, bound.init(PARAMS), PARAMS)
    assert jax.tree.all(jax.tree.map(lambda a, b: bool(jnp.all(a == b)), free, kept))


def test_decoupled_decay_beside_adam_is_adamw():
    ours, theirs = decoupled_decay(optax.adam(0.01), 0.01, 0.3), optax.adamw(0.01, weight_decay=0.3, mask=matrices)
    gradient = jax.tree.map(jnp.sin, PARAMS)
    a, _ = ours.update(gradient, ours.init(PARAMS), PARAMS)
    b, _ = theirs.update(gradient, theirs.init(PARAMS), PARAMS)
    for name in PARAMS:
        np.testing.assert_allclose(a[name], b[name], rtol=1e-5)


def test_bad_numbers_are_named():
    with pytest.raises(ValueError, match="radius = 0"):
        constrained(optax.sgd(0.1), 0.0)
    with pytest.raises(ValueError, match="ημ"):
        decoupled_decay(optax.sgd(1.0), 1.0, 2.5)
    rule = proximal(optax.sgd(0.1), AbsoluteNorm(), 0.1)
    with pytest.raises(ValueError, match="needs the parameters"):
        rule.update(PARAMS, rule.init(PARAMS))


def test_a_sum_over_rows_needs_rows():
    with pytest.raises(ValueError, match="got no data whose rows it could count"):
        Penalised(lambda w: w**2, everything, 0.1, "sum")(jnp.array(1.0))
