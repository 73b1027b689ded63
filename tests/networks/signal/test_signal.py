import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.networks import MLP, measure_signal, predict_signal
from leadline.networks.signal.mean_field import limiting_gradient_factor
from leadline.networks.signal.signal import gradient_slopes, norm_ensemble


@pytest.fixture(scope="module")
def net():
    return MLP((6, 8, 8, 3), "tanh", bias_scale=0.3, key=jax.random.key(0))


def test_moments_and_gradients_are_those_of_the_network(net):
    x = jax.random.normal(jax.random.key(1), (5, 6))
    found = measure_signal(net, x)
    trace = jax.vmap(net.trace)(x)
    np.testing.assert_allclose(found.second_moment, [np.mean(np.asarray(z) ** 2) for z in trace.pre], rtol=1e-12)
    np.testing.assert_allclose(found.variance, [np.var(np.asarray(z)) for z in trace.pre], rtol=1e-12)

    def output(shifts, x):  # the network with a shift of every pre-activation: its gradient is the adjoint of z_l
        for index, (layer, shift) in enumerate(zip(net.layers, shifts, strict=True)):
            x = layer(jnp.tanh(x) if index else x) + shift
        return jnp.sum(x) / 3**0.5

    shifts = [jnp.zeros(8), jnp.zeros(8), jnp.zeros(3)]
    adjoints = jax.vmap(jax.grad(output), in_axes=(None, 0))(shifts, x)
    expected = [np.sqrt(np.mean(np.sum(np.asarray(a) ** 2, axis=1))) for a in adjoints]
    np.testing.assert_allclose(found.gradient_norm, expected, rtol=1e-12)


def test_a_sequence_of_functions_is_measured_after_each(net):
    x = jax.random.normal(jax.random.key(1), (5, 6))
    found = measure_signal([net.layers[0], jnp.tanh, net.layers[1]], x, direction=np.eye(8)[0])
    plain = measure_signal(net, x)
    np.testing.assert_allclose(found.second_moment[[0, 2]], plain.second_moment[:2], rtol=1e-12)
    assert found.gradient_norm[-1] == pytest.approx(1.0)


def test_slopes_of_scaled_rotations_are_exact():
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    layers = [lambda x, g=g: g * (jnp.asarray(rotation) @ x) for g in (0.5,) * 5]
    found = measure_signal(layers, np.ones((1, 6)))
    assert found.forward_slope == pytest.approx(np.log(0.5))
    assert found.backward_slope == pytest.approx(np.log(0.5))
    assert (found.underflow, found.overflow, found.gradient_underflow, found.gradient_overflow) == (0, 0, 0, 0)


@pytest.mark.parametrize(("factor", "field"), [(1e10, "overflow"), (1e-10, "underflow")])
def test_the_first_layer_out_of_float32s_range_is_found_in_both_directions(factor, field):
    layers = [lambda x: np.float32(factor) * x] * 6
    found = measure_signal(layers, np.ones((1, 4), np.float32))
    assert getattr(found, field) == 4  # 1e40 and 1e-40
    assert getattr(found, f"gradient_{field}") == 2  # ½·1e40 at the fifth factor on the way back from layer 6


def test_predictions_follow_the_recursion_and_meet_a_wide_network():
    net = MLP((300, 300, 300, 300), "relu", gain=1.5, bias_scale=0.4, dtype=jnp.float32, key=jax.random.key(2))
    told = predict_signal(net, 1.0)
    s2 = [float(jnp.mean(layer.weight**2)) for layer in net.layers]
    b2 = [float(jnp.mean(layer.bias**2)) for layer in net.layers]
    q1 = 300 * s2[0] + b2[0]
    q2 = 300 * s2[1] * q1 / 2 + b2[1]
    np.testing.assert_allclose(told.second_moment[:2], [q1, q2], rtol=1e-6)
    np.testing.assert_allclose(told.gradient_norm[-2], np.sqrt(300 * s2[2] / 2), rtol=1e-6)
    x = jax.random.normal(jax.random.key(3), (20, 300), jnp.float32)
    found = measure_signal(net, x)
    np.testing.assert_allclose(found.second_moment, told.second_moment, rtol=0.4)
    np.testing.assert_allclose(found.gradient_norm, told.gradient_norm, rtol=0.4)


def test_the_ntk_parametrisation_is_measured_as_it_is_applied():
    net = MLP((6, 8, 8, 3), parametrisation="ntk", gain=2**0.5, key=jax.random.key(0))
    found = measure_signal(net, np.ones((1, 6)))
    applied = np.asarray(net.layers[0].weight) * (2 / 6) ** 0.5 @ np.ones(6)
    assert found.second_moment[0] == pytest.approx(np.mean(applied**2))
    assert predict_signal(net, 1.0).second_moment[0] == pytest.approx(2 * float(jnp.mean(net.layers[0].weight ** 2)))


def test_an_ensemble_keeps_lengths_on_average_and_is_reproducible():
    start = np.ones((400, 30))
    first, again = (norm_ensemble(start, 2, gain=1.0, law=law, key=jax.random.key(0)) for law in ("uniform",) * 2)
    assert np.array_equal(first.post, again.post)
    growth = first.post[:, -1] / first.post[:, 0]
    assert growth.mean() == pytest.approx(1.0, abs=5 * 0.37 / 20)  # deviation √((1 + 2/30)² - 1)
    relu = norm_ensemble(start, 2, "relu", gain=2**0.5, key=jax.random.key(1))
    assert relu.pre.shape == (400, 2)
    assert relu.active.mean() == pytest.approx(0.5, abs=5 * 0.5 / (400 * 60) ** 0.5)


def test_an_ensemble_survives_lengths_outside_float32():
    deep = norm_ensemble(np.ones((3, 8)), 40, gain=1e-3, key=jax.random.key(0))
    assert np.all(deep.post[:, -1] > 0)
    assert np.log10(deep.post[:, -1] / 8).mean() == pytest.approx(-240, abs=15)


def test_slopes_of_random_networks_meet_mean_field_theory():
    slopes = gradient_slopes(
        np.array([0.7, 1.0]), "identity", width=100, depth=15, lengths=np.ones(2), key=jax.random.key(0)
    )
    assert slopes.shape == (4, 2)
    np.testing.assert_allclose(slopes[:, 1] - slopes[:, 0], np.log(1 / 0.7), rtol=1e-5)  # they share the weights
    predicted = 0.5 * np.log(limiting_gradient_factor("identity", 1.0))
    assert slopes[:, 1].mean() == pytest.approx(predicted - 0.005, abs=5 * (1 / 200 / 14 / 4) ** 0.5)


def test_bad_input_is_refused(net):
    with pytest.raises(ValueError, match="no layers"):
        measure_signal([], np.ones((1, 2)))
    with pytest.raises(ValueError, match="at least 2 layers"):
        gradient_slopes(np.ones(1), "tanh", width=4, depth=1, lengths=np.ones(1), key=jax.random.key(0))
    with pytest.raises(ValueError, match="cauchy"):
        norm_ensemble(np.ones((2, 3)), 1, law="cauchy", key=jax.random.key(0))


def test_measuring_leaves_the_network_alone(net):
    before = [np.asarray(w) for w in jax.tree.leaves(eqx.filter(net, eqx.is_array))]
    measure_signal(net, np.ones((1, 6)))
    after = [np.asarray(w) for w in jax.tree.leaves(eqx.filter(net, eqx.is_array))]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
