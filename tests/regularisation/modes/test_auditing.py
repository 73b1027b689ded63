"""Every seeded fault of a working network is named, and nothing on a clean one."""

import pytest

from leadline.regularisation import audit_modes
from tests.regularisation.modes.faulty_networks import KINDS

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
