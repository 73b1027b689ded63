import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from leadline.convolution import (
    layer_correlation,
    layer_matrix,
    overlap_counts,
    transposed_convolution,
    transposed_size,
)

RNG = np.random.default_rng(0)
SETTINGS = list(itertools.product((1, 2, 3), (0, 1), (1, 2)))


@pytest.mark.parametrize(("stride", "padding", "dilation"), SETTINGS)
@pytest.mark.parametrize("sides", [(9,), (7, 8), (5, 6, 5)])
def test_it_is_the_adjoint_in_integers(sides, stride, padding, dilation):
    options = {"stride": stride, "padding": padding, "dilation": dilation}
    x, w = RNG.integers(-9, 10, (2, *sides)), RNG.integers(-9, 10, (3, 2, *(3, 2, 2)[: len(sides)]))
    forward = layer_correlation(x, w, **options)
    y = RNG.integers(-9, 10, forward.shape)
    sizes = [transposed_size(m, k, **options) for m, k in zip(y.shape[1:], w.shape[2:], strict=True)]
    extra = [n - m for n, m in zip(sides, sizes, strict=True)]
    assert all(0 <= e < stride for e in extra)
    if len(set(extra)) == 1:
        back = transposed_convolution(y, w, **options, extra=extra[0])
        assert (forward * y).sum() == (x * back).sum()
        assert np.array_equal(back.ravel(), layer_matrix(w, x.shape, **options).T @ y.ravel())
        assert np.array_equal(transposed_convolution(jnp.asarray(y), jnp.asarray(w), **options, extra=extra[0]), back)


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_it_is_the_backward_pass_and_jaxs_own(stride):
    x, w = jnp.asarray(RNG.normal(size=(2, 10))), jnp.asarray(RNG.normal(size=(3, 2, 4)))
    y, back = jax.vjp(lambda x: layer_correlation(x, w, stride=stride), x)
    size = transposed_size(y.shape[1], 4, stride=stride)
    found = transposed_convolution(y, w, stride=stride)
    np.testing.assert_allclose(found, back(y)[0][:, :size], atol=1e-4)
    kernel = w.transpose(2, 1, 0)  # taps, in of the convolution, out of it
    theirs = lax.conv_transpose(
        y[None], kernel, (stride,), "VALID", dimension_numbers=("NCH", "HIO", "NCH"), transpose_kernel=True
    )[0]
    np.testing.assert_allclose(found, theirs[:, :size], atol=1e-4)


@pytest.mark.parametrize(("kernel", "stride"), itertools.product(range(1, 8), range(1, 5)))
def test_overlaps_are_counted_by_ones(kernel, stride):
    ones = transposed_convolution(np.ones((1, 9), int), np.ones((1, 1, kernel), int), stride=stride)[0]
    np.testing.assert_array_equal(overlap_counts(kernel, stride, 9), ones)


def test_impossible_sizes_are_refused():
    with pytest.raises(ValueError, match="at most 1"):
        transposed_size(4, 3, stride=2, extra=2)
    with pytest.raises(ValueError, match="smaller"):
        transposed_size(1, 2, padding=1)
    with pytest.raises(ValueError, match="whose adjoint"):
        transposed_convolution(np.ones((2, 4)), np.ones((3, 2, 3)))
