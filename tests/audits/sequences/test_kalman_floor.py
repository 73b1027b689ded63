"""The audit of the Kalman floor in small: however little was learnt, nothing is below the floor."""

import jax
import pytest

from leadline import data
from leadline.audits.sequences.kalman_floor import kalman_floor_trials
from leadline.evidence import Comparison, Figure


@pytest.mark.slow
@pytest.mark.usefixtures("optimised_as_for_users")
def test_every_trial_of_a_small_audit_runs_and_nothing_is_below_the_floor(monkeypatch):
    def unavailable(name):
        raise data.DataUnavailable("not in this test")

    monkeypatch.setattr("leadline.data.load", unavailable)
    said = []
    trials = list(kalman_floor_trials(say=said.append, num_steps=60, cells=("linear", "gru")))
    assert [id for id, _, _ in trials] == ["floor-of-cells", "both-directions", "other-noise", "nile"]
    found = [list(run(jax.random.key(0))) for _, _, run in trials[:3]]
    assert [sum(isinstance(f, Figure) for f in parts) for parts in found] == [1, 1, 1]
    exact = [c for parts in found for c in parts if isinstance(c, Comparison) and not c.empirical]
    assert [str(c.verdict) for c in exact] == ["holds"] * len(exact)
    assert len(said) == 2 + 2 + 2
