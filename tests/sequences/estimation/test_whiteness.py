import numpy as np
import pytest

from leadline.sequences import ljung_box


def test_it_is_the_formula_summed_by_hand():
    z = np.array([1.0, -1.0, 2.0, 0.0, -2.0])
    centred = z - z.mean()
    rho = [centred[k:] @ centred[:-k] / (centred @ centred) for k in (1, 2)]
    statistic = 5 * 7 * (rho[0] ** 2 / 4 + rho[1] ** 2 / 3)
    found = ljung_box(z, 2)
    np.testing.assert_allclose(found.statistic, statistic)
    np.testing.assert_allclose(found.p_value, np.exp(-statistic / 2))  # χ² of two degrees is exponential


def test_bad_input_is_told_in_a_sentence():
    with pytest.raises(ValueError, match="5 lags for a series of 3"):
        ljung_box(np.arange(3.0), 5)
    with pytest.raises(ValueError, match="constant series"):
        ljung_box(np.ones(4), 1)
