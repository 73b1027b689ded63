import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.networks.dissection import dissect
from leadline.robustness import (
    adversarial_training,
    exact_radius,
    interval_training,
    lipschitz_bracket,
    robust_loss_bracket,
)
from leadline.robustness.activation_regions import nearest_point
from leadline.robustness.loss_brackets import linear_robust_losses
from leadline.robustness.robust_training import worst_case_losses

KEY = jax.random.key(0)


def two_scores(params, x):
    f = x @ params[0] + params[1]
    return jnp.stack([jnp.zeros_like(f), f], axis=1)


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=40)
    return rng.normal(size=(40, 3)) + 1.5 * (2 * y[:, None] - 1), y


START = (jnp.array([0.3, -0.2, 0.1]), jnp.zeros(()))


@pytest.mark.slow
def test_training_on_attacks_and_on_boxes_are_the_closed_form_for_a_linear_model(sample):
    x, y = sample
    rule = optax.sgd(0.1)

    def loss(params):
        return linear_robust_losses(params[0], params[1], x, 2.0 * y - 1, 0.3, math.inf).mean()

    params = START
    for _ in range(5):
        params = jax.tree.map(lambda w, g: w - 0.1 * g, params, jax.grad(loss)(params))
    options = dict(eps=0.3, epochs=5, batch=40, rule=rule, key=KEY)
    attacked = adversarial_training(two_scores, START, x, y, inner=3, **options)
    boxed = interval_training(two_scores, START, x, y, ramp=0.0, clean=0.0, **options)
    for found in (attacked, boxed):
        np.testing.assert_allclose(found.params[0], params[0], rtol=1e-6)
        np.testing.assert_allclose(found.losses[0], loss(START), rtol=1e-6)


def test_the_budget_rises_from_zero(sample):
    x, y = sample
    found = interval_training(
        two_scores, START, x, y, eps=0.5, epochs=4, batch=40, ramp=1.0, clean=0.0, rule=optax.sgd(0.0), key=KEY
    )
    expected = [worst_case_losses(two_scores, START, x, y, jnp.asarray(0.5 * (t + 1) / 4)).mean() for t in range(4)]
    np.testing.assert_allclose(found.losses, expected, rtol=1e-9)


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_the_closed_form_is_the_largest_loss_over_the_ball(p):
    rng = np.random.default_rng(1)
    w, x = rng.normal(size=4), rng.normal(size=(5, 4))
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    found = np.asarray(linear_robust_losses(w, 0.2, x, y, 0.7, p))
    eta = rng.normal(size=(5000, 4))
    eta *= 0.7 / np.linalg.norm(eta, p, axis=1, keepdims=True)
    seen = np.logaddexp(0, -y[:, None] * ((x[:, None] + eta) @ w + 0.2)).max(1)
    assert np.all(seen <= found + 1e-12)
    assert np.all(seen >= found - 0.2)


@pytest.mark.parametrize("p", [2.0, math.inf])
def test_both_ends_of_the_robust_loss_agree_for_two_linear_classes(sample, p):
    x, y = sample
    chain = dissect(linear_pair, LINEAR, jnp.asarray(x[:4])).chain
    constants = lipschitz_bracket(chain, linear_pair, LINEAR, x, key=KEY, rounds=0)
    found = robust_loss_bracket(linear_pair, LINEAR, x, y, 0.2, p=p, lipschitz=constants)
    np.testing.assert_allclose(found.lower, found.upper, rtol=2e-5)
    assert np.array_equal(found.attacked, ~found.certified)


LINEAR = jnp.array([[0.4, -0.1], [0.2, 0.3], [-0.5, 0.6]])


def linear_pair(w, x):
    return x @ w


def test_the_exact_radius_agrees_with_a_fine_search():
    rng = np.random.default_rng(2)
    weights = [rng.normal(size=(8, 2)), rng.normal(size=(6, 8)), rng.normal(size=(3, 6))]
    biases = [rng.normal(size=8), rng.normal(size=6), rng.normal(size=3)]

    def classes(z):
        for w, b in zip(weights[:-1], biases[:-1], strict=True):
            z = np.maximum(z @ w.T + b, 0)
        return (z @ weights[-1].T + biases[-1]).argmax(-1)

    x = np.array([0.3, -0.4])
    found = exact_radius(weights, biases, x)
    angles, steps = np.linspace(0, 2 * np.pi, 360), np.linspace(0, 3, 1001)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    others = classes(x + steps[:, None, None] * circle) != classes(x)
    first = steps[np.flatnonzero(others.any(1))[0]]
    assert found.radius - 1e-9 <= first <= found.radius * 1.01 + 4e-3
    assert classes(x + 1.001 * (found.nearest - x)) != classes(x)
    assert exact_radius(weights, biases, x, int(classes(x) + 1) % 3).radius == 0.0
    with pytest.raises(ValueError, match="must fit"):
        exact_radius(weights, biases, np.zeros(3))


def test_without_another_class_the_radius_is_infinite():
    assert exact_radius([np.zeros((2, 2))], [np.array([1.0, 0.0])], np.zeros(2)).radius == math.inf


def test_the_nearest_point_of_an_empty_polyhedron_is_none():
    rows = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert nearest_point(np.zeros(2), rows, np.array([1.0, 1.0])) is None
    np.testing.assert_allclose(nearest_point(np.zeros(2), rows, np.array([1.0, -2.0])), [1.0, 0.0])


@pytest.mark.parametrize(
    ("changes", "words"), [(dict(eps=-0.1), "eps >= 0"), (dict(epochs=0), "epochs >= 1"), (dict(ramp=2.0), "ramp")]
)
def test_bad_settings_are_told(sample, changes, words):
    with pytest.raises(ValueError, match=words):
        adversarial_training(two_scores, START, *sample, **(dict(eps=0.1, key=KEY) | changes))
