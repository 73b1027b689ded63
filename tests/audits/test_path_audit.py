"""The path audit, small: its theorems hold at any size, and so does the gain through two components."""

import jax
import pytest

from leadline.audits.path_audit import components, path_trials
from leadline.evidence import Comparison


@pytest.mark.slow
def test_theorems_hold_for_small_networks_with_both_losses():
    for loss in ("squared", "softmax"):
        found = [
            c
            for c in components(2, jax.random.key(0), loss=loss, widths=(8, 32), pairs=2, num_steps=60)
            if isinstance(c, Comparison)
        ]
        assert all(c.as_expected for c in found[:6])


def test_the_trials_are_those_of_the_chapter():
    assert [id for id, *_ in path_trials()] == ["components-2", "components-4", "components-8", "cross-entropy"]
