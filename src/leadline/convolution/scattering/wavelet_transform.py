"""The wavelet transform by Fourier: a signal or image under every filter of a bank, at full resolution."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, Real

from .filter_bank import FilterBank


class WaveletCoefficients(NamedTuple):
    """x * φ and x * ψ_λ for every wavelet λ."""

    lowpass: Float[Array, "..."]  # (*batch, *sides)
    bands: Complex[Array, "..."]  # (*batch, k, *sides)


def wavelet_transform(x: Real[Array | np.ndarray, "..."], bank: FilterBank) -> WaveletCoefficients:
    r"""$W x = (x * \phi,\ x * \psi_\lambda)_\lambda$, circular where x has the size of the bank's grid.

    A smaller x is continued by mirroring until it fills that grid, and the coefficients are cut back to its size.

    >>> from leadline.convolution import morlet_bank_2d
    >>> impulse = jnp.zeros((16, 16)).at[0, 0].set(1.0)
    >>> bank = morlet_bank_2d((16, 16), scales=2, angles=4)
    >>> W = wavelet_transform(impulse, bank)
    >>> W.bands.shape, bool(jnp.allclose(jnp.fft.fft2(W.lowpass).real, bank.lowpass, atol=1e-6))
    ((8, 16, 16), True)
    """
    x, room = fill_grid(x, bank)
    low, bands = _transform(x, jnp.asarray(bank.lowpass, x.dtype), jnp.asarray(bank.wavelets, x.dtype))
    return WaveletCoefficients(low[..., *room], bands[..., *room])


@jax.jit
def _transform(x, phi, psi):
    axes = tuple(range(-phi.ndim, 0))
    spectrum = jnp.fft.fftn(x, axes=axes)
    bands = jnp.fft.ifftn(jnp.expand_dims(spectrum, axes[0] - 1) * psi, axes=axes)
    return jnp.fft.ifftn(spectrum * phi, axes=axes).real, bands


def fill_grid(x: Real[Array | np.ndarray, "..."], bank: FilterBank) -> tuple[Array, tuple[slice, ...]]:
    """x mirrored until it fills the grid of the bank, and where in it x itself is."""
    sides, x = bank.shape, jnp.asarray(x)
    own = x.shape[-len(sides) :]
    if len(own) < len(sides) or any(a > b for a, b in zip(own, sides, strict=True)):
        raise ValueError(f"A bank on a grid of {sides} got x of shape {x.shape}; give (..., *sides) no larger than it.")
    if not jnp.issubdtype(x.dtype, jnp.floating):
        x = x.astype(jnp.result_type(float))
    before = [(b - a) // 2 for a, b in zip(own, sides, strict=True)]
    pads = [(p, b - a - p) for p, a, b in zip(before, own, sides, strict=True)]
    room = tuple(slice(p, p + a) for p, a in zip(before, own, strict=True))
    return jnp.pad(x, [(0, 0)] * (x.ndim - len(sides)) + pads, mode="reflect"), room
