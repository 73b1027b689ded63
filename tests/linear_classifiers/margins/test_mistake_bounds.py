import math

import numpy as np
import pytest

from leadline.linear_classifiers import margins
from leadline.linear_classifiers.margins.mistake_bounds import online_to_batch_bound


@pytest.mark.parametrize("n", range(1, 200))
def test_integers_survive_rounding_of_the_margin(n):
    assert margins.mistake_bound(1.0, 1 / math.sqrt(n)) == n
    assert margins.mistake_bound(1.0, np.nextafter(1 / math.sqrt(n), 1)) == n


def test_quotients_between_integers_are_rounded_down():
    assert margins.mistake_bound(2.0, 0.9) == 4  # 4.94
    assert margins.mistake_bound(1.0, 2.0) == 0


def test_the_bias_enters_as_a_longer_reference_and_longer_inputs():
    radius, bias, margin = 3.0, 0.5, 0.2
    # (w*, b) has norm sqrt(1 + b^2) and (x, 1) at most sqrt(R^2 + 1): the homogeneous bound for both normalised.
    homogeneous = margins.mistake_bound(math.hypot(radius, 1), margin / math.hypot(1, bias))
    assert margins.mistake_bound(radius, margin, bias=bias) == homogeneous


def test_the_random_stop_bound_counts_mistakes_per_example():
    assert online_to_batch_bound(2.0, 0.1, 3999) == pytest.approx(0.1)


@pytest.mark.parametrize(("radius", "margin"), [(0.0, 1.0), (1.0, 0.0), (1.0, -1.0), (math.inf, 1.0), (1.0, math.nan)])
def test_impossible_radii_and_margins_are_refused(radius, margin):
    with pytest.raises(ValueError, match="needs both above 0"):
        margins.mistake_bound(radius, margin)


def test_a_negative_sample_size_is_refused():
    with pytest.raises(ValueError, match="samples >= 0"):
        online_to_batch_bound(1.0, 0.1, -1)
