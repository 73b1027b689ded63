import jax.numpy as jnp
import pytest

from leadline import neurons
from leadline.neurons.pdp import SLOTS, fixed


def test_a_tick_propagates_then_activates_then_learns():
    system = neurons.PDPSystem(
        units=jnp.array([2.0]),
        output=lambda a: 10 * a,
        connectivity=jnp.array([3.0]),
        propagation=lambda w, o, s: w * o + s,
        activation=lambda a, net, s: a + net,
        learning=lambda w, a, net, s: w + a - net,
        environment=jnp.array([1.0, 5.0]),
    )
    run = system.run()
    # tick 1: net 3·20+1 = 61, state 63, weight 5; tick 2: net 5·630+5 = 3155, state 3218, weight 68
    assert run.nets.ravel().tolist() == [61.0, 3155.0]
    assert run.states.ravel().tolist() == [63.0, 3218.0]
    assert run.outputs.ravel().tolist() == [630.0, 32180.0]
    assert run.connectivity.tolist() == [68.0]
    assert list(system.slots()) == list(SLOTS)


def test_streams_of_unequal_length_and_missing_words_are_refused():
    parts = {
        "units": jnp.zeros(1),
        "output": lambda a: a,
        "connectivity": jnp.zeros(1),
        "propagation": lambda w, o, s: o,
        "activation": lambda a, net, s: a,
        "learning": fixed,
    }
    with pytest.raises(ValueError, match="lengths"):
        neurons.PDPSystem(**parts, environment=(jnp.zeros(2), jnp.zeros(3)))
    with pytest.raises(ValueError, match="7 slots"):
        neurons.PDPSystem(**parts, environment=jnp.zeros(2), words=("a unit",))
