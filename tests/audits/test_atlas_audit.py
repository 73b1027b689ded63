"""The atlas audit on a small problem: every trial comes out as expected."""

import jax
import numpy as np

from leadline.audits import atlas_audit
from leadline.landscape.deep_linear import LinearProblem, random_problem


def comparisons(trial):
    return [c for c in trial if hasattr(c, "verdict")]


def test_the_trials_of_a_small_problem_come_out():
    key, spread = jax.random.key(1), 1.5 ** -np.arange(8.0)
    problem = random_problem(8, 8, 60, key=jax.random.key(0), spectrum=spread)
    scaled = np.linalg.qr(problem.x.T)[0].T * (60 * spread[:, None]) ** 0.5  # an autoencoder with these eigenvalues
    found = comparisons(atlas_audit.lowest(problem, 3, known=False))
    found += comparisons(atlas_audit.staircase(LinearProblem(scaled, scaled), 2, known=False, key=key))
    found += comparisons(atlas_audit.alternation(problem, 3, known=False, key=key))
    found += comparisons(atlas_audit.inertia(key))
    assert [c.what for c in found if not c.as_expected] == []
