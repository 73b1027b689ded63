import numpy as np
import pytest
import scipy.stats

from leadline import stochastic
from leadline.stochastic.runs.plateau import fall_p_value


def test_the_p_value_is_scipys():
    losses = np.random.default_rng(0).normal(size=200) - 0.001 * np.arange(200)
    means = losses.reshape(10, 20).mean(axis=1)
    expected = scipy.stats.linregress(np.arange(10), means, alternative="less").pvalue
    np.testing.assert_allclose(fall_p_value(losses), expected, rtol=1e-10)
    assert fall_p_value(np.ones(50)) == 1.0
    with pytest.raises(ValueError, match="blocks"):
        fall_p_value(np.ones(5))


def test_each_stair_is_at_the_floor_of_its_step():
    def advance(state, step, count):
        w, rng = state
        losses = np.empty(count)
        for t in range(count):
            w = w - step * (w + rng.normal(size=w.shape))
            losses[t] = np.mean(w**2) / 2
        return (w, rng), losses

    start = (np.full(200, 5.0), np.random.default_rng(0))
    stairs = stochastic.drop_on_plateau(advance, start, 0.4, factor=4.0, window=60, drops=2)
    for end, eta in zip(stairs.ends, (0.4, 0.1, 0.025), strict=True):
        last = stairs.losses[end - round(24 / eta) : end].mean()
        np.testing.assert_allclose(last, eta / (2 * (2 - eta)), rtol=0.1)
        assert stairs.steps[end - 1] == pytest.approx(eta)
    with pytest.raises(ValueError, match="factor"):
        stochastic.drop_on_plateau(advance, start, 0.4, factor=1.0)
