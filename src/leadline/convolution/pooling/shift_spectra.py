"""What a shift does to an image by its spectrum: the relative change behind a linear filter, and what a stride aliases.

Frequencies are those of circular shifts: 2πk/n along each axis.
"""

import numpy as np
from jaxtyping import Float

Planes = Float[np.ndarray, "... height width"]


def filtered_change(
    images: Planes, shift: tuple[int, int], gains: Float[np.ndarray, "height width"] | None = None
) -> float:
    """‖h * Sx - h * x‖/‖h * x‖ of circularly shifted images, by Parseval, never moving a pixel:

    the root of Σ_ω |e^{-iω·D} - 1|² |H(ω)|² |X(ω)|² / Σ_ω |H(ω)|² |X(ω)|². `gains` are |H(ω)| (1 if not given).

    >>> x = np.array([[1.0, 0.0, 0.0, 0.0]])
    >>> [round(filtered_change(x, (0, 1), gains) ** 2, 9) for gains in (None, average_gains((1, 4), (1, 2)))]
    [2.0, 1.0]
    """
    power = np.abs(np.fft.fft2(images)) ** 2
    if gains is not None:
        power = power * gains**2
    angle = sum(
        d * 2 * np.pi * f for d, f in zip(shift, np.meshgrid(*_frequencies(images.shape), indexing="ij"), strict=True)
    )
    total = power.sum()
    if not total > 0:
        raise ValueError("The filtered images are zero, so that they have no relative change; give others.")
    return float(np.sqrt((power * 4 * np.sin(angle / 2) ** 2).sum() / total))


def average_gains(shape: tuple[int, ...], window: tuple[int, int]) -> Float[np.ndarray, "height width"]:
    """|H(ω)| of the mean over windows of `window` positions: |sin(rω/2)/(r sin(ω/2))| along each axis.

    >>> average_gains((1, 4), (1, 2)).round(3).tolist()
    [[1.0, 0.707, 0.0, 0.707]]
    """
    found = []
    for f, r in zip(_frequencies(shape), window, strict=True):
        top, bottom = np.sin(np.pi * r * f), r * np.sin(np.pi * f)
        found.append(np.abs(np.divide(top, bottom, out=np.ones_like(f), where=bottom != 0)))
    return np.outer(*found)


def energy_above_nyquist(planes: Planes, stride: int | tuple[int, int]) -> float:
    """The share of the energy of feature maps at frequencies of size above π/s along some axis, mean over maps removed:
    what a stride of s cannot represent and folds onto lower frequencies.

    >>> energy_above_nyquist(np.array([[1.0, -1.0, 1.0, -1.0]]), (1, 2)), energy_above_nyquist(np.eye(4), 1)
    (1.0, 0.0)
    """
    strides = (stride, stride) if isinstance(stride, int) else stride
    if min(strides) < 1:
        raise ValueError(f"The stride is {stride}; give 1 or more.")
    power = np.abs(np.fft.fft2(planes)) ** 2
    power[..., 0, 0] = 0.0
    total = power.sum()
    if not total > 0:
        return 0.0
    low = [np.abs(f) <= 0.5 / s + 1e-12 for f, s in zip(_frequencies(planes.shape), strides, strict=True)]
    return float(power[..., ~np.logical_and.outer(*low)].sum() / total)


def _frequencies(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Cycles per position along the last two axes."""
    return np.fft.fftfreq(shape[-2]), np.fft.fftfreq(shape[-1])
