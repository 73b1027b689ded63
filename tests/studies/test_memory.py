"""The instrument of memory on recurrences whose answers are known, on tokens, and on networks written elsewhere."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen, nnx

from leadline import sequences
from leadline.evidence import BadInput
from leadline.studies import as_subject
from leadline.studies.instruments.memory import INSTRUMENT, interpret
from leadline.studies.measurements.recurrent.memory_measures import measure_memory
from tests.studies.small_subjects import linear_subject

KEY = jax.random.key(0)


def linear_net(weight, output="identity"):
    cell = sequences.Elman(1, 1, "identity", bias=False, dtype=jnp.float32, key=KEY)
    parts = (jnp.full((1, 1), weight, jnp.float32), jnp.ones((1, 1), jnp.float32))
    cell = eqx.tree_at(lambda c: (c.recurrent_weight, c.input_weight), cell, parts)
    net = sequences.SequenceNetwork(cell, 1, reading="last", output=output, key=KEY)
    return eqx.tree_at(lambda n: n.head.weight, net, jnp.full((1, 1), 0.5, jnp.float32))


def series(steps, rows=24):
    return np.random.default_rng(0).normal(size=(rows, steps, 1)).astype(np.float32), np.zeros((rows, 1))


def test_the_curves_of_a_linear_unit_fall_with_its_weight():
    found = measure_memory(as_subject(linear_net(0.8), series(16)), KEY)
    np.testing.assert_allclose(found.gradient - found.gradient[0], np.log(0.8) * found.lags, atol=1e-3)
    np.testing.assert_allclose(found.influence - found.influence[0], np.log(0.8) * np.arange(16), atol=1e-3)
    assert found.exponents[0] == pytest.approx(np.log(0.8), abs=1e-4)
    assert found.horizons == {"gradient": 4, "influence": 4}
    card = INSTRUMENT(as_subject(linear_net(0.8), series(16)))
    assert not [c for c in card.finding.comparisons if str(c.verdict) == "fails"]


def test_a_growing_state_is_called_exploding_and_an_overflow_has_its_step_named():
    growing = as_subject(linear_net(1.5), series(12))
    card = INSTRUMENT(growing)
    assert [str(c.verdict) for c in card.finding.comparisons if c.what.startswith("largest Lyapunov")] == ["fails"]
    found = measure_memory(as_subject(linear_net(1e9, "tanh"), series(12)), KEY)
    assert found.overflow is not None
    assert 4 <= found.overflow <= 7
    assert f"from step {found.overflow} of 12 on" in interpret(found, growing).sentence


def test_outputs_that_are_not_finite_are_refused_with_the_step():
    with pytest.raises(BadInput, match=r"its state is not finite from step [4-7] of 12 on"):
        as_subject(linear_net(1e9), series(12))


def test_tokens_with_a_label_at_every_position():
    cell = sequences.GRU(4, 6, key=KEY)
    net = sequences.SequenceNetwork(cell, 5, vocabulary=5, key=KEY)
    tokens = np.random.default_rng(0).integers(0, 5, (30, 9))
    subject = as_subject(net, (tokens, np.roll(tokens, -1, axis=1)))
    assert subject.kind == "sequence"
    found = measure_memory(subject, KEY)
    assert found.steps == 9
    assert found.size == 6
    assert set(found.horizons) == {"gradient", "influence", "accuracy"}
    assert set(found.gates) == {"logistic 1", "logistic 2", "tanh 1"}
    assert len(list(INSTRUMENT.draw(found, subject))) == 3
    assert "horizon" in INSTRUMENT(subject).meaning.sentence


class FlaxReader(linen.Module):
    """As Flax's documentation has it: a cell, `RNN` around it, a linear layer on the last output."""

    @linen.compact
    def __call__(self, x):
        return linen.Dense(4)(linen.RNN(linen.LSTMCell(5))(x)[:, -1])


class NnxReader(nnx.Module):
    """The same in Flax' newer interface."""

    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.LSTMCell(3, 5, rngs=rngs))
        self.head = nnx.Linear(5, 4, rngs=rngs)

    def __call__(self, x):
        return self.head(self.rnn(x)[:, -1])


@pytest.mark.parametrize("interface", ["linen", "nnx"])
def test_a_recurrent_network_of_flax_is_measured(interface):
    x = np.random.default_rng(0).normal(size=(30, 10, 3)).astype(np.float32)
    net = FlaxReader()
    model = (net, net.init(KEY, x)) if interface == "linen" else NnxReader(nnx.Rngs(0))
    found = measure_memory(as_subject(model, (x, np.arange(30) % 4)), KEY)
    assert (found.steps, found.size) == (10, 10)
    assert np.isfinite(found.exponents[0])
    assert len(found.gates) == 5


def test_a_network_without_a_loop_is_refused_with_the_reason():
    assert "no loop" in INSTRUMENT.refusal(linear_subject())
