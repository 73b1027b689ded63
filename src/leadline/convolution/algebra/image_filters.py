"""Filters for images: blur, sharpen, Sobel's edges, centre minus surround, and their frequency responses."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Complex, Float, Num, PRNGKeyArray

from leadline._arrays import namespace
from leadline._checks import require_axes, require_counts

from .discrete import Mode, convolve

Image = Num[Array | np.ndarray, "height width"]

FILTERS = {
    "identity": np.array([[0.0, 0, 0], [0, 1, 0], [0, 0, 0]]),
    "blur": np.ones((3, 3)) / 9,
    "sharpen": np.array([[0.0, -1, 0], [-1, 5, -1], [0, -1, 0]]),
    "sobel across": np.array([[1.0, 0, -1], [2, 0, -2], [1, 0, -1]]),
    "sobel down": np.array([[1.0, 2, 1], [0, 0, 0], [-1, -2, -1]]),
}


class Gradient(NamedTuple):
    """Steepest ascent of brightness at each pixel: its size, and its direction in radians from right towards down."""

    magnitude: Float[Array | np.ndarray, "height width"]
    direction: Float[Array | np.ndarray, "height width"]


def sobel_gradient(image: Image, mode: Mode = "valid") -> Gradient:
    """√(g_x² + g_y²) and atan2(g_y, g_x), with g_x and g_y by Sobel's two kernels: 8 times the slope a pixel.

    Each kernel is [1, 2, 1] along one axis, which smooths, times [1, 0, -1] along the other, which differentiates; one
    alone sees the slope along its own axis only.

    >>> ramp = np.add.outer(np.zeros(5), np.arange(5.0))  # brighter to the right
    >>> found = sobel_gradient(ramp)
    >>> found.magnitude[0, 0].item(), found.direction[0, 0].item()
    (8.0, 0.0)
    """
    require_axes("sobel_gradient", 2, image=image)
    xp = namespace(image)
    across, down = (convolve(image, FILTERS[f"sobel {way}"].astype(image.dtype), mode) for way in ("across", "down"))
    return Gradient(xp.hypot(across, down), xp.arctan2(down, across))


def gaussian_filter_kernel(sigma: float, radius: int | None = None) -> Float[np.ndarray, "side side"]:
    """exp(-(i² + j²)/(2σ²)) on a square grid, scaled to sum 1; cut off at `radius` (⌈4σ⌉ if not given) pixels.

    >>> gaussian_filter_kernel(1.0, 1).round(3).tolist()
    [[0.075, 0.124, 0.075], [0.124, 0.204, 0.124], [0.075, 0.124, 0.075]]
    """
    if not sigma > 0:
        raise ValueError(f"gaussian_filter_kernel got sigma = {sigma:g}; give a width in pixels above 0.")
    radius = max(int(np.ceil(4 * sigma)), 1) if radius is None else radius
    line = np.exp(-(np.arange(-radius, radius + 1) ** 2) / (2 * sigma**2))
    return np.outer(line, line) / line.sum() ** 2


def centre_surround_kernel(centre: float = 0.5, ratio: float = 1.6) -> Float[np.ndarray, "side side"]:
    """Centre minus surround: the difference of Gaussians of widths σ and ratio · σ pixels, which sums to 0.

    What the surround predicts is taken away (lateral inhibition in the retina): neighbours of natural images, which are
    much alike, become nearly uncorrelated (Rodieck 1965; Atick & Redlich 1992).

    >>> kernel = centre_surround_kernel(0.5, 1.6)
    >>> kernel.shape, round(abs(float(kernel.sum())), 12)
    ((9, 9), 0.0)
    """
    if not ratio > 1:
        raise ValueError(
            f"centre_surround_kernel got ratio = {ratio:g}; give a surround wider than the centre, above 1."
        )
    radius = max(int(np.ceil(4 * ratio * centre)), 1)
    return gaussian_filter_kernel(centre, radius) - gaussian_filter_kernel(ratio * centre, radius)


def frequency_response(kernel: Image, side: int) -> Complex[Array | np.ndarray, "side side"]:
    """k̂(ω) of a centred kernel at the side × side frequencies of the DFT, zero frequency in the middle.

    A kernel that is symmetric about its middle has real values.

    >>> np.abs(frequency_response(FILTERS["blur"], 3)).round(12).tolist()
    [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    require_axes("frequency_response", 2, kernel=kernel)
    require_counts("frequency_response", least=max(np.shape(kernel)), side=side)
    xp = namespace(kernel)
    padded = xp.pad(kernel, [(0, side - k) for k in kernel.shape])
    centred = xp.roll(padded, [-(k // 2) for k in kernel.shape], axis=(0, 1))
    return xp.fft.fftshift(xp.fft.fft2(centred))


def power_law_images(
    count: int, side: int, *, exponent: float = 1.0, key: PRNGKeyArray
) -> Float[np.ndarray, "count side side"]:
    """Gaussian noise with amplitude spectrum |ω|^-exponent, mean 0 and variance 1: like natural images at exponent 1.

    The sides wrap around (Field 1987 has the spectrum of natural images).

    >>> import jax
    >>> images = power_law_images(2, 16, key=jax.random.key(0))
    >>> images.shape, bool(np.allclose(images.std((1, 2)), 1.0))
    ((2, 16, 16), True)
    """
    from leadline.data import generator

    require_counts("power_law_images", count=count)
    require_counts("power_law_images", least=2, side=side)
    w = np.fft.fftfreq(side)
    size = np.hypot(w[:, None], w[None, :])
    size[0, 0] = np.inf
    noise = np.fft.fft2(generator(key).normal(size=(count, side, side)))
    images = np.fft.ifft2(noise * size**-exponent).real
    return images / images.std((1, 2), keepdims=True)


def neighbour_correlation(image: Num[np.ndarray, "*batch height width"]) -> Float[np.ndarray, "*batch"]:
    """Pearson's correlation of pixels with those one place to the right or below, with sides that wrap around.

    >>> float(neighbour_correlation(np.array([[1.0, -1.0], [-1.0, 1.0]])))
    -1.0
    """
    image = image - image.mean((-2, -1), keepdims=True)
    products = sum(image * np.roll(image, 1, axis) for axis in (-2, -1))
    return np.asarray(np.mean(products, (-2, -1)) / 2 / np.mean(image**2, (-2, -1)))
