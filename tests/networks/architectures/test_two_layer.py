"""The two-layer network: outputs, tangent kernel, idle and paired units, descent of several widths at once."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import as_apply, networks, tangent, training

X = np.random.default_rng(0).standard_normal((5, 3))
Y = np.array([1.0, -1.0, 0.5, -0.5, 2.0])


def square(z):
    return z**2


@pytest.mark.parametrize("activation", ["tanh", "relu", square])
def test_the_closed_form_kernel_is_that_of_the_jacobian(activation):
    net = tangent.lecun_two_layer(3, 7, activation, gain=1.7, parametrisation="ntk", key=jax.random.key(1))
    J = np.asarray(networks.parameter_jacobian(*as_apply(net), X))
    np.testing.assert_allclose(net.tangent_kernel(X), J @ J.T, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(net.tangent_kernel(X[:2], X), (J @ J.T)[:2], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(tangent.family_kernels([net], X[:2], X)[0], (J @ J.T)[:2], rtol=1e-10, atol=1e-12)


def test_outputs_of_a_batch_are_those_of_its_rows():
    net = tangent.lecun_two_layer(3, 7, "tanh", key=jax.random.key(1))
    W, v = np.asarray(net.weight), np.asarray(net.head)
    np.testing.assert_allclose(net(X), np.tanh(X @ W.T) @ v, rtol=1e-12)
    assert float(net(X[0])) == pytest.approx(float(net(X)[0]), rel=1e-12)


def test_the_parametrisations_have_their_scales():
    nets = {
        form: tangent.lecun_two_layer(3, 16, parametrisation=form, key=jax.random.key(2))
        for form in ("standard", "ntk", "mean-field")
    }
    assert [net.scale for net in nets.values()] == [1.0, 0.25, 1 / 16]
    np.testing.assert_allclose(nets["standard"](X), nets["ntk"](X), rtol=1e-12)
    np.testing.assert_allclose(nets["mean-field"](X), nets["ntk"](X) / 4, rtol=1e-12)


def test_idle_units_change_nothing_and_are_refused_where_they_would_speak():
    net = tangent.lecun_two_layer(3, 5, "relu", key=jax.random.key(3))
    wide = net.padded(9)
    np.testing.assert_allclose(wide(X), net(X), rtol=1e-12)
    np.testing.assert_allclose(wide.tangent_kernel(X), net.tangent_kernel(X), rtol=1e-12)
    with pytest.raises(ValueError, match="larger width"):
        net.padded(3)
    with pytest.raises(ValueError, match="φ\\(0\\) = 0"):
        tangent.lecun_two_layer(3, 5, "sigmoid", key=jax.random.key(3)).padded(9)


def test_paired_units_cancel_and_keep_the_kernel():
    net = tangent.lecun_two_layer(3, 5, "relu", key=jax.random.key(3))
    pair = net.paired()
    np.testing.assert_allclose(pair(X), 0.0, atol=1e-12)
    np.testing.assert_allclose(pair.tangent_kernel(X), net.tangent_kernel(X), rtol=1e-12)


def _risk(net, x, y):
    return jnp.mean((net(x) - y) ** 2)


def test_the_family_descends_as_each_network_by_itself():
    nets = [
        tangent.lecun_two_layer(3, m, "sigmoid", parametrisation=form, key=jax.random.key(m))
        for m, form in ((4, "standard"), (9, "ntk"))
    ]
    runs = tangent.train_family(nets, X, Y, [0.05, 0.4], max_steps=20)
    for net, run, rate in zip(nets, runs, (0.05, 0.4), strict=True):
        end, losses = training.minimise(_risk, net, optax.sgd(rate), 20, jnp.asarray(X), jnp.asarray(Y))
        np.testing.assert_allclose(run.losses[:-1], losses, rtol=1e-9)
        np.testing.assert_allclose(run.network.weight, end.weight, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(run.network.head, end.head, rtol=1e-9, atol=1e-12)
        gap = np.sqrt(np.sum((end.weight - net.weight) ** 2) + np.sum((end.head - net.head) ** 2))
        assert run.network.distance(net) == pytest.approx(float(gap))
    assert [run.reached for run in runs] == [False, False]


def test_a_run_stops_at_its_target():
    net = tangent.lecun_two_layer(3, 40, "tanh", key=jax.random.key(4))
    [run] = tangent.train_family([net], X[:2], Y[:2], [0.01], until=0.5, max_steps=200)
    assert run.reached
    assert run.losses[-1] <= 0.5 * run.losses[0] < run.losses[-2]
    assert len(run.losses) == run.steps + 1


def test_bad_input_is_told():
    net = tangent.lecun_two_layer(3, 4, "relu", key=jax.random.key(0))
    with pytest.raises(ValueError, match="at least 1"):
        tangent.lecun_two_layer(0, 4, key=jax.random.key(0))
    with pytest.raises(ValueError, match="choose 'standard', 'ntk' or 'mean-field'"):
        tangent.lecun_two_layer(3, 4, parametrisation="muP", key=jax.random.key(0))
    with pytest.raises(ValueError, match="one for each"):
        tangent.train_family([net], X, Y, [0.1, 0.2])
    with pytest.raises(ValueError, match="different activations"):
        tangent.family_kernels([net, tangent.lecun_two_layer(3, 4, "tanh", key=jax.random.key(0))], X)


@pytest.mark.parametrize("activation", ["relu", "tanh", "gelu"])
def test_numpy_inputs_have_numpy_outputs_with_the_numbers_of_jax(activation):
    rng = np.random.default_rng(1)
    net = networks.TwoLayer(rng.normal(size=(7, 3)), rng.normal(size=(2, 7)), activation, 0.5)
    plain, traced = net(X), net(jnp.asarray(X))
    assert isinstance(plain, np.ndarray)
    assert isinstance(traced, jax.Array)
    np.testing.assert_allclose(plain, traced, rtol=1e-6)
    np.testing.assert_allclose(plain, jax.vmap(net)(jnp.asarray(X)), rtol=1e-6)


def test_weights_of_two_widths_are_refused():
    with pytest.raises(ValueError, match="shapes \\(4, 3\\) and \\(2, 5\\)"):
        networks.TwoLayer(np.ones((4, 3)), np.ones((2, 5)))
