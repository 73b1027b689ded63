"""Gabor filters: waves under a Gaussian window, the textbook features for the orientation of edges."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

Images = Float[Array | np.ndarray, "n h w"]


class GaborBank(NamedTuple):
    """Filters over all pairs of an orientation and a wavelength, orientations running fastest."""

    filters: Float[np.ndarray, "f s s"]
    orientations: Float[np.ndarray, " f"]
    wavelengths: Float[np.ndarray, " f"]


def gabor_filter(
    size: int,
    wavelength: float,
    orientation: float = 0.0,
    *,
    width: float = 2.0,
    aspect: float = 1.0,
    phase: float = 0.0,
) -> Float[np.ndarray, "s s"]:
    """g(u, v) = exp(-(a² + γ² b²)/(2σ²)) cos(2π a/λ + ψ), (a, b) = (u, v) turned by θ; mean removed, norm 1.

    (u, v) are the column and the row counted from the centre, λ the wavelength in pixels, σ = `width`, γ = `aspect`,
    ψ = `phase`. The mean is removed so that plain brightness gives no response. Daugman 1985.

    >>> g = gabor_filter(5, 4.0)
    >>> g.shape, abs(float(g.sum())) < 1e-12, round(float((g**2).sum()), 12)
    ((5, 5), True, 1.0)
    """
    if size < 2 or not (wavelength > 0 and width > 0 and aspect > 0):
        raise ValueError(
            f"gabor_filter got size={size}, wavelength={wavelength}, width={width}, aspect={aspect}; "
            "give a size of 2 or more and positive numbers."
        )
    v, u = np.mgrid[:size, :size] - (size - 1) / 2
    a = u * np.cos(orientation) + v * np.sin(orientation)
    b = v * np.cos(orientation) - u * np.sin(orientation)
    g = np.exp(-(a**2 + aspect**2 * b**2) / (2 * width**2)) * np.cos(2 * np.pi * a / wavelength + phase)
    g = g - g.mean()
    norm = np.linalg.norm(g)
    if norm < 1e-12:
        raise ValueError(f"The filter of size {size} and wavelength {wavelength} is constant; choose another phase.")
    return g / norm


def gabor_bank(
    size: int, wavelengths: Sequence[float], orientations: int = 8, *, width: float = 2.0, aspect: float = 1.0
) -> GaborBank:
    """A filter for every wavelength and every orientation 0, π/m, ..., (m - 1)π/m.

    >>> gabor_bank(5, (3.0, 6.0), 8).filters.shape
    (16, 5, 5)
    """
    if orientations < 1 or not len(wavelengths):
        raise ValueError("gabor_bank needs at least one orientation and one wavelength.")
    angles = np.tile(np.arange(orientations) * np.pi / orientations, len(wavelengths))
    waves = np.repeat(np.asarray(wavelengths, float), orientations)
    filters = [
        gabor_filter(size, wave, angle, width=width, aspect=aspect) for wave, angle in zip(waves, angles, strict=True)
    ]
    return GaborBank(np.stack(filters), angles, waves)


def filter_responses(images: Images, filters: Float[np.ndarray, "f s s"]) -> Float[np.ndarray, "n f h w"]:
    """The correlation of every image with every filter at every pixel, with zeros around the image.

    >>> filter_responses(np.ones((1, 4, 4)), np.ones((1, 3, 3)))[0, 0, 0].tolist()
    [4.0, 6.0, 6.0, 4.0]
    """
    images = np.asarray(images)
    size = filters.shape[-1]
    before, after = (size - 1) // 2, size // 2
    padded = np.pad(images, ((0, 0), (before, after), (before, after)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(1, 2))  # (n, h, w, s, s)
    responses = np.tensordot(windows, filters.astype(images.dtype), axes=((3, 4), (1, 2)))
    return np.moveaxis(responses, -1, 1)


def gabor_features(
    images: Images, bank: GaborBank, *, stride: int = 2, averaged: bool = True
) -> Float[np.ndarray, "n p"]:
    """|response| of every filter on a coarser grid, in one row for each image.

    Each block of stride x stride pixels gives its mean, or without `averaged` its first pixel.

    >>> gabor_features(np.ones((3, 8, 8)), gabor_bank(5, (4.0,), 4)).shape
    (3, 64)
    """
    n, h, w = np.shape(images)
    if stride < 1 or h % stride or w % stride:
        raise ValueError(f"gabor_features got stride {stride} for images of {h} x {w}; it must divide both.")
    modulus = np.abs(filter_responses(images, bank.filters))
    blocks = modulus.reshape(n, len(bank.filters), h // stride, stride, w // stride, stride)
    coarse = blocks.mean(axis=(3, 5)) if averaged else blocks[:, :, :, 0, :, 0]
    return coarse.reshape(n, -1)
