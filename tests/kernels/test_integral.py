"""Integral kernels against closed forms."""

import numpy as np
import pytest

from leadline import kernels


def test_gaussian_smoothing_gives_a_gaussian_wider_by_root_two():
    k = kernels.IntegralKernel(kernels.Gaussian(0.7), np.linspace(-8, 8, 321)[:, None], np.full(321, 0.05))
    x = np.array([[-1.0], [0.2], [1.5]])
    np.testing.assert_allclose(k(x, x), 0.7 * np.sqrt(np.pi) * kernels.Gaussian(0.7 * 2**0.5)(x, x), atol=1e-12)
    alpha = np.array([1.0, -2.0, 0.5])
    g = k.density(x, alpha)
    assert k.density_norm(g) == pytest.approx(kernels.rkhs_norm(k, x, alpha), rel=1e-12)
    np.testing.assert_allclose(k.function(g, x), k(x, x) @ alpha, atol=1e-12)


def test_steps_give_the_minimum_kernel():
    def steps(z, x):  # f(x) = ∫_0^x g
        return (z < x.T).astype(float)

    nodes = (np.arange(1000)[:, None] + 0.5) / 1000
    k = kernels.IntegralKernel(steps, nodes, np.full(1000, 1e-3))
    x = np.array([[0.25], [0.5], [1.0]])
    np.testing.assert_allclose(k(x, x), kernels.Minimum()(x, x), atol=1e-12)
