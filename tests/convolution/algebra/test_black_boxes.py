import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import ndimage

from leadline.convolution import convolve, identify_convolution

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(12,), (8, 10)])
def test_a_convolution_gives_away_its_kernel(shape):
    h = RNG.normal(size=shape)
    found = identify_convolution(lambda x: convolve(x, h, "circular"), shape, key=KEY)
    assert found.verdict == "convolution"
    np.testing.assert_allclose(found.kernel, h, atol=1e-12)
    assert found.prediction < 1e-12


def test_others_are_told_why_not():
    ramp = np.linspace(1, 2, 16)
    cases = {
        "shift-equivariant, not linear": lambda x: ndimage.maximum_filter1d(x, 3, mode="wrap"),
        "linear, not shift-equivariant": lambda x: ramp * x,
        "neither": lambda x: ramp * np.abs(x),
        "convolution inside a border": lambda x: np.convolve(x, [1.0, 2, 3], "same"),
        "not a map of this space": lambda x: x[::2],
    }
    for verdict, operator in cases.items():
        assert identify_convolution(operator, 16, key=KEY).verdict == verdict
    affine = identify_convolution(lambda x: x + 1, 16, key=KEY)
    assert affine.verdict == "shift-equivariant, not linear"
    assert identify_convolution(lambda x: RNG.normal(size=16), 16, key=KEY).reason.endswith("called again")
    assert "not finite" in identify_convolution(lambda x: x + np.nan, 16, key=KEY).reason


def test_zero_padding_keeps_the_kernel_inside():
    kernel = RNG.normal(size=(3, 3))
    found = identify_convolution(lambda x: ndimage.convolve(x, kernel, mode="constant"), (16, 16), key=KEY)
    assert (found.verdict, found.border) == ("convolution inside a border", 2)
    np.testing.assert_allclose(np.roll(found.kernel, (1, 1), (0, 1))[:3, :3], kernel, atol=1e-12)
    assert found.prediction < 1e-12


def test_single_precision_needs_a_wider_tolerance():
    found = identify_convolution(
        lambda x: convolve(jnp.asarray(x, jnp.float32), jnp.ones(3, jnp.float32), "circular"),
        9,
        key=KEY,
        tolerance=1e-4,
    )
    assert found.verdict == "convolution"
