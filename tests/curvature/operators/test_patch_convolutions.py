"""Convolutions as matrix products against XLA's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.curvature.operators.patch_convolutions import PatchConvolutions


@pytest.mark.parametrize(
    ("numbers", "x", "kernel", "settings"),
    [
        (("NCHW", "OIHW", "NCHW"), (3, 2, 7, 6), (4, 2, 3, 3), {"padding": "SAME"}),
        (("NHWC", "HWIO", "NHWC"), (3, 7, 6, 2), (3, 2, 2, 4), {"padding": "VALID", "window_strides": (2, 1)}),
        (("NWC", "OIW", "NCW"), (3, 9, 2), (4, 2, 3), {"padding": [(2, 1)], "rhs_dilation": (2,)}),
        (("NCHW", "OIHW", "NCHW"), (3, 4, 7, 6), (4, 2, 3, 3), {"padding": "SAME", "feature_group_count": 2}),
    ],
)
def test_every_layout_stride_padding_and_dilation(numbers, x, kernel, settings):
    rng = np.random.default_rng(0)
    x, kernel = rng.normal(size=x), rng.normal(size=kernel)
    settings = {"window_strides": (1,) * (x.ndim - 2)} | settings

    def convolve(x, kernel):
        return jax.lax.conv_general_dilated(x, kernel, dimension_numbers=numbers, **settings)

    def twice(x, kernel):
        return jnp.tanh(jax.jit(convolve)(x, kernel)), {"again": convolve(x, kernel)}

    found = PatchConvolutions(twice)(jnp.asarray(x), jnp.asarray(kernel))
    expected = twice(x, kernel)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    grouped = "feature_group_count" in settings
    program = str(jax.make_jaxpr(PatchConvolutions(convolve))(x, kernel))
    assert ("conv_general_dilated" in program) == grouped


def test_functions_without_convolutions_are_called_as_they_are():
    def scaled(p, name):
        return p["w"] * {"twice": 2.0}[name]

    assert PatchConvolutions(scaled)({"w": jnp.ones(2)}, "twice").tolist() == [2.0, 2.0]
