"""The symmetry audit in small: every trial runs, and what is exact holds however little was learnt."""

import jax
import pytest

from leadline.audits.symmetry.symmetry_audit import symmetry_trials
from leadline.evidence import Comparison, Figure


@pytest.mark.slow
@pytest.mark.usefixtures("optimised_as_for_users")
def test_every_trial_of_a_small_audit_runs_and_its_exact_statements_hold():
    said = []
    trials = list(symmetry_trials(say=said.append, num_steps=20, sizes=(64, 128)))
    assert [id for id, _, _ in trials] == ["quarter-turns", "layer-by-layer", "few-images", "any-angle"]
    found = [list(run(jax.random.key(0))) for _, _, run in trials]
    assert [sum(isinstance(f, Figure) for f in parts) for parts in found] == [1, 1, 1, 1]
    exact = [c for parts in found for c in parts if isinstance(c, Comparison) and not c.empirical]
    assert [str(c.verdict) for c in exact] == ["holds"] * 2
    assert len(said) == 4 + 1 + 6 + 2
