import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import learning, sequences
from leadline.sequences.memory.horizons import last_output


def linear(weight):
    cell = sequences.Elman(1, 1, "identity", bias=False, dtype=jnp.float32, key=jax.random.key(0))
    parts = (jnp.full((1, 1), weight, jnp.float32), jnp.ones((1, 1), jnp.float32))
    return eqx.tree_at(lambda c: (c.recurrent_weight, c.input_weight), cell, parts)


def applied(net, x):
    return jax.vmap(net)(x)


@pytest.fixture
def net():
    cell = sequences.GRU(2, 4, key=jax.random.key(0))
    return sequences.SequenceNetwork(cell, 3, reading="last", key=jax.random.key(1))


def test_the_transported_gradient_is_the_gradient_by_the_state(net):
    x = jax.random.normal(jax.random.key(2), (2, 5, 2))
    labels = jnp.array([0, 2])
    found = np.exp(sequences.gradient_transport(net, x, labels, learning.cross_entropy))

    def loss(state, row, label, at):
        return learning.cross_entropy(net.predict(sequences.run(net.cell, row[at:], state).last), label)

    for lag in (1, 3, 5):
        for row, label, own in zip(x, labels, found, strict=True):
            at = 5 - lag
            state = net.init() if at == 0 else sequences.run(net.cell, row[:at]).last
            assert np.linalg.norm(jax.grad(loss)(state, row, label, at)) == pytest.approx(own[lag], rel=1e-3)


def test_influence_is_the_derivative_of_the_last_output_by_each_input(net):
    x = jax.random.normal(jax.random.key(2), (2, 5, 2))
    found = sequences.influence(applied, net, x)
    jacobian = jax.vmap(jax.jacfwd(net))(x)  # (n, q, T, d)
    np.testing.assert_allclose(found, jnp.sqrt((jacobian**2).sum(axis=(1, 3)))[:, ::-1], rtol=1e-3, atol=1e-6)


def test_influence_by_replacement_takes_tokens():
    words = sequences.SequenceNetwork(
        sequences.GRU(3, 4, key=jax.random.key(0)), 5, vocabulary=5, key=jax.random.key(1)
    )
    tokens = jax.random.randint(jax.random.key(2), (6, 8), 0, 5)
    found = sequences.replaced_influence(applied, words, tokens, (0, 1, 7))
    changed = np.asarray(tokens[:, -1] != jnp.roll(tokens, -1, axis=0)[:, -1])
    np.testing.assert_array_equal(found[:, 0] > 0, changed)
    with pytest.raises(ValueError, match="replaced_influence"):
        sequences.influence(applied, words, tokens)


def test_the_horizon_of_a_power_is_known():
    for weight in (0.5, 0.8, 0.95):
        curve = weight ** np.arange(60)
        assert sequences.horizon(curve) == 1 + int(np.floor(np.log(0.5) / np.log(weight) + 1e-9))
    assert sequences.horizon(np.array([1.0, 0.0, 0.0])) == 0
    assert sequences.horizon(np.array([3.0, 2.0, 1.5]), lags=(0, 1, 10)) == 10
    with pytest.raises(ValueError, match="lag 1 must be among them"):
        sequences.horizon(np.ones(2), lags=(0, 2))


def test_recall_of_a_linear_unit_falls_as_its_weight_to_the_lag():
    x = np.random.default_rng(0).normal(size=(20000, 12)).astype(np.float32)
    out = np.asarray(jax.vmap(lambda row: sequences.run(linear(0.7), row).last)(jnp.asarray(x[:, :, None])))
    found = sequences.recall_correlation(out, x, (0, 1, 2, 3))
    np.testing.assert_allclose(found, 0.7 ** np.arange(4) * np.sqrt(1 - 0.49), atol=0.03)
    with pytest.raises(ValueError, match="many more rows"):
        sequences.recall_correlation(out[:2], x[:2], (0,))


def test_accuracy_with_part_of_a_row_is_that_of_what_it_holds():
    x = jax.random.rademacher(jax.random.key(0), (400, 6), float)
    labels = (x[:, 2] > 0).astype(int)  # 3 steps before the last

    def recall(w, x):
        return jnp.stack([-w * x[:, 2], w * x[:, 2]], axis=1)

    found = sequences.context_accuracy(recall, jnp.array(1.0), x, labels, (3, 4, 6), key=jax.random.key(1))
    assert found[1] == found[2] == 1
    assert 0.35 < found[0] < 0.65


def test_the_last_output_of_sequences_is_that_of_the_last_position():
    assert last_output(jnp.arange(12.0).reshape(2, 3, 2)).tolist() == [[4.0, 5.0], [10.0, 11.0]]


def test_the_step_of_an_overflow_is_named():
    x = jnp.ones((1, 300, 1), jnp.float32)
    with pytest.raises(ValueError, match="no longer finite from step 128 of 300 on"):
        sequences.gradient_transport(linear(2.0), x, jnp.zeros(1), lambda y, t: y.sum())
