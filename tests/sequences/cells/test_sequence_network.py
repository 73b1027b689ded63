"""Networks for sequences: their heads, tokens, lengths, and training by `fit`."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.sequences import GRU, SequenceNetwork, SequenceObjective, Sequences, sequence_network, valid_steps
from leadline.training import fit, fit_many

KEY = jax.random.key(0)
XS = jax.random.normal(jax.random.key(1), (6, 2))


@pytest.mark.parametrize("name", ["elman", "gru", "lstm", "light-gru", "mingru", "lru"])
@pytest.mark.parametrize(("reading", "shape"), [("steps", (6, 3)), ("last", (3,)), ("mean", (3,))])
def test_every_cell_has_every_head(name, reading, shape):
    net = sequence_network(name, 2, 4, 3, depth=2, reading=reading, key=KEY)
    assert net(XS).shape == shape
    padded = net(jnp.concatenate([XS, XS]), valid_steps(6, 12))
    np.testing.assert_allclose(padded[:6] if reading == "steps" else padded, net(XS), atol=1e-12)


def test_tokens_are_embedded_and_fed_one_by_one():
    net = sequence_network("gru", 2, 4, 5, vocabulary=5, key=KEY)
    tokens = jnp.array([3, 0, 4])
    state = net.init()
    for token, expected in zip(tokens, net(tokens), strict=True):
        state = net.update(state, token)
        np.testing.assert_allclose(net.predict(state), expected, atol=1e-12)


def test_an_image_is_a_sequence_of_rows_or_of_pixels():
    image = jax.random.normal(KEY, (4, 3))
    rows, pixels = (sequence_network("gru", n, 4, 2, reading="last", key=KEY) for n in (3, 1))
    np.testing.assert_array_equal(rows(image), rows(image.ravel()))
    np.testing.assert_array_equal(pixels(image), pixels(image.reshape(-1, 1)))


def test_a_learned_start_has_a_gradient_and_counts_as_a_parameter():
    net = SequenceNetwork(GRU(2, 4, key=KEY), 1, learned_start=True, key=KEY)
    gradient = jax.grad(lambda start: jnp.sum(net(XS, state=start)))(net.start)
    assert float(jnp.abs(gradient).sum()) > 0


def test_two_directions_are_twice_as_wide():
    net = sequence_network("lstm", 2, 4, 3, depth=2, bidirectional=True, key=KEY)
    assert [cell.input_size for cell in net.cell.cells] == [2, 8]


def test_fit_trains_padded_sequences_and_fit_many_several_seeds():
    tokens = jax.random.randint(KEY, (32, 6), 0, 2)
    batch = Sequences(tokens, tokens, valid_steps(jnp.arange(32) % 6 + 1, 6))
    nets = [sequence_network("mingru", 2, 4, 2, vocabulary=2, key=jax.random.key(s)) for s in range(2)]
    given = {"objective": SequenceObjective(), "optimiser": optax.adam(0.05), "epochs": 12, "batch": 16, "key": KEY}
    assert fit(nets[0], batch, **given).history["accuracy"][-1] > 0.95
    assert len(fit_many(nets, batch, **given)) == 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sequence_network("grru", 2, 4, 3, key=KEY), "no cell called 'grru'"),
        (lambda: sequence_network("gru", 2, 4, 3, depth=0, key=KEY), "depth=0"),
        (lambda: sequence_network("lru", 2, 4, 3, bidirectional=True, key=KEY), "one direction"),
        (lambda: SequenceNetwork(GRU(2, 4, key=KEY), 1, vocabulary=3, encoder=jnp.tanh, key=KEY), "give one of them"),
        (lambda: sequence_network("gru", 2, 4, 3, reading="mean", key=KEY).predict(jnp.ones(4)), "mean over time"),
    ],
)
def test_what_does_not_fit_is_said(call, words):
    with pytest.raises(ValueError, match=words):
        call()
