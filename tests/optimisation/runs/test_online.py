"""Online rules on an interval against a loop."""

import jax.numpy as jnp
import numpy as np
import pytest

from leadline import optimisation
from leadline.optimisation.runs.online import drifting_slopes, online_adaptive


@pytest.mark.parametrize("maximum", [False, True])
def test_the_played_points_follow_the_projected_recursion(maximum):
    slopes = drifting_slopes(50, 3.0)
    rule = online_adaptive(0.5, 0.1, maximum=maximum)
    points = np.asarray(optimisation.play_online(rule, jnp.asarray(slopes)))
    x = v = top = 0.0
    for t, g in enumerate(slopes, start=1):
        assert points[t - 1] == pytest.approx(x, abs=1e-12)
        v = 0.1 * v + 0.9 * g * g
        top = max(top, v)
        x = float(np.clip(x - 0.5 / np.sqrt(t) * g / np.sqrt(top if maximum else v), -1, 1))


def test_regret_is_against_the_best_end_of_the_interval():
    slopes = np.array([3.0, -1.0, -1.0])
    np.testing.assert_allclose(optimisation.average_regret(np.ones(3), slopes), [6.0, 2.0 * 2 / 2, 2 / 3])
