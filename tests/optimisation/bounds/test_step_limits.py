import numpy as np
import pytest

from leadline.optimisation import check_step, growth_factor
from leadline.optimisation.bounds.step_limits import stable_step_limit


@pytest.mark.parametrize("method", ["gradient descent", "heavy ball", "nesterov"])
def test_factor_is_the_spectral_radius_and_passes_one_at_the_limit(method):
    for momentum in (0.0, 0.3, 0.9):
        limit = stable_step_limit(method, 7.0, momentum)
        assert (
            growth_factor(method, 0.999 * limit, 7.0, momentum)
            < 1
            < growth_factor(method, 1.001 * limit, 7.0, momentum)
        )
        for step in (0.2 * limit, 1.3 * limit):
            x = 7.0 * step
            b, c = {
                "gradient descent": (1 - x, 0.0),
                "heavy ball": (1 + momentum - x, momentum),
                "nesterov": ((1 + momentum) * (1 - x), momentum * (1 - x)),
            }[method]
            radius = np.abs(np.linalg.eigvals([[b, -c], [1.0, 0.0]])).max()
            assert growth_factor(method, step, 7.0, momentum) == pytest.approx(radius, rel=1e-7)


def test_the_printed_nesterov_step_is_told_before_it_runs():
    kappa = 10.0
    rho = (np.sqrt(kappa) - 1) / (np.sqrt(kappa) + 1)
    told = check_step("nesterov", 2 / 11, 10.0, rho)
    assert not told.stable
    assert told.factor == pytest.approx(1.5224, abs=1e-4)
    assert "breaks step < 2(1 + ρ)/((1 + 2ρ)L)" in told.sentence
    assert "1.5224" in told.sentence
    assert check_step("nesterov", 0.1, 10.0, rho).stable
    assert "do not fade" in check_step("gradient descent", 0.2, 10.0).sentence
    assert "does not descend" in check_step("gradient descent", -0.2, 10.0).sentence


def test_bad_input_is_told():
    for call in (
        lambda: stable_step_limit("newton", 1.0),
        lambda: stable_step_limit("heavy ball", 0.0),
        lambda: stable_step_limit("heavy ball", 1.0, 1.0),
    ):
        with pytest.raises(ValueError):
            call()
