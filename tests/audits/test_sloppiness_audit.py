"""The sloppiness audit in small: every trial runs, what is exact holds, what is said before is about this network."""

import jax
import pytest

from leadline.audits.sloppiness_audit import sloppiness_trials
from leadline.evidence import Comparison, Figure


@pytest.mark.slow
def test_every_trial_of_a_small_audit_runs_and_its_exact_statements_hold():
    trials = list(sloppiness_trials(images=20, hidden=6, num_steps=40, directions=(10, 175)))
    assert [id for id, _, _ in trials] == ["spectra", "dimensions", "subspaces"]
    assert "460 weights" in trials[0][1]
    found = [list(run(jax.random.key(0))) for _, _, run in trials]
    assert [sum(isinstance(f, Figure) for f in parts) for parts in found] == [2, 1, 1]
    comparisons = {c.what: c for parts in found for c in parts if isinstance(c, Comparison)}
    for what, comparison in comparisons.items():
        if "Lanczos" in what or "rank" in what or "as many directions" in what:
            assert comparison.verdict == "holds", what
    accuracy = next(c for what, c in comparisons.items() if what.startswith("test accuracy"))
    assert 0 <= accuracy.measured <= 10
