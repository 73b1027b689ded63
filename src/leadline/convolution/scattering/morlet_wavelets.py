"""Gabor and Morlet wavelets, and Gaussian windows, sampled on periodic grids of one and two dimensions."""

import math

import numpy as np
from jaxtyping import Complex, Float


def gabor_2d(
    shape: tuple[int, int], width: float, frequency: float, angle: float = 0.0, slant: float = 1.0
) -> Complex[np.ndarray, "h w"]:
    r"""A Gaussian of integral 1 times a plane wave, $\psi(u) = \theta(u) e^{i \eta \cdot u}$, periodic on the grid.

    θ has standard deviation `width` along η and width / slant across it; η has `frequency` radians a pixel and `angle`
    radians from the first axis to the second. Its origin is pixel (0, 0). On an infinite plane its mean is
    $e^{-\text{width}^2 |\eta|^2 / 2}$, not 0.

    >>> wave = gabor_2d((32, 32), width=2.0, frequency=0.9)
    >>> bool(abs(wave.sum() - np.exp(-(2.0 * 0.9) ** 2 / 2)) < 1e-12)
    True
    """
    _require_width(width, "gabor_2d")
    down, right = (np.arange(-2 * side, 3 * side, dtype=float) for side in shape)  # five periods hold the Gaussian
    along = np.cos(angle) * down[:, None] + np.sin(angle) * right
    across = np.cos(angle) * right - np.sin(angle) * down[:, None]
    envelope = np.exp(-(along**2 + (slant * across) ** 2) / (2 * width**2))
    values = envelope * np.exp(1j * frequency * along) * (slant / (2 * math.pi * width**2))
    return values.reshape(5, shape[0], 5, shape[1]).sum((0, 2))


def morlet_2d(
    shape: tuple[int, int], width: float, frequency: float, angle: float = 0.0, slant: float = 0.5
) -> Complex[np.ndarray, "h w"]:
    r"""`gabor_2d` minus what of its envelope makes the mean zero: $\theta(u) (e^{i \eta \cdot u} - \beta)$.

    >>> bool(abs(morlet_2d((32, 32), width=2.0, frequency=0.9).sum()) < 1e-14)
    True
    """
    wave, envelope = (gabor_2d(shape, width, f, angle, slant) for f in (frequency, 0.0))
    return wave - wave.sum() / envelope.sum() * envelope


def gauss_1d(length: int, width: float) -> Float[np.ndarray, " length"]:
    r"""Fourier transform $e^{-f^2 / (2 \text{width}^2)}$, f in cycles a sample, of a Gaussian window of sum 1.

    It is periodic in f, as the transform of a sampled window is. The values are those of kymatio's `gauss_1d`.

    >>> gauss_1d(8, 0.1).round(4).tolist()
    [1.0, 0.4578, 0.0439, 0.0009, 0.0, 0.0009, 0.0439, 0.4578]
    """
    return _unit_mass(_folded_gaussian(length, 0.0, width))


def morlet_1d(length: int, frequency: float, width: float) -> Float[np.ndarray, " length"]:
    r"""Fourier transform of a Morlet wavelet around `frequency` (cycles a sample), zero at f = 0.

    $$\hat\psi(f) \propto e^{-(f - \xi)^2 / (2 \text{width}^2)} - \kappa\, e^{-f^2 / (2 \text{width}^2)}$$

    It is scaled so that $\sum_t |\psi(t)| = 1$: |x * ψ| is at most the largest |x|. As kymatio's `morlet_1d`.

    >>> morlet_1d(8, 0.25, 0.1).round(3).tolist()
    [0.0, 0.438, 1.0, 0.458, 0.044, 0.001, -0.002, -0.019]
    """
    wave, window = _folded_gaussian(length, frequency, width), _folded_gaussian(length, 0.0, width)
    return _unit_mass(wave - wave[0] / window[0] * window)


def _folded_gaussian(length: int, centre: float, width: float) -> Float[np.ndarray, " length"]:
    """Σ_p exp(-(f + p - centre)²/(2 width²)) over as many whole p as single precision can see, at most 9."""
    _require_width(width, "morlet_1d and gauss_1d")
    periods = min(math.ceil(math.sqrt(-2 * width**2 * math.log(1e-7)) + 1), 5)
    f = np.arange((1 - periods) * length, periods * length) / length
    return np.exp(-((f - centre) ** 2) / (2 * width**2)).reshape(2 * periods - 1, length).sum(0)


def _unit_mass(transform: Float[np.ndarray, " length"]) -> Float[np.ndarray, " length"]:
    return transform / np.abs(np.fft.ifft(transform)).sum()


def _require_width(width: float, function: str) -> None:
    if not width > 0:
        raise ValueError(f"{function} got the width {width}; give a positive one.")
