import numpy as np
import pytest
from scipy.special import digamma

from leadline.networks.signal.norm_distributions import NormDistribution


def test_moments_are_the_closed_forms():
    assert NormDistribution(64, 20).moment(2) == pytest.approx((1 + 2 / 64) ** 20)
    assert NormDistribution(64, 20, "relu", 2**0.5).moment(1) == pytest.approx(1.0)
    assert NormDistribution(64, 20, "relu", 2**0.5).moment(2) == pytest.approx((1 + 5 / 64) ** 20)
    assert NormDistribution(10, 3, gain=2.0).moment(1) == pytest.approx(4.0**3)
    assert NormDistribution(30, 4).log_mean == pytest.approx(4 * (np.log(2 / 30) + digamma(15)))


@pytest.mark.parametrize("activation", ["identity", "relu"])
def test_all_statistics_agree_with_draws_of_the_network(activation):
    width, depth, gain = 12, 3, 1.3
    rng = np.random.default_rng(0)
    x = np.ones((20_000, width))
    for _ in range(depth):
        # Given the input, the pre-activations of fresh Gaussian weights are Gaussian.
        z = rng.standard_normal(x.shape) * gain * np.linalg.norm(x, axis=1, keepdims=True) / width**0.5
        x = np.maximum(z, 0) if activation == "relu" else z
    ratio = np.sum(x**2, axis=1) / width
    law = NormDistribution(width, depth, activation, gain)
    error = 5 / 20_000**0.5
    assert ratio.mean() == pytest.approx(law.moment(1), abs=error * law.deviation())
    assert (ratio**2).mean() == pytest.approx(law.moment(2), abs=error * law.deviation(2))
    logs = np.log(ratio[ratio > 0])
    assert logs.mean() == pytest.approx(law.log_mean, abs=error * law.log_deviation)
    assert logs.std() == pytest.approx(law.log_deviation, rel=0.05)
    assert law.skewness() == pytest.approx(np.mean((ratio - ratio.mean()) ** 3) / ratio.std() ** 3, rel=0.5)


def test_depth_0_changes_nothing():
    law = NormDistribution(5, 0)
    assert (law.moment(1), law.moment(2), law.log_mean) == (1.0, 1.0, 0.0)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="width 0"):
        NormDistribution(0, 3)
    with pytest.raises(ValueError, match="tanh"):
        NormDistribution(3, 3, "tanh")
