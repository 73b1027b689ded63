import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.curvature import top
from leadline.optimisation import (
    LogisticRidge,
    Quadratic,
    condition_of_features,
    curvature_ratios,
    flat_objective,
    hessian_spectrum,
    measure_condition,
    measure_lipschitz,
    measure_pl,
    measure_smoothness,
    measure_strong_convexity,
    pl_ratios,
)
from leadline.optimisation.instruments.curvature_pairs import pair_curvatures
from leadline.optimisation.instruments.hessian_spectra import hessian_at
from leadline.optimisation.objectives.any_loss import evaluate_points

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(20, 3)), np.where(RNG.random(20) < 0.5, 1.0, -1.0)
LOGISTIC = LogisticRidge(X, Y, 0.1)


def any_logistic(params, x, y):
    """The same loss, of parameters in two arrays, without any certificate."""
    w = jnp.concatenate([params["a"], params["b"]])
    return jnp.mean(jax.nn.softplus(-y * (x @ w))) + 0.05 * (w @ w)


def split(w):
    return {"a": jnp.asarray(w[:1]), "b": jnp.asarray(w[1:]), "name": "logistic"}


def logistic_hessian(w):
    s = 1 / (1 + np.exp(-X @ w))
    return (X.T * (s * (1 - s))) @ X / 20 + 0.1 * np.eye(3)


def net_loss(net, x, y):
    return jnp.mean((jnp.tanh(x @ net["in"]) @ net["out"] - y) ** 2) / 2


def test_any_pytree_is_measured_as_its_dense_hessian_says():
    w = np.array([0.3, -1.0, 2.0])
    values = np.linalg.eigvalsh(logistic_hessian(w))
    found = measure_smoothness(any_logistic, split(w), X, Y)
    assert found.value == pytest.approx(values[-1], rel=1e-9)
    assert not found.certified
    assert found.holds(values[-1])
    assert measure_strong_convexity(any_logistic, split(w), X, Y).value == pytest.approx(values[0], rel=1e-9)
    assert measure_condition(any_logistic, split(w), X, Y).value == pytest.approx(values[-1] / values[0], rel=1e-9)


def test_certificates_hold_what_is_seen():
    w = jnp.asarray([0.3, -1.0, 2.0])
    values = np.linalg.eigvalsh(logistic_hessian(np.asarray(w)))
    smooth, convex = measure_smoothness(LOGISTIC, w), measure_strong_convexity(LOGISTIC, w)
    assert smooth.certified
    assert smooth.low == pytest.approx(values[-1])
    assert smooth.value == smooth.high
    assert smooth.value == pytest.approx(np.linalg.norm(X, 2) ** 2 / 80 + 0.1)
    assert convex.certified
    assert convex.value == pytest.approx(0.1)
    assert convex.high == pytest.approx(values[0])
    kappa = measure_condition(LOGISTIC, w)
    assert kappa.certified
    assert kappa.value == pytest.approx(smooth.value / 0.1)
    assert measure_pl(LOGISTIC, w).value == pytest.approx(0.1)


def test_probes_in_a_ball_can_only_widen_the_extremes():
    w = np.array([0.3, -1.0, 2.0])
    here, around = (measure_smoothness(any_logistic, split(w), X, Y, radius=2.0, probes=n, key=KEY) for n in (0, 10))
    assert around.value > here.value > 0
    assert around.value <= measure_smoothness(LOGISTIC, jnp.asarray(w)).value


def test_lanczos_agrees_with_the_dense_solver_on_a_network():
    x, y = jnp.asarray(X), jnp.asarray(Y)
    net = {"in": jnp.asarray(RNG.normal(size=(3, 40))), "out": jnp.asarray(RNG.normal(size=40))}
    objective, w = flat_objective(net_loss, net, x, y)
    assert w.size == 160
    assert eqx.tree_equal(objective.parameters(w), net)
    dense = hessian_spectrum(net_loss, net, x, y).values
    ends = top(hessian_at(objective, w), 1, which="both", max_steps=159)
    assert ends.values == pytest.approx([dense[0], dense[-1]], abs=1e-6 * dense[-1])
    assert np.all(np.abs(ends.values - dense[[0, -1]]) <= ends.residuals + 1e-12)
    kappa = measure_condition(net_loss, net, x, y, tolerance=1e-3)
    assert kappa.value == pytest.approx(dense[-1] / dense[dense > 1e-3 * dense[-1]].min(), rel=1e-6)


def test_spectrum_counts_negative_and_flat_directions():
    found = hessian_spectrum(lambda w: w[0] ** 2 - 2 * w[1] ** 2, jnp.ones(4))
    assert found.values == pytest.approx([-4, 0, 0, 2])
    assert (found.negative(), found.near_zero(), found.effective_condition()) == (1, 2, pytest.approx(1.0))
    with pytest.raises(ValueError, match="no positive eigenvalue"):
        hessian_spectrum(lambda w: -w @ w, jnp.ones(2)).effective_condition()


def test_pl_has_an_error_bar_from_that_of_the_minimum():
    w = jnp.array([3.0])
    found = measure_pl(lambda w: w @ w / 2, w, minimum=(0.0, 2.25))
    assert (found.low, found.high) == (pytest.approx(1.0), pytest.approx(2.0))
    assert found.value == found.low  # the safe end
    assert np.isnan(pl_ratios(np.array([1.0]), np.array([0.0]), 1.0)[0])
    with pytest.raises(ValueError, match="above a value"):
        pl_ratios(np.array([1.0]), np.array([1.0]), 2.0)
    with pytest.raises(ValueError, match="needs the least loss"):
        measure_pl(lambda w: w @ w, w)
    with pytest.raises(ValueError, match="away from the minimum"):
        measure_pl(lambda w: w @ w, jnp.zeros(1), minimum=0.0)


def test_lipschitz_constant_of_a_quadratic_and_of_a_distance():
    quadratic = Quadratic(jnp.diag(jnp.array([1.0, 5.0])), jnp.array([0.0, 1.0]))
    found = measure_lipschitz(quadratic, jnp.zeros(2), radius=2.0, key=KEY)
    assert found.by_gradients.value == pytest.approx(11.0, rel=1e-3)  # ‖Aw − b‖ is largest at w = (0, −2)
    assert found.by_pairs.value == pytest.approx(11.0, rel=1e-2)
    with pytest.raises(ValueError, match="positive"):
        measure_lipschitz(quadratic, jnp.zeros(2), radius=0.0, key=KEY)


def test_curvature_of_pairs_is_that_of_the_segment():
    quadratic = Quadratic(jnp.diag(jnp.array([1.0, 5.0])), jnp.zeros(2))
    found = pair_curvatures(quadratic, np.zeros((2, 2)), np.array([[2.0, 0.0], [0.0, 3.0]]))
    assert found.monotone == pytest.approx([1, 5])
    assert found.bregman == pytest.approx([1, 5])
    assert found.secant == pytest.approx([1, 5])
    refined = curvature_ratios(quadratic, jnp.ones(2), radius=0.5, pairs=5, key=KEY)
    assert (refined.monotone.min(), refined.secant.max()) == (pytest.approx(1.0), pytest.approx(5.0))
    with pytest.raises(ValueError, match="equal points"):
        pair_curvatures(quadratic, np.zeros((1, 2)), np.zeros((1, 2)))
    with pytest.raises(ValueError, match="positive"):
        curvature_ratios(quadratic, jnp.ones(2), radius=-1.0, key=KEY)


def test_losses_that_cannot_be_measured_are_refused():
    with pytest.raises(ValueError, match="finite number"):
        measure_smoothness(lambda w: jnp.log(w[0]), jnp.array([-1.0]))
    with pytest.raises(ValueError, match="single number"):
        measure_smoothness(lambda w: w, jnp.ones(2))
    with pytest.raises(ValueError, match="no floating-point array"):
        measure_smoothness(lambda p: 1.0, {"name": "empty"})
    with pytest.raises(ValueError, match="need a radius"):
        measure_smoothness(LOGISTIC, jnp.zeros(3), probes=3)
    with pytest.raises(ValueError, match="smaller radius"):
        evaluate_points(lambda w: jnp.log(w[0]), np.array([[1.0], [-1.0]]))
    with pytest.raises(ValueError, match="not finite; give parameters"):
        measure_smoothness(lambda w: jnp.sum(jnp.abs(w) ** 1.5), jnp.zeros(1))


def test_integer_leaves_and_single_precision_are_left_as_they_are():
    objective, w = flat_objective(
        lambda p: jnp.sum(p["w"] ** 2) * p["n"], {"w": jnp.ones(2, jnp.float32), "n": jnp.array(3)}
    )
    assert w.dtype == jnp.float32
    assert w.size == 2
    assert measure_smoothness(lambda p: jnp.sum(p["w"] ** 2), {"w": jnp.ones(200, jnp.float32)}).value == pytest.approx(
        2
    )
    assert eqx.tree_equal(objective.parameters(w)["n"], jnp.array(3))


def test_standardising_gives_the_correlation_matrix():
    x = RNG.normal(size=(50, 4)) * [1, 10, 100, 1000] + 3
    found = condition_of_features(x)
    values = np.linalg.eigvalsh(np.corrcoef(x.T))
    assert found.after == pytest.approx(values[-1] / values[0])
    assert found.before == pytest.approx(np.linalg.cond(x) ** 2)
    assert found.advice.startswith("standardise")
    assert condition_of_features(np.array([[1.0], [-1.0], [1.0]])).advice.startswith("leave")
    with pytest.raises(ValueError, match="1 of them constant"):
        condition_of_features(np.ones((5, 1)))
