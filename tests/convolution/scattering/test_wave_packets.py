import numpy as np
import pytest

from leadline.convolution import dilated_modulus_change, fourier_modulus, wave_packet
from leadline.convolution.scattering.wave_packets import centred_grid, smooth_displacement


@pytest.mark.parametrize("direction", [0.0, 0.5, 2.0])
def test_the_change_of_the_modulus_is_the_overlap_of_its_bumps(direction):
    u, eta = centred_grid((64, 64)), 1.8 * np.array([np.cos(direction), np.sin(direction)])
    before = fourier_modulus(wave_packet(u, eta, 5.0, phase=0.3))
    for dilation in (0.01, 0.1, 0.2):
        after = fourier_modulus(wave_packet((1 - dilation) * u, eta, 5.0, phase=0.3))
        change = np.linalg.norm(after - before) / np.linalg.norm(before)
        np.testing.assert_allclose(change, dilated_modulus_change(dilation, 1.8, 5.0), rtol=1e-4)


def test_a_displacement_is_as_steep_as_it_says():
    u = centred_grid((40, 40))
    step = 1e-6
    field = [smooth_displacement(u + s * np.eye(2)[k], 0.2, period=16.0) for k in (0, 1) for s in (step, -step)]
    jacobian = np.stack([(field[0] - field[1]), (field[2] - field[3])], -1) / (2 * step)
    norms = np.linalg.norm(jacobian, ord=2, axis=(-2, -1))
    assert norms.max() <= 0.2 + 1e-6
    np.testing.assert_allclose(norms.max(), 0.2, rtol=0.01)
