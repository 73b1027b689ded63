"""Kernels layer by layer against the network that ends there."""

import numpy as np

from leadline import infinite_width as iw


def test_kernels_through_depth_are_those_of_the_stacks():
    x = np.random.default_rng(0).normal(size=(4, 3))
    nngp, ntk = iw.kernels_through_depth("gelu", x, 2, 1.3, 0.2, first_W_std=0.8)
    stack = iw.dense_stack(2, "gelu", 1.3, 0.2, first_W_std=0.8)
    for found, expected in zip((nngp[2], ntk[2]), stack.kernel_fn(x, get=("nngp", "ntk")), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_correlations_of_inputs_of_equal_length_are_those_of_their_kernels():
    x = np.sqrt(3) * np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])
    nngp = iw.kernels_through_depth("erf", x, 3, 1.5, 0.0).nngp
    c = iw.correlations_through_depth("erf", 0.6, 3, 1.5, 0.0, variance=1.5**2)
    np.testing.assert_allclose(c, nngp[:, 0, 1] / nngp[:, 0, 0], rtol=1e-12)
