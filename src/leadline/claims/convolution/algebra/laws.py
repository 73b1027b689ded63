"""Laws of the product: it commutes, associates, is linear in both factors, and becomes a product of spectra."""

import numpy as np

from leadline import convolution, data
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly
from leadline.presentation import figure


@claim(sources=("eth", "sheet", "penn"))
def convolution_commutes(key, length: Int(3, 20) = 9, taps: Int(2, 8) = 4, largest: Int(1, 1000) = 9):
    r"""Convolution commutes, correlation does not.

    Signal and kernel may be exchanged in the full and in the circular convolution. Exchanging them in a correlation
    reverses the result, and what "same" and "valid" keep depends on which of the two is the signal.

    $$f * h = h * f$$

    Assumes: finite support (or integrable functions).

    Check: Integers; f ∗ h by sliding h, h ∗ f by the Toeplitz matrix of f, in one and two dimensions.
    """
    rng = data.generator(key)
    for axes, name in ((1, "one dimension"), (2, "two dimensions")):
        f, h = (rng.integers(-largest, largest + 1, (size,) * axes) for size in (length, taps))
        matrix = convolution.convolution_matrix(f, h.shape)
        yield exactly(convolution.convolve(f, h).ravel(), matrix @ h.ravel(), f"{name}: f ∗ h against h ∗ f, full")
        h = rng.integers(-largest, largest + 1, f.shape)
        matrix = convolution.convolution_matrix(f, h.shape, "circular")
        around = convolution.convolve(f, h, "circular").ravel()
        yield exactly(around, matrix @ h.ravel(), f"{name}: f ∗ h against h ∗ f, circular")
    f, h = rng.integers(1, largest + 1, length), rng.integers(1, largest + 1, taps)
    f[0], h[0] = largest + 1, largest + 2  # so that nothing is a palindrome
    one, other = convolution.correlate(f, h), convolution.correlate(h, f)
    yield exactly(other, one[::-1], "h ⋆ f: f ⋆ h in reverse order")
    f3, h3 = np.array([2, -1, 1]), np.array([1, 1, 2])
    apart = np.abs(convolution.correlate(f3, h3) - convolution.correlate(h3, f3)).max()
    yield at_least(apart, 1, "(2, −1, 1) ⋆ (1, 1, 2), exchanged: largest difference")
    sizes = [len(convolution.convolve(a, b, "same")) for a, b in ((f, h), (h, f))]
    yield exactly(sizes, [length, taps], '"same" keeps as many as the first has: f ∗ h, h ∗ f')
    inside = max(length - taps, taps - length) + 1
    long, short = (f, h) if length >= taps else (h, f)
    yield exactly(
        len(convolution.convolve(long, short, "valid")), inside, '"valid": positions of the shorter in the longer'
    )
    matrix = convolution.convolution_matrix(f, taps)
    lags = np.arange(length + taps - 1)
    lines = {"f ∗ h": (lags, convolution.convolve(f, h)), "f ⋆ h": (lags, one)}
    points = {"h ∗ f": (lags, matrix @ h), "h ⋆ f": (lags, other)}
    title = "Exchanged, the convolution is the same and the correlation runs backwards"
    yield figure.curves(title, "position", "value", lines=lines, points=points)


@claim(sources=("penn",))
def convolution_bilinear_associative(
    key, side: Int(10, 24) = 14, first: Int(1, 5) = 3, second: Int(1, 5) = 3, channels: Int(1, 6) = 3
):
    r"""Convolution is bilinear and associative.

    Two linear convolutional layers in a row are one layer, whose kernel is the convolution of theirs and has
    $k_1 + k_2 - 1$ taps a side. Zero padding between them breaks this near the border, wrapping does not.

    $$(f * g) * h = f * (g * h), \qquad (af + bg) * h = a(f * h) + b(g * h)$$

    Assumes: no activation and no stride stands between the layers.

    Check: Integers; two layers with several `channels`, on random images.
    """
    rng = data.generator(key)
    f, g, h = (rng.integers(-9, 10, size) for size in (side, first, second))
    left = convolution.convolve(convolution.convolve(f, g), h)
    yield exactly(
        left, convolution.convolution_matrix(convolution.convolve(g, h), side) @ f, "(f ∗ g) ∗ h, f ∗ (g ∗ h)"
    )
    a, b = (int(c) for c in rng.integers(-9, 10, 2))
    e = rng.integers(-9, 10, side)
    matrix = convolution.convolution_matrix(h, side)
    yield exactly(convolution.convolve(a * f + b * e, h), a * (matrix @ f) + b * (matrix @ e), "linear in the signal")
    k = rng.integers(-9, 10, second)
    both = a * (matrix @ f) + b * (convolution.convolution_matrix(k, side) @ f)
    yield exactly(convolution.convolve(f, a * h + b * k), both, "linear in the kernel")
    x = rng.normal(size=(channels, side, side))
    w1 = rng.normal(size=(channels + 1, channels, first, first))
    w2 = rng.normal(size=(2, channels + 1, second, second))
    merged = convolution.merged_kernel(w1, w2)
    yield exactly(merged.shape[2], first + second - 1, "taps a side of the merged kernel")
    stack = convolution.layer_correlation(convolution.layer_correlation(x, w1), w2)
    once = convolution.layer_correlation(x, merged)
    size = np.abs(stack).max()
    yield at_most(np.abs(stack - once).max() / size, 1e-12, "two layers against the merged one, without padding")
    gaps = {}
    for wrap in (True, False):
        p, q = first // 2, second // 2
        inner = convolution.layer_correlation(x, w1, padding=p, wrap=wrap)
        stack = convolution.layer_correlation(inner, w2, padding=q, wrap=wrap)
        once = convolution.layer_correlation(x, merged, padding=p + q, wrap=wrap)
        gaps[wrap] = np.abs(stack - once).max(0) / size
    aligned = first % 2 == 1 or second == 1  # an even first layer leaves another size to wrap around
    yield at_most(gaps[True].max(), 1e-12, "two layers against the merged one, with wrapped borders").given(
        aligned, "the first kernel is odd"
    )
    edge = second // 2 + second % 2  # outputs whose windows reach beyond the first layer's output
    inside = gaps[False][edge:-edge, edge:-edge]
    yield at_most(inside.max(), 1e-12, "two layers against the merged one, zero padding, away from the border")
    broken = first > 2 and second > 1  # two taps and one zero: all positions with any overlap
    at_border = gaps[False].max() - inside.max()
    yield at_least(at_border, 1e-6, "two layers against the merged one, zero padding, at the border").given(
        broken, "the first layer loses positions"
    )
    a, b = np.array([[1.0, 2, 1], [0, 0, 0], [-1, -2, -1]]), np.array([[0.0, 1, 0], [1, -4, 1], [0, 1, 0]])
    shown = {"edges, 3 × 3": a, "Laplacian, 3 × 3": b, "both, 5 × 5": convolution.convolve(a, b)}
    options = {"text": True, "diverging": True, "colour": "weight"}
    panels = [figure.heatmap(name, "column", "row", values=k, **options) for name, k in shown.items()]
    title = f"Two kernels in a row are one larger kernel; zero padding is off by {gaps[False].max():.2g} at the border"
    yield figure.beside(title, *panels, columns=3)


@claim(sources=("eth", "sheet"))
def convolution_theorem(
    key, length: Int(4, 2000) = 100, taps: Int(2, 500) = 30, narrow: Real(0.3, 1.0) = 0.5, wide: Real(0.3, 1.5) = 0.8
):
    r"""The convolution theorem.

    The Fourier transform turns convolution into multiplication, without a factor if 2π stands in the exponent. The
    product of two DFTs is the circular convolution; the linear one needs zero padding to n + m − 1 samples, or its end
    wraps around onto its beginning.

    $$F(f * h) = Ff \cdot Fh$$

    Assumes: f and h are integrable.

    Check: Noise of a given `length`, and two Gaussians, whose transforms are known, by quadrature.
    """
    rng = data.generator(key)
    taps = min(taps, length)
    f, h = rng.normal(size=length), rng.normal(size=taps)
    full = convolution.convolve(f, h)
    size = np.linalg.norm(f) * np.linalg.norm(h)
    yield at_most(
        np.abs(convolution.fft_convolve(f, h) - full).max() / size, 1e-12, "padded: error of the FFT, relative"
    )
    around = np.fft.ifft(np.fft.fft(f) * np.fft.fft(h, length)).real
    gap = np.abs(around - convolution.convolve(f, h, "circular")).max() / size
    yield at_most(gap, 1e-12, "not padded: distance to the circular convolution, relative")
    wrapped = np.abs(around - full[:length])
    yield at_most(wrapped[taps - 1 :].max() / size, 1e-12, "not padded: error behind the first m − 1 samples")
    yield at_least(wrapped[: taps - 1].max() / size, 1e-9, "not padded: error in the first m − 1 samples")
    f3, h3 = np.array([2, -1, 1]), np.array([1, 1, 2])
    unpadded = np.fft.ifft(np.fft.fft(f3) * np.fft.fft(h3)).real
    yield close(unpadded, [1, 3, 4], "(2, −1, 1) and (1, 1, 2) not padded, where 2, 1, 4, −1, 2 is right", atol=1e-12)
    step = min(narrow, wide) / 4
    half = int(np.ceil(9 * max(narrow, wide) / step))
    t = step * np.arange(-half, half + 1)
    bells = [np.exp(-((t / s) ** 2) / 2) / (s * np.sqrt(2 * np.pi)) for s in (narrow, wide)]
    both = convolution.sampled_convolution(*bells, step)
    u, values = convolution.fourier_transform(both, step, start=2 * t[0])
    product = np.exp(-2 * np.pi**2 * (narrow**2 + wide**2) * u**2)
    yield close(values.real, product, "Gaussians: F(f ∗ h) against Ff · Fh in closed form", atol=1e-8)
    apart = [convolution.integral_matrix(lambda u, t: np.exp(-2j * np.pi * u * t), u[::9], t) @ b for b in bells]
    gap = np.abs(apart[0] * apart[1] - values[::9]).max()
    yield at_most(gap, 1e-8, "Gaussians: F(f ∗ h) against the product of two integrals")
    n = np.arange(length)
    lines = {"zero-padded, the convolution": (n, full[:length])}
    points = {"not padded": (n, around)}
    title = f"Without padding the first {taps - 1} samples are wrong: the end has wrapped around"
    rules = {f"m − 1 = {taps - 1}": ("x", taps - 1)}
    yield figure.curves(title, "sample", "value", lines=lines, points=points, rules=rules)
