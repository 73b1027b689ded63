"""The gradient sandwich, its worst constants in a ball, and the certificate of geometric convergence."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import networks, tangent
from leadline.tangent.dynamics.certificates import CertifiedRun
from leadline.tangent.dynamics.gradient_bounds import sandwich_constants, worst_in_ball

X, Y = np.eye(3, 4), np.array([1.0, -1.0, 0.5])


class Scaled(eqx.Module):
    """f(x) = (w ∘ s)·x: a linear network with the constant tangent kernel diag(s²) on the basis."""

    w: jax.Array
    s: tuple = eqx.field(static=True)

    def __call__(self, x):
        return jnp.sum(self.w * jnp.array(self.s) * x)


LINEAR = Scaled(jnp.zeros(2), (1.0, 2.0))
BASIS, TARGETS = np.eye(2), np.array([1.0, 1.0])


def test_the_ratio_lies_between_the_constants():
    net = tangent.lecun_two_layer(4, 20, "tanh", key=jax.random.key(0))
    found = sandwich_constants(net, X)
    K = np.asarray(net.tangent_kernel(X))
    r = np.asarray(net(X)) - Y
    ratio = float(tangent.gradient_ratio(net, X, Y))
    assert ratio == pytest.approx(4 * r @ K @ r / 9 / np.mean(r**2))
    assert found.lower <= ratio * 3 / 20 <= found.upper
    np.testing.assert_allclose([found.lower, found.upper], 4 * np.linalg.eigvalsh(K)[[0, -1]] / 20, rtol=1e-9)


def test_any_network_of_one_output_has_constants():
    assert sandwich_constants(LINEAR, BASIS) == (4.0, 16.0, 1)
    with pytest.raises(ValueError, match="one output"):
        sandwich_constants(networks.MLP((4, 3, 2), key=jax.random.key(0)), X)


def test_in_a_ball_around_a_linear_network_nothing_gets_worse():
    found = worst_in_ball(LINEAR, BASIS, key=jax.random.key(0), num_steps=3, directions=2)
    assert found.start == found.searched == found.random == (4.0, 16.0, 1)
    with pytest.raises(ValueError, match="all are positive"):
        worst_in_ball(LINEAR, BASIS, radius=0.0, key=jax.random.key(0))


def test_the_search_finds_the_worst_of_a_case_known_exactly():
    # One unit, φ(z) = z, one input of length 1: K = (w·x)² + v² = |θ|² has extremes (|θ₀| ± ρ)² in the ball.
    net = networks.TwoLayer(jnp.array([[3.0]]), jnp.array([4.0]), "identity")
    found = worst_in_ball(net, np.ones((1, 1)), radius=1.0, key=jax.random.key(0), num_steps=40, directions=3)
    assert found.searched.lower == pytest.approx(4 * 16.0, rel=1e-6)
    assert found.searched.upper == pytest.approx(4 * 36.0, rel=1e-6)


def test_the_certificate_of_a_linear_network_by_hand():
    card = tangent.certify(LINEAR, BASIS, TARGETS, accuracy=0.5, margin=1.0, share=1.0)
    # c = 4, C = 16, R₀ = 1, α = 2 c/C = 1/2: η = α n/c = 1/4 = 1/L, rate 3/4, K_max = ⌊8/√32⌋ = 1, K' = ⌈2.41⌉ = 3.
    assert (card.alpha, card.step, card.rate, card.most_steps, card.needed_steps) == (0.5, 0.25, 0.75, 1, 3)
    assert card.verdict == "silent"
    assert card.path_bound == pytest.approx(math.sqrt(32))
    assert card.needed_width == pytest.approx(32 * (0.5 * 3 / 4) ** 2)
    run = tangent.certified_descent(LINEAR, BASIS, TARGETS, card, num_steps=4)
    # Mean risk: r_i falls by 1 - 2 η s_i²/n = 3/4 and 0 at each step.
    np.testing.assert_allclose(run.losses, [1.0, *(0.5 * 0.75 ** (2 * np.arange(1, 5)))], rtol=1e-12)
    np.testing.assert_allclose(run.distances[1], math.hypot(0.25, 0.5), rtol=1e-12)
    assert run.steps_to(0.3) == 1
    assert run.steps_to(1e-9) is None
    assert card.judge(run) == "silent"


def test_a_run_that_contradicts_the_theorem_is_called_a_violation():
    net = tangent.lecun_two_layer(4, 300, "tanh", key=jax.random.key(0))
    card = tangent.certify(net, X, Y, accuracy=0.5)
    assert card.verdict == "applicable"
    falling = card.bound(card.most_steps)
    still = np.zeros(card.most_steps + 1)
    assert card.judge(CertifiedRun(falling, still, still)) == "applicable"
    assert card.judge(CertifiedRun(falling + 0.01, still, still)) == "violated"
    assert card.judge(CertifiedRun(falling, still + 2.0, still)) == "violated"
    assert card.judge(CertifiedRun(falling * np.nan, still, still)) == "violated"


def test_a_singular_kernel_leaves_the_theorem_silent():
    twice = np.concatenate([X, X[:1]])
    net = tangent.lecun_two_layer(4, 50, "tanh", key=jax.random.key(0))
    card = tangent.certify(net, twice, np.array([1.0, -1.0, 0.5, -1.0]))
    assert (card.verdict, card.lower, card.step, card.most_steps, card.needed_steps) == ("silent", 0.0, 0.0, 0, None)
    assert card.path_bound == card.needed_width == math.inf


def test_bad_input_is_told():
    with pytest.raises(ValueError, match="one number for each input"):
        tangent.certify(LINEAR, BASIS, np.ones(3))
    with pytest.raises(ValueError, match="\\(0, 1\\)"):
        tangent.certify(LINEAR, BASIS, TARGETS, accuracy=2.0)
