"""The anatomy instrument: closed forms for a linear softmax model, a convolutional network, and what does not apply."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.convolution import ConvNetwork, pyramid
from leadline.networks import MLP, ResidualNetwork
from leadline.studies.instruments import anatomy
from leadline.studies.subject_making import as_subject

RNG = np.random.default_rng(0)


def classes(shape, k=3, n=60):
    return RNG.normal(size=(n, *shape)), np.arange(n) % k


def _compiler_count(subject, rows=64):
    """XLA's own count of operations for one row of a batch, transcendental functions as one each."""
    x = jax.ShapeDtypeStruct((rows, *subject.input_shape), subject.dtype)
    costs = jax.jit(lambda p, x: subject.apply(p, x)).lower(subject.params, x).compile().cost_analysis()
    return (costs["flops"] + costs.get("transcendentals", 0.0)) / rows


@pytest.fixture(scope="module")
def linear():
    params = {"w": jnp.asarray(RNG.normal(size=(5, 3))), "b": jnp.ones(3)}
    return as_subject((lambda p, x: x @ p["w"] + p["b"], params), classes((5,)), name="softmax")


def test_every_number_of_a_linear_model_has_its_closed_form(linear):
    card = anatomy.INSTRUMENT(linear)
    assert card.verdict == "holds"
    assert card["parameters"] == card["in_layers"] == 18
    assert card["layer_flops"] == 2 * 15
    assert card["flops"] == _compiler_count(linear) == 33
    norm = np.linalg.norm(np.asarray(linear.params["w"]), 2)
    for name in ("lipschitz_lower", "lipschitz_upper", "spectral_norm"):
        assert card[name] == pytest.approx(norm, rel=1e-6)
    assert "linear" in card.meaning.sentence
    assert card["parts"] == []


def test_the_operations_of_a_convolutional_network_are_those_the_compiler_counts():
    net = ConvNetwork(pyramid((2, 4), 3), (1, 8, 8), channels_last=True, dtype=float, key=jax.random.key(0))
    subject = as_subject(net, classes((8, 8)))
    card = anatomy.INSTRUMENT(subject)
    assert not [c.what for c in card.finding.comparisons if not c.as_expected]
    layers = subject.shared.dissection.layers
    inside = sum(layer.flops_inside for layer in layers)
    assert _compiler_count(subject) == inside + card["flops"] - card["layer_flops"]
    for layer in layers:
        positions = math.prod(layer.output_shape) / layer.fan_out
        assert layer.flops == 2 * math.prod(layer.weight_shape) * positions
    assert card["in_layers"] + card["in_others"] + card["unused_parameters"] == subject.size
    assert card["lipschitz_lower"] <= card["lipschitz_upper"]
    assert len(card.finding.figures) == 1


def test_a_network_that_is_no_chain_and_has_a_loop_says_so():
    net = ResidualNetwork(4, 3, 2, 3, "tanh", dtype=float, key=jax.random.key(0))
    subject = as_subject(net, classes((4,)))
    card = anatomy.INSTRUMENT(subject)
    told = {part["what"]: part["why"] for part in card["parts"]}
    assert "skip connection" in told["largest stretch of inputs, product of norms"]
    assert "skip connection" in card.meaning.sentence
    assert card["in_layers"] == subject.size


class Idle(eqx.Module):
    layer: eqx.nn.Linear
    never: jax.Array

    def __call__(self, x):
        return self.layer(x)


def test_what_came_out_decides_what_is_said(linear):
    net = Idle(eqx.nn.Linear(4, 3, dtype=float, key=jax.random.key(0)), jnp.ones(7))
    card = anatomy.INSTRUMENT(as_subject(net, classes((4,))))
    assert card["unused"] == ["never"]
    assert card.meaning.weight == 0.7
    assert (card.verdict, card.evidence.measured) == ("fails", 7)
    found = anatomy.measure(linear, linear.key("anatomy"))._replace(spectral_norm=None)
    assert "say little" in anatomy.interpret(found._replace(lipschitz_upper=1e4), linear).sentence
    assert anatomy.interpret(found, linear).weight == 0.2


def test_weights_of_outputs_that_were_not_chosen_are_no_mistake():
    params = {"a": jnp.ones((4, 3)), "b": jnp.ones((4, 2))}
    subject = as_subject((lambda p, x: (x @ p["a"], x @ p["b"]), params), classes((4,)), select=0)
    card = anatomy.INSTRUMENT(subject)
    assert card["unused_parameters"] == 8
    assert "that was chosen" in card.meaning.sentence
    assert not card.tells


def test_the_product_of_norms_is_a_line_that_ends_above_the_stretch_that_was_found():
    net = MLP((4, 6, 3), "tanh", dtype=float, key=jax.random.key(0))
    card = anatomy.INSTRUMENT(as_subject(net, classes((4,))))
    first, last = card["reached"].values()
    assert first == pytest.approx(np.linalg.norm(net.layers[0].weight, 2), rel=1e-6)
    assert last == pytest.approx(card["lipschitz_upper"])
    assert card["lipschitz_lower"] <= last


def test_of_integer_inputs_no_stretch_is_known():
    tokens = np.random.default_rng(0).integers(0, 5, (30, 7))
    card = anatomy.INSTRUMENT(as_subject((lambda p, t: p[t].mean(1), np.ones((5, 3))), (tokens, np.arange(30) % 3)))
    assert card["lipschitz_lower"] is None
    assert card["parameters"] == 15
    assert "its inputs are integers" in card.meaning.sentence
    assert any(c.unmet == "inputs are real numbers" for c in card.finding.comparisons)
