"""Banks of wavelets with a low-pass window: what a wavelet transform and a scattering network filter with."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from leadline._checks import require_counts

from .morlet_wavelets import gabor_2d, gauss_1d, morlet_1d, morlet_2d

# kymatio divides by 2 · 3.1415 · width² for an integral of 1; with π our filters would differ from its by 3e-5.
_KYMATIO_PI = 3.1415


class FilterBank(NamedTuple):
    """Fourier transforms, real as the filters are symmetric: a low-pass window and wavelets, on one periodic grid.

    `scales` j: a wavelet's frequency is about 2⁻ʲ of the highest (or 2ʲ of the lowest where the bank is `rising`);
    `directions` θ number the angles; `frequencies` are wave vectors in radians a sample; `widths` are standard
    deviations of the envelopes in samples.
    """

    lowpass: Float[np.ndarray, "..."]
    wavelets: Float[np.ndarray, "k ..."]
    scales: Int[np.ndarray, " k"]
    directions: Int[np.ndarray, " k"]
    frequencies: Float[np.ndarray, "k d"]
    widths: Float[np.ndarray, " k"]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.lowpass.shape

    def normalised(self) -> "FilterBank":
        """All filters divided by the root of the largest Littlewood-Paley sum: then no transform adds energy.

        >>> float(littlewood_paley(morlet_bank_2d((32, 32), 2).normalised()).max().round(12))
        1.0
        """
        gain = 1 / math.sqrt(littlewood_paley(self).max())
        return self._replace(lowpass=gain * self.lowpass, wavelets=gain * self.wavelets)


def littlewood_paley(bank: FilterBank) -> Float[np.ndarray, "..."]:
    r"""What each frequency of a real signal keeps: $|\hat\phi(\omega)|^2 + \frac12 \sum_\lambda
    (|\hat\psi_\lambda(\omega)|^2 + |\hat\psi_\lambda(-\omega)|^2)$.

    Its extremes A and B bound the energy of the transform, $A \Vert x \Vert^2 \le \Vert Wx \Vert^2 \le B \Vert x
    \Vert^2$ (Mallat, A wavelet tour of signal processing, 2009).

    >>> sums = littlewood_paley(morlet_bank_1d(64, 3))
    >>> float(sums.min().round(2)), float(sums.max().round(2))
    (0.24, 1.0)
    """
    energies = (bank.wavelets**2).sum(0)
    axes = tuple(range(energies.ndim))
    mirrored = np.roll(np.flip(energies), 1, axes)  # at -ω
    return bank.lowpass**2 + (energies + mirrored) / 2


def morlet_bank_2d(shape: tuple[int, int], scales: int, angles: int = 8, *, rising: bool = False) -> FilterBank:
    r"""Morlet wavelets at `scales` octaves and `angles` directions of a half turn, and their Gaussian window.

    Scale j has frequency 3π/4 · 2⁻ʲ and width 0.8 · 2ʲ; the window has width $0.8 \cdot 2^{J-1}$ (Bruna and Mallat
    2013). The values are those of kymatio 0.3.0. With `rising`, j counts from the lowest frequency to the highest, as
    in $\psi_{2^j r}(u) = 2^{2j} \psi(2^j r^{-1} u)$; the filters are the same in another order.

    >>> bank = morlet_bank_2d((32, 32), scales=2, angles=4)
    >>> bank.wavelets.shape, bank.scales.tolist()
    ((8, 32, 32), [0, 0, 0, 0, 1, 1, 1, 1])
    """
    require_counts("morlet_bank_2d", height=shape[0], width=shape[1], scales=scales, angles=angles)
    turned = [int(angles / 2 - 1) - theta for theta in range(angles)]
    rows = [(j, theta) for j in range(scales) for theta in range(angles)]
    waves = np.stack(
        [
            morlet_2d(shape, 0.8 * 2**j, 0.75 * math.pi / 2**j, turned[theta] * math.pi / angles, 4 / angles)
            for j, theta in rows
        ]
    )
    window = gabor_2d(shape, 0.8 * 2 ** (scales - 1), 0.0)
    gain = math.pi / _KYMATIO_PI
    j, theta = np.array(rows).T
    angle = math.pi / angles * np.array(turned)[theta]
    frequencies = (0.75 * math.pi / 2.0**j)[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
    wavelets = gain * np.fft.fft2(waves).real
    bank = FilterBank(gain * np.fft.fft2(window).real, wavelets, j, theta, frequencies, 0.8 * 2.0**j)
    if not rising:
        return bank
    order = np.argsort(-j, kind="stable")
    fields = (bank.wavelets, scales - 1 - bank.scales, bank.directions, bank.frequencies, bank.widths)
    return FilterBank(bank.lowpass, *(field[order] for field in fields))


def morlet_bank_1d(length: int, scales: int, per_octave: int = 1, averaging: float | None = None) -> FilterBank:
    r"""Morlet wavelets of signals: `per_octave` of them in each of about `scales` octaves, then evenly spaced to 0.

    The Gaussian window averages over about `averaging` samples, $2^J$ unless said. A wavelet's scale is the number of
    times that its output may be halved without aliasing. The values are those of kymatio 0.3.0 (Lostanlen 2017).

    >>> bank = morlet_bank_1d(64, scales=3, per_octave=2)
    >>> (bank.frequencies[:, 0] / (2 * np.pi)).round(3).tolist()
    [0.35, 0.247, 0.175, 0.124, 0.088, 0.062, 0.031]
    """
    require_counts("morlet_bank_1d", length=length, scales=scales, per_octave=per_octave)
    narrowest = 0.1 / 2**scales
    ratio = 2 ** (-1 / per_octave)
    # Neighbours cross where each has fallen to half of its energy.
    relative_width = (1 - ratio) / (1 + ratio) / math.sqrt(math.log(2))
    highest = max(1 / (1 + 2 ** (3 / per_octave)), 0.35)
    centres, widths = [], []
    elbow = relative_width * highest
    if elbow > narrowest:
        centres, widths = [highest], [elbow]
        while widths[-1] > narrowest / ratio:
            centres.append(centres[-1] * ratio)
            widths.append(widths[-1] * ratio)
        elbow = centres[-1]
    centres += [elbow * (1 - q / per_octave) for q in range(1, per_octave)]
    widths += [narrowest] * (per_octave - 1)
    if not centres:
        raise ValueError(
            f"morlet_bank_1d got {scales} scales, too few for a wavelet with {per_octave} an octave; give more."
        )
    spans = [min(xi + 5 * sigma, 0.5) for xi, sigma in zip(centres, widths, strict=True)]
    return FilterBank(
        gauss_1d(length, 0.1 / (2**scales if averaging is None else averaging)),
        np.stack([morlet_1d(length, xi, sigma) for xi, sigma in zip(centres, widths, strict=True)]),
        np.array([math.floor(-math.log2(span)) - 1 for span in spans]),
        np.zeros(len(centres), int),
        2 * math.pi * np.array(centres)[:, None],
        1 / (2 * math.pi * np.array(widths)),
    )
