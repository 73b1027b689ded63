"""Filters for images: blur, sharpen, edges, and the retina's centre and surround."""

import jax
import numpy as np

from leadline import convolution, data
from leadline.convolution.algebra.image_filters import neighbour_correlation, power_law_images
from leadline.evidence import Int, Real, at_least, at_most, close, erratum, exactly, mean, method, reference
from leadline.presentation import figure


@method(sources=("eth", "penn"))
def image_filters(key, side: Int(16, 64) = 32, width: Real(1.5, 4.0) = 2.5, angle: Real(0.0, 360.0) = 20.0):
    r"""Blur, sharpen and edge filters.

    A kernel whose numbers sum to 1 keeps the mean brightness. A blur damps high frequencies, and the image plus its
    difference from a blur sharpens. Each of Sobel's two kernels is a smoothing along one axis times a difference along
    the other; only both together give size and direction of an edge.

    $$(I * W)[i, j] = \sum_{k, l} I[i - k, j - l]\, W[k, l], \qquad \begin{pmatrix} 1 & 0 & -1 \\ 2 & 0 & -2 \\ 1 & 0
    & -1 \end{pmatrix} = \begin{pmatrix} 1 \\ 2 \\ 1 \end{pmatrix} \begin{pmatrix} 1 & 0 & -1 \end{pmatrix}$$

    Check: Noise images, the frequency responses of the filters, and smooth steps of a given `width` at every multiple
    of 15 degrees and at `angle`.
    """
    rng = data.generator(key)
    image = rng.integers(0, 256, (side, side)).astype(float)
    filters = convolution.FILTERS
    for name in ("blur", "sharpen"):
        after = convolution.convolve(image, filters[name], "circular").mean()
        yield close(after, image.mean(), f"{name}: mean brightness", rtol=1e-12)
    five = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]]) / 5
    sharper = image + 5 * (image - np.roll(convolution.convolve(image, five, "circular"), (-1, -1), (0, 1)))
    sharp = np.roll(convolution.convolve(image, filters["sharpen"], "circular"), (-1, -1), (0, 1))
    yield close(sharp, sharper, "sharpen: the image plus 5 times its difference from the mean of 5", atol=1e-9)
    w = np.fft.fftshift(np.fft.fftfreq(side))
    fast = np.maximum(np.abs(w[:, None]), np.abs(w)) > 0.25
    before, after = (
        np.abs(np.fft.fftshift(np.fft.fft2(a))) ** 2
        for a in (image, convolution.convolve(image, filters["blur"], "circular"))
    )
    gain = np.abs(convolution.frequency_response(filters["blur"], side)) ** 2
    kept = (before * gain)[fast].sum() / before[fast].sum()
    yield close(after[fast].sum() / before[fast].sum(), kept, "blur: share of the fast energy that is left", rtol=1e-9)
    yield at_most(kept, 1 / 9, "blur: that share, against 1/9 (one row of zeros lies among these frequencies)")
    across, down = filters["sobel across"], filters["sobel down"]
    yield exactly(across, np.outer([1, 2, 1], [1, 0, -1]), "Sobel across: a smoothing column times a difference row")
    yield exactly(down, across.T, "Sobel down: the transpose")
    angles = np.array([*range(0, 360, 15), angle])
    found, single = [], []
    at = np.arange(side) - (side - 1) / 2
    for degrees in angles:
        along = at[None] * np.cos(np.radians(degrees)) + at[:, None] * np.sin(np.radians(degrees))
        step = np.tanh(along / width)
        gradient = convolution.sobel_gradient(step)
        found.append(np.degrees(gradient.direction[side // 2 - 1, side // 2 - 1]))
        single.append(convolution.convolve(step, across, "valid")[side // 2 - 1, side // 2 - 1])
    off = np.abs((np.array(found) - angles + 180) % 360 - 180)
    turns = at_most(off, 1.0, "edges at all angles: error of the direction by both kernels, in degrees")
    yield turns
    apart = np.degrees(np.arccos(np.clip(np.sign(single) * np.cos(np.radians(angles)), -1, 1)))
    wrong = at_most(apart, 1.0, "edges at all angles: error of the direction by the printed kernel alone")
    yield erratum(
        wrong,
        of=turns,
        by="penn",
        prints="this kernel (Sobel across) measures the gradient independently in two directions",
    )
    library = convolution.layer_correlation(image[None], across[None, None, ::-1, ::-1], algorithm="taps")[0]
    yield exactly(library, convolution.convolve(image, across, "valid"), "the libraries' correlation, kernel flipped")
    yield _gallery(filters)


def _gallery(filters):
    digit = np.kron(data.digits_split().train_images[4].reshape(8, 8), np.ones((3, 3)))
    digit = np.roll(convolution.convolve(digit, filters["blur"], "circular"), (-1, -1), (0, 1))
    pictures = [("image", digit)]
    for name in ("blur", "sharpen", "sobel across", "sobel down"):
        pictures.append((name, np.roll(convolution.convolve(digit, filters[name], "circular"), (-1, -1), (0, 1))))
    for name in ("identity", "blur", "sharpen", "sobel across", "sobel down"):
        label = "response: 1" if name == "identity" else f"|response|: {name}"
        pictures.append((label, np.abs(convolution.frequency_response(filters[name], 24)) / 4))
    title = "A filter and its frequency response: blur keeps the middle, sharpen lifts the rest, Sobel one axis"
    return figure.images(title, images=pictures, columns=5, diverging=True)


@method(sources=("penn",))
def centre_surround_filter(
    key, side: Int(64, 256) = 256, images: Int(4, 16) = 6, centre: Real(0.4, 0.6) = 0.5, ratio: Real(1.1, 3.0) = 1.6
):
    r"""Centre minus surround.

    The difference of two Gaussians takes from each pixel what its surround predicts. Natural images have an amplitude
    spectrum of about 1/f, so that neighbours are alike; after the filter they are much less, and at a surround little
    wider than the centre hardly at all. The retina's first stage is wired like this.

    $$k = G_\sigma - G_{\rho\sigma}, \qquad \mathrm{corr} = \frac{\sum_\omega |\hat k(\omega)|^2 |\omega|^{-2} \cos
    2\pi\omega_1} {\sum_\omega |\hat k(\omega)|^2 |\omega|^{-2}}$$

    Check: Noise `images` with amplitudes 1/f; the correlation of neighbours measured on pixels, against the sum over
    frequencies. Of what was measured elsewhere, for a centre of 0.5 and 256 × 256 pixels, 0.13 at a ratio of 1.6 comes
    out, and 0.79 raw, 0.00 at 1.2 and 0.35 at 2.5 nearly: the sum is 0.796, 0.006 and 0.345.
    """
    drawn = power_law_images(images, side, key=jax.random.fold_in(key, 0))
    ratios = np.unique([1.2, ratio, 1.6, 2.5])
    kernels = {r: convolution.centre_surround_kernel(centre, float(r)) for r in ratios}
    predicted = {None: _neighbours(np.ones((1, 1)), side)} | {r: _neighbours(k, side) for r, k in kernels.items()}
    filtered = {None: drawn}
    filtered |= {r: np.stack([_filtered(image, k) for image in drawn]) for r, k in kernels.items()}
    found = {r: neighbour_correlation(batch) for r, batch in filtered.items()}
    for r, values in found.items():
        yield mean(values, predicted[r], f"correlation of neighbours, {_surround(r)}: pixels against frequencies")
    yield at_most(
        abs(np.array([found[r].mean() for r in ratios])),
        found[None].mean(),
        "size of the correlation of neighbours: filtered, against raw",
        strict=True,
    )
    yield at_least(
        np.diff([predicted[r] for r in ratios]), 0, "change with a wider surround: neighbours are more alike"
    )
    specified = side == 256 and centre == 0.5
    known = reference(predicted[1.6], 0.13, f"correlation of neighbours, {_surround(1.6)}", digits=2)
    yield known.given(specified, "256 × 256 pixels and a centre of 0.5")
    sums = [abs(float(k.sum())) for k in kernels.values()]
    yield at_most(sums, 1e-12, "sum of the kernel: a uniform image vanishes")
    lags = np.arange(9)
    points = {}
    for r in (None, ratio):
        batch = filtered[r] - filtered[r].mean((1, 2), keepdims=True)
        power = [np.mean(batch * np.roll(batch, int(d), 2)) / np.mean(batch**2) for d in lags]
        points["raw" if r is None else "filtered"] = (lags, power)
    lines = {
        name: (lags, [_neighbours(k, side, d) for d in lags])
        for name, k in (("raw", np.ones((1, 1))), ("filtered", kernels[ratio]))
    }
    curve = figure.curves("Autocorrelation", "distance across, pixels", "correlation", lines=lines, points=points)
    crop = slice(0, 48)
    pictures = [
        (name, (a[0, crop, crop] - a[0].mean()) / a[0].std())
        for name, a in (("raw", drawn), ("filtered", filtered[ratio]))
    ]
    shown = figure.images("An image", images=pictures, columns=2, diverging=True)
    raw, after = found[None].mean(), found[ratio].mean()
    title = f"Neighbours correlate by {raw:.2f} before and {after:.2f} after taking the surround away"
    yield figure.beside(title, shown, curve, columns=1)


def _surround(ratio):
    return "raw" if ratio is None else f"surround {ratio:.3g} times the centre"


def _filtered(image, kernel):
    spread = np.zeros_like(image)
    spread[: kernel.shape[0], : kernel.shape[1]] = kernel
    return np.fft.ifft2(np.fft.fft2(image) * np.fft.fft2(spread)).real


def _neighbours(kernel, side, distance=1):
    """The correlation at a distance across, from the power spectrum |k̂|²/|ω|²."""
    kernel = kernel[: side - 1 + side % 2, : side - 1 + side % 2]
    gain = np.fft.ifftshift(np.abs(convolution.frequency_response(kernel, side)) ** 2)
    w = np.fft.fftfreq(side)
    size = w[:, None] ** 2 + w[None] ** 2
    size[0, 0] = np.inf
    power = gain / size
    return float((power * np.cos(2 * np.pi * distance * w)).sum() / power.sum())
