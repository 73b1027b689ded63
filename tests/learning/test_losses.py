"""Losses against finite differences, Optax, and their declared properties."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import learning
from leadline.learning import losses

AWAY = np.array([-7.3, -2.2, -0.63, -0.04, 0.03, 0.57, 1.4, 6.1])  # from every kink


def at(name, u):
    """The loss as a function of the residual (its negative is the prediction at target 0) or of the margin."""
    card = losses.LOSSES[name]
    return card.value(-jnp.asarray(u), 0.0) if card.of == "residual" else card.value(jnp.asarray(u))


@pytest.mark.parametrize("name", losses.LOSSES)
def test_the_slope_is_that_of_finite_differences(name):
    card = losses.LOSSES[name]
    others = (jnp.zeros(len(AWAY)),) if card.of == "residual" else ()
    h = 1e-6
    numeric = (np.asarray(card.value(AWAY + h, *others)) - np.asarray(card.value(AWAY - h, *others))) / (2 * h)
    np.testing.assert_allclose(losses.loss_slope(card.value, AWAY, *others), numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", losses.LOSSES)
def test_it_is_convex_just_as_declared(name):
    value = np.asarray(at(name, np.linspace(-5, 5, 2001)))
    assert (np.diff(value, 2).min() >= -1e-9) == losses.LOSSES[name].convex


@pytest.mark.parametrize("name", [n for n, card in losses.LOSSES.items() if card.of == "margin"])
def test_it_dominates_the_error_and_is_calibrated_just_as_declared(name):
    card, z = losses.LOSSES[name], np.linspace(-50, 50, 2001)
    error, value = np.asarray(losses.zero_one(z)), np.asarray(at(name, z))
    if card.dominates is None:
        assert (value[error == 1] <= 0).any()
    else:
        assert (card.dominates * value - error).min() == pytest.approx(0, abs=1e-12)
    slope = float(losses.loss_slope(card.value, 0.0))
    assert card.calibrated == (card.convex and slope < 0)


def test_huber_and_logistic_agree_with_optax():
    r = jnp.asarray(np.linspace(-5, 5, 101))
    np.testing.assert_allclose(losses.huber(r, 0.0, delta=1.7), optax.losses.huber_loss(r, delta=1.7), rtol=1e-12)
    np.testing.assert_allclose(
        losses.logistic(r), optax.losses.sigmoid_binary_cross_entropy(r, jnp.ones(101)), rtol=1e-12, atol=1e-15
    )


def test_pinball_is_half_the_absolute_loss_in_the_middle_and_huber_bends_smoothly():
    y = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(losses.pinball(0.4, y, tau=0.5), losses.absolute(0.4, y) / 2, rtol=1e-12)
    just = np.array([1.0 - 1e-9, 1.0 + 1e-9])
    np.testing.assert_allclose(losses.huber(0.0, just), 0.5, atol=2e-9)
    np.testing.assert_allclose(losses.loss_slope(losses.huber, 0.0, just), -1.0, atol=2e-9)


def test_the_subgradients_at_kinks_are_those_in_the_docstrings():
    assert float(losses.loss_slope(losses.absolute, 1.0, 1.0)) == 0
    assert float(losses.loss_slope(losses.hinge, 1.0)) == 0
    assert float(losses.loss_slope(losses.perceptron_hinge, 0.0)) == 0
    assert float(losses.loss_slope(losses.pinball, 0.0, 0.0)) == -0.5
    assert float(losses.loss_slope(losses.epsilon_insensitive, 0.1, 0.0)) == 0


def test_all_but_the_exponential_are_finite_far_out():
    for name, card in losses.LOSSES.items():
        values = at(name, np.array([-1e4, 1e4]))
        assert bool(jnp.isfinite(values).all()) == (card.value is not losses.exponential), name


def test_the_type_of_the_input_is_kept_and_whole_numbers_become_floating():
    z = jnp.array([-1.0, 2.0], jnp.float32)
    assert {at(name, z).dtype for name in losses.LOSSES} == {jnp.dtype("float32")}
    assert losses.squared(1, np.array([3, 4])).tolist() == [4.0, 9.0]
    assert jax.jit(losses.huber)(z, z).dtype == jnp.float32


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: losses.huber(0.0, 1.0, delta=0.0), "delta"),
        (lambda: losses.pinball(0.0, 1.0, tau=1.0), "tau"),
        (lambda: losses.epsilon_insensitive(0.0, 1.0, epsilon=-1.0), "epsilon"),
    ],
)
def test_a_shape_out_of_range_is_refused(call, word):
    with pytest.raises(ValueError, match=word):
        call()


def test_the_room_exports_every_loss():
    assert all(getattr(learning, name) is card.value for name, card in losses.LOSSES.items())
