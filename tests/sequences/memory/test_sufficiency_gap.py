import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.sequences import kalman_filter, linear_gaussian, linear_state_gap, simulate, sufficiency_gap

MODEL = linear_gaussian(0.9, 1.0, 0.2, 1.0)


def filter_weights(length):
    return np.asarray(jax.grad(lambda xs: kalman_filter(MODEL, xs).means[-1, 0])(jnp.zeros((length, 1))))


def test_the_filters_mean_loses_nothing_and_a_window_something():
    assert abs(linear_state_gap(MODEL, filter_weights(10)[None]).gap) < 1e-12
    gaps = [linear_state_gap(MODEL, np.eye(10)[::-1][:m]).gap for m in (1, 2, 5, 10)]
    assert np.all(np.diff(gaps) < 0)
    assert abs(gaps[-1]) < 1e-12


def test_the_fitted_gap_agrees_with_the_exact_one():
    drawn = simulate(MODEL, 10, paths=8000, key=jax.random.key(0))
    x, h = np.asarray(drawn.observations)[:, :, 0], np.asarray(drawn.states)[:, -1]
    best = x @ filter_weights(10)
    found = sufficiency_gap(x[:, -1:], h, best, key=jax.random.key(1))
    exact = linear_state_gap(MODEL, np.eye(10)[-1:])
    assert abs(found.gap - exact.gap) < 5 * found.standard_error
    assert found.nats > 0


def test_a_network_reads_what_a_line_cannot():
    rng = np.random.default_rng(0)
    h = rng.normal(size=(2000, 1))
    linear, network = (sufficiency_gap(h**3, h, h, probe=p, key=jax.random.key(2)) for p in ("linear", "mlp"))
    assert network.gap < 0.5 * linear.gap


def test_bad_input_is_told_in_a_sentence():
    with pytest.raises(ValueError, match=r"weights of shape \(2, 3, 4\)"):
        linear_state_gap(MODEL, np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match="5 rows for states of 3 numbers"):
        sufficiency_gap(np.zeros((5, 3)), np.zeros((5, 1)), np.zeros((5, 1)), key=jax.random.key(0))
