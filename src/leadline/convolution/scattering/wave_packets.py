"""Wave packets known at every position, so that they are deformed without interpolation; Fourier moduli of these."""

import math

import numpy as np
from jaxtyping import Float

from leadline._checks import require_counts


def centred_grid(shape: tuple[int, int]) -> Float[np.ndarray, "h w 2"]:
    """Positions of the pixels, (down, right) from the middle of the image.

    >>> centred_grid((3, 3))[0, 2].tolist()
    [-1.0, 1.0]
    """
    require_counts("centred_grid", sides=shape)
    return np.stack(np.meshgrid(*(np.arange(side) - (side - 1) / 2 for side in shape), indexing="ij"), -1)


def wave_packet(
    positions: Float[np.ndarray, "*grid 2"], frequency: Float[np.ndarray, "2"], width: float, phase: float = 0.0
) -> Float[np.ndarray, "*grid"]:
    r"""$X(u) = e^{-|u|^2 / (2 \text{width}^2)} \cos(\eta \cdot u + \text{phase})$ at the given positions.

    At positions $u - \tau(u)$ it is the packet deformed by τ, exactly.

    >>> u = centred_grid((9, 9))
    >>> float(wave_packet(u, np.array([2.0, 0.0]), 3.0)[4, 4])
    1.0
    """
    u = np.asarray(positions)
    return np.exp(-(u**2).sum(-1) / (2 * width**2)) * np.cos(u @ np.asarray(frequency) + phase)


def fourier_modulus(images: Float[np.ndarray, "*batch h w"]) -> Float[np.ndarray, "*batch h w"]:
    r"""$|\hat X|$: the same for all circular shifts of an image, which change only phases.

    >>> bool(np.allclose(fourier_modulus(np.eye(4)), fourier_modulus(np.roll(np.eye(4), 1, axis=0))))
    True
    """
    return np.abs(np.fft.fft2(images))


def dilated_modulus_change(
    dilation: Float[np.ndarray, "*any"] | float, frequency: float, width: float
) -> Float[np.ndarray, "*any"] | float:
    r"""$\Vert |\hat X_\tau| - |\hat X| \Vert / \Vert \hat X \Vert$ of a wave packet dilated to $X((1 - \epsilon) u)$.

    $$\Bigl(1 + a^{-2} - \tfrac{4}{1 + a^2} e^{-\epsilon^2 |\eta|^2 \text{width}^2 / (2 (1 + a^2))}\Bigr)^{1/2},
    \quad a = 1 - \epsilon$$

    from the inner product of two Gaussian bumps of $|\hat X|$ around η and aη, where the bumps at η and -η do not
    meet. Once ε|η| exceeds the bandwidth 1 / width it is of order 1, however small ε is.

    >>> round(float(dilated_modulus_change(0.1, 2.0, 5.0)), 2)
    0.75
    """
    a = 1 - np.asarray(dilation, float)
    overlap = 2 / (1 + a**2) * np.exp(-((1 - a) ** 2) * frequency**2 * width**2 / (2 * (1 + a**2)))
    return np.sqrt(np.maximum(1 + a**-2 - 2 * overlap, 0.0))


def smooth_displacement(
    positions: Float[np.ndarray, "*grid 2"], steepness: float, *, period: float, angle: float = 0.7
) -> Float[np.ndarray, "*grid 2"]:
    r"""τ(u) = (steepness · period / 2π) e sin(2π e·u / period): a wave of displacements along e, with $\Vert \nabla
    \tau \Vert_\infty$ = steepness.

    >>> tau = smooth_displacement(centred_grid((64, 64)), 0.1, period=32.0)
    >>> bool(np.abs(tau).max() <= 0.1 * 32 / (2 * np.pi))
    True
    """
    e = np.array([math.cos(angle), math.sin(angle)])
    wave = np.sin(2 * math.pi / period * (np.asarray(positions) @ e))
    return steepness * period / (2 * math.pi) * wave[..., None] * e
