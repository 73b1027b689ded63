import jax
import numpy as np
import pytest
from scipy import stats

from leadline import data


def test_the_best_rule_errs_with_the_stated_probability():
    x, y = data.gaussian_clouds(20_000, 3, 1.5, key=jax.random.key(0))
    errors = int(np.sum(np.sign(x[:, 0]) != y))
    assert stats.binomtest(errors, 20_000, stats.norm.sf(0.75)).pvalue > 1e-3


def test_clouds_are_standard_normal_around_their_centres():
    x, y = data.gaussian_clouds(5000, 2, 4.0, key=jax.random.key(1))
    centred = np.asarray(x) - np.outer(y, [2.0, 0.0])
    assert stats.kstest(centred[:, 0], stats.norm.cdf).pvalue > 1e-3
    assert stats.kstest(centred[:, 1], stats.norm.cdf).pvalue > 1e-3


def test_empty_clouds_are_refused():
    with pytest.raises(ValueError, match="gaussian_clouds got"):
        data.gaussian_clouds(0, 2, 1.0, key=jax.random.key(0))
