import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.convolution import (
    AlgorithmTuner,
    correlate,
    layer_correlation,
    layer_work,
    merged_kernel,
    spread_taps,
    windows,
)

RNG = np.random.default_rng(0)
ALGORITHMS = ("taps", "im2col", "fft", "xla")


def by_loop(x, w, stride, padding, dilation):
    x = np.pad(x, [(0, 0)] + [(padding, padding)] * (x.ndim - 1))
    reach = [dilation * (k - 1) for k in w.shape[2:]]
    sides = [(n - r - 1) // stride + 1 for n, r in zip(x.shape[1:], reach, strict=True)]
    y = np.zeros((len(w), *sides), np.result_type(x, w))
    for c, *i in np.ndindex(*y.shape):
        for r, *k in np.ndindex(*w.shape[1:]):
            y[(c, *i)] += w[(c, r, *k)] * x[(r, *(np.array(i) * stride + np.array(k) * dilation))]
    return y


@pytest.mark.parametrize(("stride", "padding", "dilation"), itertools.product((1, 2, 3), (0, 1), (1, 2)))
@pytest.mark.parametrize("sides", [(9,), (7, 6)])
def test_all_algorithms_are_the_loop(sides, stride, padding, dilation):
    x, w = RNG.normal(size=(2, *sides)), RNG.normal(size=(3, 2, *(3, 2)[: len(sides)]))
    expected = by_loop(x, w, stride, padding, dilation)
    options = {"stride": stride, "padding": padding, "dilation": dilation}
    for name in ALGORITHMS[:3]:
        np.testing.assert_allclose(layer_correlation(x, w, algorithm=name, **options), expected, atol=1e-12)
    for name in ALGORITHMS:
        found = layer_correlation(jnp.asarray(x), jnp.asarray(w), algorithm=name, **options)
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_integers_stay_exact():
    x, w = RNG.integers(-9, 10, (2, 6, 6)), RNG.integers(-9, 10, (3, 2, 3, 3))
    for name in ("taps", "im2col", "xla"):
        assert np.array_equal(layer_correlation(x, w, algorithm=name), by_loop(x, w, 1, 0, 1))


def test_wrapping_is_circular_correlation():
    x, w = RNG.integers(-9, 10, (1, 8, 8)), RNG.integers(-9, 10, (1, 1, 3, 3))
    y = layer_correlation(x, w, padding=1, wrap=True)[0]
    np.testing.assert_array_equal(np.roll(y, (-1, -1), (0, 1)), correlate(x[0], w[0, 0], "circular"))


def test_a_batch_goes_through_by_vmap():
    x, w = jnp.asarray(RNG.normal(size=(4, 2, 6))), jnp.asarray(RNG.normal(size=(3, 2, 3)))
    assert jax.vmap(lambda x: layer_correlation(x, w))(x).shape == (4, 3, 4)


def test_windows_hold_what_im2col_needs():
    x = RNG.normal(size=(2, 7, 6))
    found = windows(x, (3, 2), stride=2, dilation=2)
    assert found.shape == (2, 3, 2, 2, 2)
    assert found[1, 2, 1, 0, 1] == x[1, 4, 4]
    assert windows(x, (3, 2)).size == layer_work(x.shape, (1, 2, 3, 2), "im2col").buffer


def test_spread_taps_have_zeros_between():
    assert spread_taps(np.arange(1, 5).reshape(2, 2), 3).tolist() == [[1, 0, 0, 2], [0] * 4, [0] * 4, [3, 0, 0, 4]]
    assert spread_taps(np.ones((2, 2)), 2, axes=1).shape == (2, 3)


def test_direct_work_is_counted_product_by_product():
    assert layer_work((2, 9, 8), (3, 2, 3, 3), "taps").multiply_adds == 7 * 6 * 9 * 2 * 3
    assert layer_work((2, 9, 8), (3, 2, 3, 3), "taps", padding=1).multiply_adds == 9 * 8 * 9 * 2 * 3
    small, large = (layer_work((1, 64, 64), (1, 1, k, k), "fft").multiply_adds for k in (3, 31))
    assert small == large


def test_the_tuner_takes_the_least_of_its_timings_and_remembers():
    x, w = jnp.ones((1, 5, 5)), jnp.ones((1, 1, 2, 2))
    seconds = iter([9.0, 4.0, 7.0, 8.0, 3.0, 5.0, 6.0, 8.0, 5.0, 5.0, 2.0, 8.0])
    now = [0.0, False]

    def clock():
        now[0] += next(seconds) if now[1] else 0.0
        now[1] = not now[1]
        return now[0]

    tuner = AlgorithmTuner(clock=clock)
    times = tuner.times(x, w)
    assert list(times.items()) == [("fft", 2.0), ("taps", 3.0), ("im2col", 4.0), ("xla", 8.0)]
    assert tuner.times(x, w) == times  # the clock has no more seconds
    assert tuner.fastest(x, w) == "fft"


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="larger input"):
        layer_correlation(np.ones((1, 4)), np.ones((1, 1, 3)), dilation=2)
    with pytest.raises(ValueError, match="as many axes"):
        layer_correlation(np.ones((2, 4)), np.ones((1, 1, 3)))
    with pytest.raises(ValueError, match="stride = 0"):
        layer_correlation(np.ones((1, 4)), np.ones((1, 1, 3)), stride=0)
    with pytest.raises(ValueError, match="give one of taps"):
        layer_correlation(np.ones((1, 4)), np.ones((1, 1, 3)), algorithm="winograd")


def test_two_layers_are_one_with_the_merged_kernel():
    x, first, second = (RNG.integers(-9, 10, s) for s in ((2, 8, 7), (3, 2, 3, 2), (4, 3, 2, 3)))
    both = layer_correlation(layer_correlation(x, first), second)
    np.testing.assert_array_equal(layer_correlation(x, merged_kernel(first, second)), both)
    with pytest.raises(ValueError, match="middle"):
        merged_kernel(second, first)
