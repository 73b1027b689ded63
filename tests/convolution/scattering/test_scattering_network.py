import jax.numpy as jnp
import numpy as np
import pytest

from leadline.convolution import (
    global_scattering,
    morlet_bank_1d,
    morlet_bank_2d,
    path_count,
    scattering_layers,
    scattering_paths,
    wavelet_transform,
    windowed_scattering,
)


def circular(x, kernel):
    """Circular convolution by its sum over positions."""
    out = np.zeros(x.shape, complex)
    for at in np.ndindex(*kernel.shape):
        out += kernel[at] * np.roll(x, at, axis=tuple(range(x.ndim)))
    return out


@pytest.mark.parametrize("bank", [morlet_bank_1d(16, 2), morlet_bank_2d((8, 6), 2, 3)])
def test_the_transform_is_a_sum_over_positions(bank):
    x = np.random.default_rng(0).normal(size=bank.shape)
    W = wavelet_transform(x, bank)
    np.testing.assert_allclose(W.lowpass, circular(x, np.fft.ifftn(bank.lowpass)).real, atol=1e-12)
    for band, psi in zip(W.bands, bank.wavelets, strict=True):
        np.testing.assert_allclose(band, circular(x, np.fft.ifftn(psi)), atol=1e-12)


def test_an_image_smaller_than_the_grid_is_mirrored():
    bank = morlet_bank_2d((20, 22), 2, 4)
    x = np.random.default_rng(1).normal(size=(3, 12, 16))
    mirrored = np.pad(x, ((0, 0), (4, 4), (3, 3)), mode="reflect")
    small, whole = wavelet_transform(x, bank), wavelet_transform(mirrored, bank)
    np.testing.assert_allclose(small.bands, whole.bands[..., 4:16, 3:19], atol=1e-13)
    np.testing.assert_allclose(small.lowpass, whole.lowpass[..., 4:16, 3:19], atol=1e-13)
    with pytest.raises(ValueError, match="no larger"):
        wavelet_transform(np.ones((24, 16)), bank)


@pytest.mark.parametrize("decreasing", [True, False])
def test_layers_are_their_paths_one_by_one(decreasing):
    bank = morlet_bank_2d((8, 8), 3, 2)
    x = np.random.default_rng(2).normal(size=(2, 8, 8))
    layers = scattering_layers(x, bank, 3, decreasing=decreasing)
    assert [len(layer.paths) for layer in layers] == [path_count(3, 2, m, decreasing=decreasing) for m in range(4)]
    for layer in layers[1:]:
        for n in (0, len(layer.paths) // 2, -1):
            u = x[1]
            for wavelet in layer.paths[n]:
                u = np.abs(np.fft.ifft2(np.fft.fft2(u) * bank.wavelets[wavelet]))
            np.testing.assert_allclose(layer.moduli[1, n], u, atol=1e-13)
    named = [tuple((int(bank.scales[n]), int(bank.directions[n])) for n in p) for layer in layers for p in layer.paths]
    assert named == list(scattering_paths(3, 2, 3, decreasing=decreasing))


def test_a_rising_bank_has_the_same_decreasing_paths():
    x = np.random.default_rng(3).normal(size=(8, 8))
    falling, rising = (scattering_layers(x, morlet_bank_2d((8, 8), 2, 2, rising=flag))[2] for flag in (False, True))
    np.testing.assert_allclose(np.sort(falling.moduli, axis=0), np.sort(rising.moduli, axis=0), atol=1e-13)


def test_averages_are_means_and_windows():
    bank = morlet_bank_1d(32, 2)
    x = np.random.default_rng(4).normal(size=(3, 32))
    layers = scattering_layers(x, bank)
    whole, local = global_scattering(layers, bank), windowed_scattering(layers, bank)
    u = np.concatenate([layer.moduli for layer in layers], 1)
    np.testing.assert_allclose(whole, u.mean(-1), atol=1e-14)
    np.testing.assert_allclose(local[1, 2], circular(u[1, 2], np.fft.ifft(bank.lowpass)).real, atol=1e-13)


def test_a_batch_of_another_size_is_refused_and_single_precision_kept():
    bank = morlet_bank_1d(32, 2)
    with pytest.raises(ValueError, match="a bank of"):
        scattering_layers(np.ones(31), bank)
    assert scattering_layers(jnp.ones(32, jnp.float32), bank)[2].moduli.dtype == jnp.float32
