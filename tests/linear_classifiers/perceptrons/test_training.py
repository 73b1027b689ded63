import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from leadline import data
from leadline.linear_classifiers import perceptrons


def wrong(score, label, tie):
    if tie == "positive":
        return (1 if score >= 0 else -1) != label
    return label * score <= 0 if tie == "mistake" else label * score < 0


def textbook(x, y, stream, *, bias, tie, step, start):
    """The rule in plain Python, one presentation after another."""
    w, b, history, times = np.array(start, float), 0.0, [], []
    for t, i in enumerate(stream):
        if wrong(x[i] @ w + b, y[i], tie):
            w, b = w + step * y[i] * x[i], b + bias * step * y[i]
            history.append(int(i)), times.append(t)
    return w, b, history, times


@pytest.mark.parametrize(
    ("order", "tie", "bias"),
    [
        ("cyclic", "mistake", True),
        ("cyclic", "correct", False),
        ("permuted", "positive", True),
        ("uniform", "mistake", False),
    ],
)
def test_fit_is_the_textbook_rule(order, tie, bias):
    x, y = (np.asarray(part) for part in data.gaussian_clouds(30, 3, 1.0, key=jax.random.key(0)))
    key, start, epochs = jax.random.key(1), np.array([0.3, 0.0, -2.0]), 7
    run = perceptrons.learn(x, y, order=order, bias=bias, tie=tie, step_size=0.5, start=start, epochs=epochs, key=key)
    stream = np.concatenate([perceptrons.sweep_order(30, order, e, key) for e in range(epochs)])
    w, b, history, times = textbook(x, y, stream, bias=bias, tie=tie, step=0.5, start=start)
    assert np.allclose(run.weights, w, atol=1e-12)
    assert np.isclose(run.bias, b)
    assert run.history.tolist() == history
    assert run.times.tolist() == times
    assert run.updates == len(history)
    assert not run.converged
    assert run.epochs == epochs
    assert run.mistakes.tolist() == np.bincount(history, minlength=30).tolist()


@pytest.mark.parametrize("order", ["cyclic", "permuted", "uniform", "adversarial"])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), margin=st.floats(0.05, 0.9))
def test_separable_data_are_learnt_within_novikoffs_bound(order, seed, margin):
    x, y, _ = data.separable_ball(60, 5, margin, key=jax.random.key(seed))
    run = perceptrons.learn(x, y, order=order, key=jax.random.key(seed + 1))
    assert run.converged
    assert np.min(y * (x @ run.weights)) > 0
    assert run.updates <= 1 / margin**2


def test_a_sweep_order_that_is_permuted_shows_each_example_once():
    order = perceptrons.sweep_order(50, "permuted", 3, jax.random.key(0))
    assert sorted(order.tolist()) == list(range(50))
    assert order.tolist() != list(range(50))


def test_the_adversary_always_presents_the_worst_mistake():
    x, y, _ = (np.asarray(part) for part in data.separable_ball(60, 5, 0.05, key=jax.random.key(3)))
    run = perceptrons.learn(x, y, order="adversarial")
    w = np.zeros(5)
    for i in run.history:
        scores = y * (x @ w)
        assert scores[i] == pytest.approx(scores.min(), abs=1e-12)
        assert scores[i] <= 0
        w = w + y[i] * x[i]
    assert run.converged
    assert np.min(y * (x @ w)) > 0


def test_the_path_ends_at_the_weights_bit_for_bit():
    x, y = data.gaussian_clouds(50, 4, 0.5, key=jax.random.key(4))
    run = perceptrons.learn(x, y, bias=True, epochs=40)
    path = perceptrons.path(run, x, y)
    assert path.weights.shape == (run.updates + 1, 4)
    assert np.array_equal(path.weights[-1], run.weights)
    assert path.biases[-1] == run.bias
    without = perceptrons.learn(x, y, epochs=4)
    assert np.all(perceptrons.path(without, x, y).biases == 0)


def test_a_history_longer_than_the_device_log_is_complete():
    x, y = data.gaussian_clouds(100, 2, 0.2, key=jax.random.key(5))
    run = perceptrons.learn(x, y, epochs=500)
    assert run.updates > 2 * 8192
    assert run.updates == run.mistakes.sum() == len(run.times)
    assert np.all(np.diff(run.times) > 0)
    assert run.presentations == 500 * 100
    assert np.allclose(np.asarray(y)[run.history] @ np.asarray(x)[run.history], run.weights, atol=1e-9)


def test_scikit_learns_perceptron_makes_the_same_passes():
    from sklearn.linear_model import Perceptron

    x, y, _ = (np.asarray(part) for part in data.separable_ball(60, 5, 0.1, key=jax.random.key(6)))
    reference = Perceptron(shuffle=False, tol=None, max_iter=3, fit_intercept=False).fit(x, y)
    run = perceptrons.learn(x, y, epochs=3)
    assert np.allclose(reference.coef_[0], run.weights, atol=1e-9)


def test_the_step_scales_the_weights_and_nothing_else():
    x, y, _ = data.separable_ball(60, 5, 0.05, key=jax.random.key(7))
    one, small = perceptrons.learn(x, y), perceptrons.learn(x, y, step_size=0.03)
    assert np.array_equal(one.history, small.history)
    assert np.allclose(small.weights, 0.03 * one.weights, rtol=1e-12)


def test_float32_data_stay_float32_and_integers_become_floats():
    x = np.array([[1, 0], [0, 1]])
    assert perceptrons.learn(x.astype(np.float32), np.array([1, -1])).weights.dtype == jnp.float32
    assert jnp.issubdtype(perceptrons.learn(x, np.array([1, -1])).weights.dtype, jnp.floating)


X, Y = np.eye(3), np.array([1.0, -1.0, 1.0])


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        (X, np.array([0.0, 1.0, 1.0]), {}, "labels other than -1 and [+]1"),
        (X, Y[:2], {}, "one label per row"),
        (X * np.nan, Y, {}, "NaN or infinite"),
        (X, Y, {"order": "random"}, "order='random'"),
        (X, Y, {"tie": "never"}, "tie='never'"),
        (X, Y, {"order": "permuted"}, "needs a random key"),
        (X, Y, {"step_size": 0.0}, "step_size=0.0"),
        (X, Y, {"epochs": 0}, "epochs=0"),
        (X, Y, {"start": np.zeros(2)}, "one weight per column"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(x, y, options, message):
    with pytest.raises(ValueError, match=message):
        perceptrons.learn(x, y, **options)


def test_an_adversarial_order_has_no_fixed_stream():
    with pytest.raises(ValueError, match="fixed before training"):
        perceptrons.sweep_order(3, "adversarial", 0)
