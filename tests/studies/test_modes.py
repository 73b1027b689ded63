"""The instrument of modes on networks whose running statistics are known, and on some that have no modes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from leadline.frameworks.with_state import WithState
from leadline.studies import as_subject
from leadline.studies.instruments.modes import INSTRUMENT
from tests.studies.small_subjects import linear_subject, three_clouds

KEY = jax.random.key(0)
TRAIN, TEST = three_clouds(300), three_clouds(200, seed=1)


class Normalised(eqx.Module):
    """Batch normalisation of the inputs, dropout, and one linear layer."""

    norm: eqx.nn.BatchNorm
    dropout: eqx.nn.Dropout
    head: eqx.nn.Linear

    def __init__(self, key):
        self.norm = eqx.nn.BatchNorm(4, "batch", mode="ema")
        self.dropout = eqx.nn.Dropout(0.5)
        self.head = eqx.nn.Linear(4, 3, use_bias=False, key=key)

    def __call__(self, x, state, *, key=None):
        x, state = self.norm(x, state)
        return self.head(self.dropout(x, key=key)), state


def subject(shift=0.0, ratio=1.0, wrap=False):
    """The best linear rule behind running statistics that are off by so much."""
    net, state = eqx.nn.make_with_state(Normalised)(KEY)
    x = TRAIN[0]
    mean, sd = x.mean(axis=0), x.std(axis=0)
    running = (jnp.asarray(mean + shift * sd, float), jnp.asarray(ratio * sd**2, float))
    state = state.set(net.norm.ema_first_time_index, jnp.array(False)).set(net.norm.ema_state_index, running)
    net = eqx.tree_at(lambda n: n.head.weight, net, jnp.asarray(2 * np.eye(3, 4)))
    return as_subject(WithState(net, state) if wrap else (net, state), TRAIN, TEST, name="known")


@pytest.mark.parametrize("wrap", [False, True])
def test_right_statistics_are_found_right(wrap):
    card = INSTRUMENT(subject(wrap=wrap))
    assert card["causes"] == []
    assert card["layers"] == {"norm": "batch normalisation", "dropout": "dropout"}
    assert card["ratio"]["norm"] == pytest.approx(1, abs=1e-3)
    assert card["shift"]["norm"] == pytest.approx(0, abs=1e-3)
    assert [c.what for c in card.finding.comparisons if str(c.verdict) == "fails"] == []
    assert "nothing is wrong" in card.meaning.sentence


def test_statistics_that_are_off_are_measured_and_named():
    card = INSTRUMENT(subject(shift=3.0, ratio=4.0))
    assert card["causes"] == ["stale statistics"]
    assert card["ratio"]["norm"] == pytest.approx(4, rel=1e-3)
    assert card["shift"]["norm"] == pytest.approx(3, rel=1e-3)
    assert card["off"]["norm"] == 1
    failed = [c.what for c in card.finding.comparisons if str(c.verdict) == "fails"]
    assert any(what.startswith("features whose running statistics are off the training") for what in failed)
    assert card.meaning.sentence.startswith("Stale statistics (norm)")
    assert card.meaning.advice.startswith("Keep the state")


def test_a_shift_between_training_and_test_rows_is_named():
    made = subject()
    x, y = TEST
    shifted = as_subject(made.given, TRAIN, (3 * x + 5, y))
    assert INSTRUMENT(shifted)["causes"] == ["domain shift"]


def test_accuracies_are_those_of_each_mode_by_hand():
    card = INSTRUMENT(subject(shift=1.0))
    x, y = TEST
    mean, sd = TRAIN[0].mean(axis=0), TRAIN[0].std(axis=0)
    used = ((x - mean - sd) / sd)[:, :3].argmax(axis=1) == y
    assert card["running"] == pytest.approx(used.mean(), abs=0.006)  # ties of rounding


def test_dropout_alone_has_modes_and_no_statistics():
    net = eqx.nn.Sequential([eqx.nn.Linear(4, 3, key=KEY), eqx.nn.Dropout(0.5)])
    card = INSTRUMENT(as_subject(net, TRAIN, TEST))
    assert card["causes"] == []
    assert card["batch"] is None
    assert [str(c.verdict) for c in card.finding.comparisons] == ["inapplicable"]


def test_a_flax_network_is_taken_as_flax_has_it():
    class Net(nnx.Module):
        def __init__(self):
            self.norm = nnx.BatchNorm(4, momentum=0.5, rngs=nnx.Rngs(0))
            self.head = nnx.Linear(4, 3, rngs=nnx.Rngs(0))

        def __call__(self, x):
            return self.head(self.norm(x))

    net = Net()
    assert INSTRUMENT(as_subject(net, TRAIN, TEST))["causes"] == ["stale statistics"]
    for _ in range(20):
        net(jnp.asarray(TRAIN[0]))
    assert INSTRUMENT(as_subject(net, TRAIN, TEST))["causes"] == []


def test_networks_without_modes_are_left_out_with_the_reason():
    assert INSTRUMENT(linear_subject()).skipped == "no layer of the network changes between training and use"
    function = as_subject((lambda w, x: x @ w, jnp.ones((4, 3))), TRAIN, TEST)
    assert INSTRUMENT(function).skipped == "the modes of a plain function cannot be read"
