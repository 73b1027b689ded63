import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import signal

from leadline.convolution import convolve, correlate, fft_convolve, flip, matching_scores
from leadline.convolution.algebra.discrete import padding_of_mode

RNG = np.random.default_rng(0)
MODES = ["full", "same", "valid", "circular"]
SHAPES = [((7,), (3,)), ((6,), (4,)), ((5,), (1,)), ((6, 5), (3, 2)), ((4, 5, 3), (2, 3, 1))]


def by_loop(f, h, mode):
    """Every product f[t] h[s] is put where t + s says, nothing else."""
    full = np.zeros(np.array(f.shape) + h.shape - 1, np.result_type(f, h))
    around = np.zeros_like(f)
    for t in np.ndindex(*f.shape):
        for s in np.ndindex(*h.shape):
            full[tuple(np.add(t, s))] += f[t] * h[s]
            around[tuple(np.add(t, s) % f.shape)] += f[t] * h[s]
    if mode == "circular":
        return around
    begin = {"full": np.zeros(h.ndim, int), "same": (np.array(h.shape) - 1) // 2, "valid": np.array(h.shape) - 1}[mode]
    size = {"full": full.shape, "same": f.shape, "valid": np.array(f.shape) - h.shape + 1}[mode]
    return full[tuple(slice(b, b + n) for b, n in zip(begin, size, strict=True))]


@pytest.mark.parametrize(("shapes", "mode"), itertools.product(SHAPES, MODES))
def test_all_modes_are_the_loop_in_integers(shapes, mode):
    f, h = (RNG.integers(-9, 10, s) for s in shapes)
    expected = by_loop(f, h, mode)
    for product in (convolve(f, h, mode), convolve(jnp.asarray(f), jnp.asarray(h), mode)):
        assert product.dtype == f.dtype or jnp.issubdtype(product.dtype, jnp.integer)
        np.testing.assert_array_equal(np.asarray(product), expected)
    np.testing.assert_array_equal(correlate(f, flip(h), mode) if mode != "circular" else expected, expected)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_correlation_is_scipys(mode):
    f, h = RNG.normal(size=(9, 8)), RNG.normal(size=(3, 4))
    np.testing.assert_allclose(correlate(f, h, mode), signal.correlate(f, h, mode, method="direct"), atol=1e-13)


def test_circular_correlation_has_indices_modulo_n():
    f, h = RNG.integers(-9, 10, 7), RNG.integers(-9, 10, 4)
    expected = [sum(f[(u + t) % 7] * h[t] for t in range(4)) for u in range(7)]
    assert correlate(f, h, "circular").tolist() == expected


def test_a_kernel_longer_than_the_signal_wraps_several_times():
    f, h = RNG.integers(-9, 10, 3), RNG.integers(-9, 10, 8)
    np.testing.assert_array_equal(convolve(f, h, "circular"), by_loop(f, h, "circular"))


@pytest.mark.parametrize("kind", [float, complex])
def test_the_fft_gives_the_same(kind):
    f, h = RNG.normal(size=(11, 6)).astype(kind), RNG.normal(size=(4, 3)) + (1j if kind is complex else 0)
    np.testing.assert_allclose(fft_convolve(f, h), convolve(f, h), atol=1e-12)
    np.testing.assert_allclose(fft_convolve(jnp.asarray(f), jnp.asarray(h)), convolve(f, h), atol=1e-4)


def test_it_can_be_differentiated():
    f, h = jnp.arange(5.0), jnp.array([1.0, 2.0])
    gradient = jax.grad(lambda h: convolve(f, h).sum())(h)
    np.testing.assert_allclose(gradient, [f.sum(), f.sum()])


def test_matching_scores_are_correlation_coefficients_of_windows():
    image, template = RNG.normal(size=(9, 8)) + 5, RNG.normal(size=(3, 2))
    scores = matching_scores(image, template)
    for i, j in np.ndindex(*scores.shape):
        window = image[i : i + 3, j : j + 2]
        assert scores[i, j] == pytest.approx(np.corrcoef(window.ravel(), template.ravel())[0, 1], abs=1e-10)


def test_a_constant_window_scores_nothing_and_a_constant_template_is_refused():
    image = np.r_[np.full(6, 7.0), 1.0, 2.0]
    assert matching_scores(image, np.array([1.0, 2.0]))[0] == 0
    with pytest.raises(ValueError, match="varies"):
        matching_scores(image, np.ones(2))


def test_padding_gives_the_modes():
    assert [padding_of_mode(2 * k + 1, mode) for k in (1, 3) for mode in MODES[:3]] == [2, 1, 0, 6, 3, 0]
    with pytest.raises(ValueError, match="no middle"):
        padding_of_mode(4, "same")


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="valid"):
        convolve(np.ones(2), np.ones(3), "valid")
    with pytest.raises(ValueError, match="as many axes"):
        convolve(np.ones(2), np.ones((2, 2)))
    with pytest.raises(ValueError, match="at least one element"):
        correlate(np.ones(0), np.ones(2))
