"""The binary symmetric channel against the binomial law, capacity against a numerical maximum."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from leadline.neurons import coding
from leadline.neurons.coding.channel import binary_entropy, binary_symmetric_channel


def test_flips_are_binomial_and_hit_zeros_and_ones_alike():
    bits = jnp.arange(200_000) % 2
    flips = np.asarray(bits != binary_symmetric_channel(bits, 0.03, key=jax.random.key(0)))
    for value in (0, 1):
        count = int(flips[value::2].sum())
        assert scipy.stats.binomtest(count, 100_000, 0.03).pvalue > 1e-4


@pytest.mark.parametrize("eps", [0.0, 0.01, 0.11, 0.5, 0.9, 1.0])
def test_capacity_is_the_largest_mutual_information_over_input_distributions(eps):
    transition = np.array([[1 - eps, eps], [eps, 1 - eps]])

    def information(p):
        joint = np.array([[1 - p], [p]]) * transition
        return scipy.stats.entropy(joint.sum(0), base=2) - scipy.stats.entropy(transition[0], base=2)

    best = scipy.optimize.minimize_scalar(lambda p: -information(p), bounds=(0, 1), method="bounded")
    assert float(coding.channel_capacity(eps)) == pytest.approx(-best.fun, abs=1e-8)


def test_binary_entropy_is_that_of_scipy():
    p = np.linspace(0, 1, 11)
    np.testing.assert_allclose(binary_entropy(p), scipy.stats.entropy([p, 1 - p], base=2), atol=1e-12)


def test_a_probability_outside_the_unit_interval_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        binary_symmetric_channel(jnp.zeros(3, int), 1.5, key=jax.random.key(0))
