"""Integral operators, the Fourier transform in cycles and convolution of functions, all from samples."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Num, Real

from leadline._arrays import namespace
from leadline._checks import require

from .discrete import convolve

Samples = Num[Array | np.ndarray, " _"]


def integral_matrix(
    kernel: Callable[[Any, Any], Any], outputs: Real[Array | np.ndarray, " m"], nodes: Real[Array | np.ndarray, " n"]
) -> Num[Array | np.ndarray, "m n"]:
    """(Tf)(u) = ∫ H(u, t) f(t) dt as a matrix that multiplies the samples of f, by the trapezoidal rule on `nodes`.

    The error is O(step²) where H(u, ·) f is smooth. H takes arrays that broadcast: a convolution is H(u, t) = h(u - t),
    with which equal steps of u and t give a Toeplitz matrix; the Fourier transform is H(u, t) = exp(-2πi u t).

    >>> t = np.linspace(0.0, 1.0, 201)
    >>> volterra = integral_matrix(lambda u, t: 1.0 * (t <= u), np.array([1.0]), t)  # ∫ from 0 to u
    >>> round(float((volterra @ t**2)[0]), 4)
    0.3333
    """
    require("integral_matrix", axes=1, outputs=outputs, nodes=nodes)
    xp = namespace(outputs, nodes)
    steps = xp.diff(nodes)
    if len(nodes) < 2 or (xp is np and not (steps > 0).all()):
        raise ValueError("integral_matrix needs two or more nodes in rising order; sort them and drop repeated ones.")
    weights = xp.concatenate([steps[:1], steps[1:] + steps[:-1], steps[-1:]]) / 2
    return kernel(outputs[:, None], nodes[None, :]) * weights


def sampled_convolution(f: Samples, h: Samples, spacing: float) -> Samples:
    """(f * h)(u) = ∫ f(t) h(u - t) dt from samples `spacing` apart: spacing · Σ_t f[t] h[u - t].

    Output k belongs to u = t_f + t_h + k · spacing, where t_f and t_h are the places of the first samples. The error is
    O(spacing²) for smooth functions that vanish at both ends, O(spacing) where they jump.

    >>> t = np.arange(-6.0, 6.0, 0.1)
    >>> bell = lambda t, variance: np.exp(-(t**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    >>> wide = sampled_convolution(bell(t, 0.36), bell(t, 0.64), 0.1)  # variances add
    >>> bool(np.allclose(wide[120], bell(0.0, 1.0), rtol=1e-9))
    True
    """
    require("sampled_convolution", axes=1, f=f, h=h)
    return _checked("sampled_convolution", spacing) * convolve(f, h)


class Spectrum(NamedTuple):
    """Values of the Fourier transform at frequencies in cycles per unit, in rising order."""

    frequencies: Real[Array | np.ndarray, " n"]
    values: Complex[Array | np.ndarray, " n"]


def fourier_transform(samples: Samples, spacing: float, start: float = 0.0) -> Spectrum:
    """(Ff)(u) = ∫ exp(-2πi t u) f(t) dt from samples at start + k · spacing, at the n frequencies of the DFT.

    Ff(u_k) ≈ spacing · exp(-2πi start u_k) DFT[k] with u_k = k / (n spacing): this factor links the DFT, which knows
    neither unit nor origin, with the integral. The exponent holds 2π, so that the inverse has no factor and
    F(f * h) = Ff · Fh.

    >>> t = np.arange(-8.0, 8.0, 0.125)
    >>> u, values = fourier_transform(np.exp(-np.pi * t**2), 0.125, start=-8.0)
    >>> bool(np.abs(values - np.exp(-np.pi * u**2)).max() < 1e-12)  # its own transform
    True
    """
    require("fourier_transform", axes=1, samples=samples)
    xp = namespace(samples)
    spacing = _checked("fourier_transform", spacing)
    u = xp.fft.fftfreq(len(samples), spacing)
    values = spacing * xp.exp(-2j * xp.pi * start * u) * xp.fft.fft(samples)
    return Spectrum(xp.fft.fftshift(u), xp.fft.fftshift(values))


def inverse_fourier_transform(spectrum: Spectrum, start: float = 0.0) -> Complex[Array | np.ndarray, " n"]:
    """f(t) = ∫ exp(2πi t u) Ff(u) du at the points start + k · step of which `fourier_transform` took its samples.

    >>> f = np.array([1.0, 3.0, 2.0])
    >>> bool(np.allclose(inverse_fourier_transform(fourier_transform(f, 0.5, start=2.0), start=2.0), f))
    True
    """
    u, values = spectrum
    xp = namespace(values)
    if len(u) < 2:
        raise ValueError("inverse_fourier_transform got one frequency, which tells no spacing; give two or more.")
    width = (u[1] - u[0]) * len(u)  # 1 / spacing
    return width * xp.fft.ifft(xp.fft.ifftshift(values * xp.exp(2j * xp.pi * start * u)))


def _checked(function: str, spacing: float) -> float:
    if not isinstance(spacing, jnp.ndarray) and not spacing > 0:
        raise ValueError(f"{function} got a spacing of {spacing:g}; give the distance of two samples, above 0.")
    return spacing
