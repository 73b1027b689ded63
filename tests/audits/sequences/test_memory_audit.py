"""The memory audit in small: every trial runs, and what is exact holds however little was learnt."""

import jax
import pytest

from leadline.audits.sequences.memory_audit import memory_trials
from leadline.evidence import Comparison, Figure


@pytest.mark.slow
@pytest.mark.usefixtures("optimised_as_for_users")
def test_every_trial_of_a_small_audit_runs_and_its_exact_statements_hold():
    said = []
    trials = list(memory_trials(say=said.append, epochs=1, kinds=("logistic", "ReLU", "GRU", "LRU")))
    assert [id for id, _, _ in trials] == ["pixel-digits", "horizons", "gates-and-context", "two-ways"]
    found = [list(run(jax.random.key(0))) for _, _, run in trials]
    assert [sum(isinstance(f, Figure) for f in parts) for parts in found] == [1, 2, 2, 1]
    exact = [c for parts in found for c in parts if isinstance(c, Comparison) and not c.empirical]
    assert [str(c.verdict) for c in exact] == ["holds"]
    assert len(said) == 4 + 4 + 4 + 1
