"""Every seeded fault of a working network is named, and nothing on a clean one."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.networks import MLP
from leadline.regularisation import RegularisedMLP, audit_modes, recalibrate
from tests.regularisation.modes.faulty_networks import KINDS, X, of_equinox

NAMES = {
    "equinox": (
        "clean",
        "dropout left on",
        "mode forgotten in one branch",
        "mode forgotten in one branch, in the code",
        "mode forgotten in one branch, a norm in the code",
        "stale statistics",
        "stale statistics, of an earlier epoch",
        "wrong axis",
        "frozen buffers",
        "tiny batch",
        "tiny batch, seen by its variance",
        "domain shift",
    ),
    "flax": (
        "clean",
        "dropout left on",
        "mode forgotten in one branch",
        "mode forgotten in one branch, in the code",
        "stale statistics",
        "stale statistics, of an earlier epoch",
        "wrong axis",
        "frozen buffers",
        "tiny batch",
        "domain shift",
    ),
    "recipe": (
        "clean",
        "dropout left on",
        "mode forgotten in one branch",
        "stale statistics",
        "stale statistics, of an earlier epoch",
        "wrong axis",
        "frozen buffers",
        "tiny batch",
        "domain shift",
    ),
    "linen": ("clean", "mode forgotten in one branch, in the code", "stale statistics", "domain shift"),
}


@pytest.mark.parametrize(("kind", "fault"), [(kind, name) for kind, names in NAMES.items() for name in names])
def test_the_fault_is_named_and_no_other(kind, fault):
    model, inputs, new, batch = KINDS[kind](fault)
    found = audit_modes(model, inputs, new, batch=batch)
    expected = [] if fault == "clean" else [fault.partition(",")[0]]
    assert [f.cause for f in found.faults] == expected, found.faults
    assert all(f.evidence for f in found.faults)


def test_evidence_names_the_layers():
    model, inputs, *_ = of_equinox("mode forgotten in one branch, a norm in the code")
    (fault,) = audit_modes(model, inputs).faults
    assert fault.layers == ("norms[1]",)
    assert "although their flags say use" in fault.evidence
    model, inputs, *_ = of_equinox("wrong axis")
    (fault,) = audit_modes(model, inputs).faults
    assert "'time' in norms[1]" in fault.evidence


def test_statistics_that_are_exactly_those_of_the_inputs_are_not_called_frozen():
    net, state = eqx.nn.make_with_state(RegularisedMLP)((6, 8, 2), normalisation="batch", key=jax.random.key(0))
    state = recalibrate(net, state, jnp.asarray(X))
    assert audit_modes((eqx.nn.inference_mode(net), state), X).faults == ()
    assert [fault.cause for fault in audit_modes((net, state), X).faults] == ["batch statistics left on"]


def test_inputs_of_another_precision_are_no_fault():
    make = eqx.nn.make_with_state(RegularisedMLP)
    net, state = make((6, 8, 2), normalisation="batch", dtype=jnp.float32, key=jax.random.key(0))
    state = recalibrate(net, state, jnp.asarray(X))
    with jax.enable_x64(True):
        assert audit_modes((eqx.nn.inference_mode(net), state), X.astype("float64")).faults == ()


def test_a_network_without_modes_has_nothing_to_name():
    found = audit_modes(MLP((6, 4, 2), key=jax.random.key(0)), X)
    assert (found.layers, found.faults, found.cause, found.repeat) == ((), (), "", 0.0)
    assert found.alone == pytest.approx(0, abs=1e-6)


def test_what_cannot_be_audited_is_told():
    net = eqx.nn.Dropout(0.5)
    with pytest.raises(ValueError, match="give two rows or more"):
        audit_modes(net, np.ones((1, 3)))
    with pytest.raises(ValueError, match="whose modes cannot be read"):
        audit_modes(lambda x: x, X)
    with pytest.raises(ValueError, match="batch"):
        audit_modes(net, X, batch=0)
