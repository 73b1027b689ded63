"""The scattering transform of images: wavelets, modulus and averages, subsampled as far as the averages allow."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from leadline._checks import require_counts, require_numbers

from .filter_bank import FilterBank, morlet_bank_2d
from .paths import Path, scattering_paths

_CHUNK_BYTES = 2**22  # what a core keeps in its cache; 2**24 takes twice as long


@dataclass(frozen=True)
class Scattering2D:
    r"""Averages of images, of the moduli of their wavelet coefficients, and of the moduli of these again.

    $$S_0 x = x * \phi_J, \quad S_1 x = |x * \psi_{\lambda_1}| * \phi_J, \quad
    S_2 x = ||x * \psi_{\lambda_1}| * \psi_{\lambda_2}| * \phi_J$$

    with Morlet wavelets at `scales` J octaves and `angles` directions, at second order only those of lower frequency
    than the first, every $2^J$-th pixel of each average, images continued by mirroring (Bruna and Mallat, Invariant
    scattering convolution networks, 2013). Coefficients are those of kymatio 0.3.0. It is compiled once for each shape
    of batch, takes many images in pieces that fit into the cache of a core, and can be differentiated.

    >>> scattering = Scattering2D((32, 32), scales=2)
    >>> scattering(jnp.ones((3, 32, 32))).shape
    (3, 81, 8, 8)
    """

    shape: tuple[int, int]
    scales: int
    angles: int = 8
    max_order: int = 2

    def __post_init__(self):
        require_counts("Scattering2D", scales=self.scales, angles=self.angles)
        if self.max_order not in (1, 2):
            raise ValueError(f"Scattering2D got max_order = {self.max_order}; give 1 or 2.")
        if len(self.shape) != 2 or min(self.shape) < 2**self.scales:
            raise ValueError(
                f"Scattering2D got the shape {tuple(self.shape)} and {self.scales} scales; give two sides of at least "
                f"2^scales = {2**self.scales} pixels, or fewer scales."
            )

    @property
    def padded_shape(self) -> tuple[int, int]:
        """The sides of the mirrored image: one output pixel or more on either side, and a multiple of 2ᴶ."""
        step = 2**self.scales
        down, right = ((side // step + 2) * step for side in self.shape)
        return down, right

    @cached_property
    def bank(self) -> FilterBank:
        """The filters at full resolution, on the padded grid."""
        return morlet_bank_2d(self.padded_shape, self.scales, self.angles)

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """The path of each channel of the output: (), ((j, θ),) or ((j₁, θ₁), (j₂, θ₂))."""
        return scattering_paths(self.scales, self.angles, self.max_order)

    def __call__(self, images: Real[Array | np.ndarray, "*batch h w"]) -> Float[Array, "*batch paths h_out w_out"]:
        """Coefficients, (..., paths, h // 2ᴶ, w // 2ᴶ), in the precision of the images."""
        if np.shape(images)[-2:] != tuple(self.shape):
            raise ValueError(f"Scattering2D of {tuple(self.shape)} images got {np.shape(images)}; give (..., *shape).")
        require_numbers("Scattering2D", images=images)
        x = jnp.asarray(images)
        x = x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(jnp.result_type(float))
        filters = jax.tree.map(lambda leaf: jnp.asarray(leaf, x.dtype), self._filters)
        coefficients = _scatter(filters, x.reshape(-1, *self.shape), self.max_order)
        return coefficients.reshape(*x.shape[:-2], *coefficients.shape[1:])

    @cached_property
    def _filters(self) -> "_Filters":
        psi = self.bank.wavelets.reshape(self.scales, self.angles, *self.padded_shape)
        scales = range(self.scales)
        second = [[cut_spectrum(psi[j2], j1) for j2 in scales[j1 + 1 :]] for j1 in scales]
        return _Filters(list(psi), second, [averaging_matrices(self.bank.lowpass, self.scales, j) for j in scales])


class _Filters(NamedTuple):
    first: list  # of each scale j₁, (θ, h, w)
    second: list  # of each j₁, for each j₂ > j₁, on the grid halved j₁ times
    means: list  # of each j, the matrices that average rows and columns of a grid halved j times


def cut_spectrum(filters: Float[np.ndarray, "*k h w"], halvings: int) -> Float[np.ndarray, "*k h_now w_now"]:
    """The filters on a grid halved so often: of their Fourier transforms, the frequencies that it can hold."""
    for axis in (-2, -1):
        half = filters.shape[axis] // 2 ** (halvings + 1)
        ends = np.r_[0:half, filters.shape[axis] - half : filters.shape[axis]]
        filters = np.take(filters, ends, axis)
    return filters


def averaging_matrices(
    lowpass: Float[np.ndarray, "h w"], scales: int, halvings: int
) -> tuple[Float[np.ndarray, "h_out h_now"], Float[np.ndarray, "w_out w_now"]]:
    """Convolution with the window, every 2ᴶ-th pixel and the ends cut off, as a matrix for rows and one for columns.

    The Gaussian window is a product of both. `halvings` says how often the grid was halved before.
    """
    matrices = []
    cut = cut_spectrum(lowpass, halvings)
    for spectrum in (cut[:, 0], cut[0]):
        kernel = np.fft.ifft(spectrum / np.sqrt(lowpass[0, 0])).real
        at = np.arange(0, len(kernel), 2 ** (scales - halvings))[1:-1]
        matrices.append(kernel[(at[:, None] - np.arange(len(kernel))) % len(kernel)])
    return matrices[0], matrices[1]


@partial(jax.jit, static_argnames="max_order")
def _scatter(filters, images, max_order):
    """All coefficients of a batch, piece by piece."""
    angles, h, w = filters.first[0].shape
    chunk = max(1, _CHUNK_BYTES // (angles**2 * h * w * 2 * images.dtype.itemsize))
    if len(images) <= chunk:
        return _scatter_piece(filters, images, max_order)
    return jax.lax.map(lambda image: _scatter_piece(filters, image[None], max_order)[0], images, batch_size=chunk)


def _scatter_piece(filters, images, max_order):
    (h, w), J = filters.first[0].shape[1:], len(filters.means)
    room = [((size - side) // 2, (size - side + 1) // 2) for size, side in zip((h, w), images.shape[1:], strict=True)]
    x = jnp.pad(images, [(0, 0), *room], mode="reflect")
    x_hat = jnp.fft.fft2(x)[:, None]  # (b, 1, h, w)
    first, second = [_average(x, filters.means[0])[:, None]], []
    for j1 in range(J):
        u1 = jnp.abs(_filtered(x_hat, filters.first[j1], 2**j1))  # (b, θ₁, h/2^j₁, w/2^j₁)
        first.append(_average(u1, filters.means[j1]))
        if max_order == 1 or j1 == J - 1:
            continue
        u1_hat = jnp.fft.fft2(u1)[:, :, None]  # (b, θ₁, 1, ...)
        moduli = [jnp.abs(_filtered(u1_hat, psi, 2**k)) for k, psi in enumerate(filters.second[j1], start=1)]
        averages = [_average(u2, filters.means[j1 + k]) for k, u2 in enumerate(moduli, start=1)]
        block = jnp.concatenate(averages, 2)  # (b, θ₁, (j₂, θ₂), h_out, w_out)
        second.append(block.reshape(len(images), -1, *block.shape[3:]))
    return jnp.concatenate([*first, *second], 1)


def _filtered(spectrum, psi, step):
    """Every `step`-th pixel of x * ψ: the folded product of the spectra, transformed back."""
    product = spectrum * psi
    *batch, h, w = product.shape
    folded = product.reshape(*batch, step, h // step, step, w // step).mean((-4, -2)) if step > 1 else product
    return jnp.fft.ifft2(folded)


def _average(u, matrices):
    """The window is a product of rows and columns, so that two small matrices average, subsample and cut at once."""
    rows, columns = matrices
    return rows @ (u @ columns.T)
