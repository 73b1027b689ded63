"""The signal instrument: closed forms for a linear softmax model, planted faults, and what does not apply."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.networks import MLP, ResidualNetwork
from leadline.studies.instruments import signal
from leadline.studies.subject_making import as_subject

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 6)), np.arange(60) % 3


@pytest.fixture(scope="module")
def network():
    net = MLP((6, 16, 12, 3), dtype=float, key=jax.random.key(0))
    return as_subject(net, (X, Y), start=net)


def test_every_number_of_a_linear_model_has_its_closed_form():
    w = RNG.normal(size=(6, 3))
    subject = as_subject((lambda p, x: x @ p, jnp.asarray(w)), (X, Y), start=jnp.asarray(w))
    card = signal.INSTRUMENT(subject)
    scores = subject.train.inputs @ w
    back = np.exp(scores) / np.exp(scores).sum(1, keepdims=True) - np.eye(3)[subject.train.targets]
    assert card["second"] == pytest.approx([np.mean(scores**2)])
    assert card["gradient"] == pytest.approx([np.sqrt(np.mean(np.sum(back**2, 1)))])
    assert card["start_second_theory"] == pytest.approx([np.mean(w**2) * np.mean(np.sum(X**2, 1))])
    assert "one layer" in card.meaning.sentence
    assert card.verdict != "fails"


def test_a_network_at_its_start_is_as_mean_field_says(network):
    card = signal.INSTRUMENT(network)
    assert not [c.what for c in card.finding.comparisons if not c.as_expected]
    held = [c.what for c in card.finding.comparisons if str(c.verdict) == "holds"]
    assert any("pre-activations at the start" in what for what in held)
    assert any("gradient norm by layer at the start" in what for what in held)
    assert {signal.EVEN, signal.ALIVE} <= set(held)
    for grown in ("growth", "spread_growth"):
        assert np.all(np.array(card[grown]) <= 1.0001 * np.array(card["growth_bound"]))
    assert card["names"] == ["layers[0].weight", "layers[1].weight", "layers[2].weight"]
    assert len(card.finding.figures) == 2  # sizes by layer, and their growth beside what norms allow


def test_weights_that_are_not_independent_of_the_data_are_found_out(network):
    top = np.linalg.svd(X)[2][0]
    first = jnp.asarray(np.outer(RNG.choice([-1.0, 1.0], 16), top))
    planted = eqx.tree_at(lambda p: p.layers[0].weight, network.params, first)
    card = signal.INSTRUMENT(as_subject(network.module, (X + 20 * top, Y), start=planted))
    failed = [c.what for c in card.finding.comparisons if str(c.verdict) == "fails"]
    assert "mean square of pre-activations at the start, mean field" in failed


def test_regression_and_no_start_and_no_chain():
    net = ResidualNetwork(6, 4, 2, 1, "tanh", dtype=float, key=jax.random.key(0))
    subject = as_subject(net, (X, X[:, :1]))
    card = signal.INSTRUMENT(subject)
    residual = subject.scores(subject.train.inputs) - subject.train.targets
    assert card["gradient"][-1] == pytest.approx(np.sqrt(np.mean(4 * residual**2)))
    told = " ".join(part["why"] for part in card["parts"])
    assert "before training are known" in told
    assert "skip connection" in told
    assert card["start_second"] is None


def test_what_came_out_decides_what_is_said(network):
    found = signal.measure(network, network.key("signal"))

    def told(**changed):
        return signal.interpret(found._replace(**changed), network)

    assert "not finite" in told(second=np.array([np.inf, 1, 1])).sentence
    assert "vanish" in told(gradient_ratio=1e-6).sentence
    assert "explode" in told(gradient_ratio=1e6).sentence
    assert told(dead=(10, 6, 0)).advice.startswith("Lower")
    assert "but" in told(dead=(2, 1, 0)).sentence
    assert "saturated" in told(dead=(0, 0, 0), saturated=(16, 12, None)).sentence
    assert told(dead=(0, 0, 0), saturated=(0, 0, None)).weight == 0.2
    assert "No gradient" in told(gradient=np.zeros(3), gradient_ratio=float("nan")).sentence


def test_a_network_without_layers_is_refused():
    subject = as_subject((lambda p, x: x[:, :2] * p, jnp.ones(2)), (X, X[:, :2]))
    assert "no layers" in signal.INSTRUMENT(subject).skipped
