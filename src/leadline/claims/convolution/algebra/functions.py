"""Operators on functions, from samples: integral operators, the Fourier transform, convolution."""

import numpy as np
from scipy.special import ndtr

from leadline import convolution, data
from leadline.convolution.algebra.continuous import Spectrum
from leadline.evidence import Int, Real, at_least, at_most, close, method, slope
from leadline.presentation import figure


def bell(t, sigma):
    """The density of N(0, σ²)."""
    return np.exp(-(t**2) / (2 * sigma**2)) / (sigma * np.sqrt(2 * np.pi))


@method(sources=("eth", "sheet"))
def integral_operator(key, nodes: Int(50, 1000) = 400, width: Real(0.3, 1.5) = 0.5):
    r"""Integral operators and their matrices.

    A linear operator with a kernel H becomes, on nodes with trapezoidal weights, a matrix that multiplies samples. Its
    error falls as the square of the step where H and f are smooth. A kernel that depends on u − t alone gives a
    Toeplitz matrix: convolution. With $H = e^{-2\pi i u t}$ it is the Fourier transform.

    $$(Tf)(u) = \int_{t_1}^{t_2} H(u, t) f(t)\, dt$$

    Check: Volterra's operator on the cosine and a Gaussian kernel of a given `width` on 1, both on [0, 1], against
    closed forms, within the trapezoidal rule's error bound $\frac{h^2}{12} \max |\partial_t^2 (H f)|$.
    """

    def step_kernel(u, t):
        return np.heaviside(u - t, 0.5)  # half of the node at which it jumps

    def gaussian(u, t):
        return np.exp(-((u - t) ** 2) / (2 * width**2))

    cases = {
        "Volterra": (step_kernel, np.cos, np.sin, 1.0),
        "Gaussian": (
            gaussian,
            np.ones_like,
            lambda u: np.sqrt(2 * np.pi) * width * (ndtr((1 - u) / width) - ndtr(-u / width)),
            width**-2,
        ),
    }
    sizes = np.array([nodes // 8, nodes // 4, nodes // 2, nodes])
    errors = {}
    for name, (kernel, f, truth, curvature) in cases.items():
        errors[name] = []
        for n in sizes:
            t = np.linspace(0.0, 1.0, n + 1)
            u = t[1:-1]
            found = convolution.integral_matrix(kernel, u, t) @ f(t)
            errors[name].append(np.abs(found - truth(u)).max())
        bounds = curvature / (12 * sizes**2) + 1e-14
        yield at_most(errors[name], bounds, f"{name}: largest error, against the bound of the trapezoidal rule")
        yield slope(1 / sizes, errors[name], 2.0, f"{name}: error against step, slope on logarithms", within=0.05)
    t = np.linspace(0.0, 1.0, 41)
    toeplitz = convolution.integral_matrix(gaussian, t, t)
    general = convolution.integral_matrix(lambda u, t: np.minimum(u, t) * (1 - np.maximum(u, t)), t, t)
    inner = toeplitz[:, 1:-1]  # the first and the last node have half a weight
    yield at_most(np.abs(inner[1:, 1:] - inner[:-1, :-1]).max(), 1e-15, "h(u − t): largest change along a diagonal")
    inner = general[:, 1:-1]
    yield at_least(
        np.abs(inner[1:, 1:] - inner[:-1, :-1]).max() / general.max(),
        0.01,
        "min(u, t)(1 − max(u, t)): largest change along a diagonal",
    )
    t, u = np.linspace(-6.0, 6.0, nodes + 1), np.linspace(-2.0, 2.0, 9)
    waves = convolution.integral_matrix(lambda u, t: np.exp(-2j * np.pi * u * t), u, t)
    found, predicted = waves @ np.exp(-np.pi * t**2), np.exp(-np.pi * u**2)
    fine = 12 / nodes <= 0.2  # aliases lie at 1/h − 2 ≥ 3 cycles
    gap = np.abs(found - predicted).max()
    yield at_most(gap, 1e-11, "exp(−2πi ut) on exp(−πt²): distance to exp(−πu²)").given(fine, "steps of at most 0.2")
    panels = [
        figure.heatmap(name, "t", "u", values=m[:, 1:-1], xs=np.linspace(0, 1, 41)[1:-1].round(3), ys=names)
        for name, m, names in (
            ("h(u − t): Toeplitz", toeplitz, np.linspace(0, 1, 41).round(3)),
            ("Green's function of −d²/dt²", general, np.linspace(0, 1, 41).round(3)),
        )
    ]
    lines = {f"{name}: bound": (1 / sizes, c[3] / (12 * sizes**2)) for name, c in cases.items()}
    points = {f"{name}": (1 / sizes, errors[name]) for name in cases}
    panels.append(figure.curves("Error", "step", "largest error", lines=lines, points=points, log="xy"))
    title = "A kernel of u − t has constant diagonals, another has not; errors fall as the step squared"
    yield figure.beside(title, *panels)


@method(sources=("eth", "sheet"))
def fourier_transform(key, samples: Int(64, 1024) = 256, span: Real(8.0, 16.0) = 8.0, shift: Real(-1.0, 1.0) = 0.3):
    r"""The Fourier transform in cycles.

    With 2π in the exponent the inverse has no factor. The DFT of n samples, h apart from t₀ on, multiplied by
    $h e^{-2\pi i t_0 u}$, is the transform at n frequencies 1/(nh) apart, up to what lies outside the samples.

    $$(Ff)(u) = \int e^{-2\pi i t u} f(t)\, dt, \qquad (Ff)(u_k) \approx h\, e^{-2\pi i t_0 u_k} \mathrm{DFT}[k]$$

    Check: exp(−πt²), moved by `shift`, is its own transform up to a phase; a box becomes sin(πu)/(πu), exactly up to
    the factor x cot x (x = πuh) of its samples; Parseval's identity and the round trip on noise. The samples lie
    within `span` of 0.
    """
    samples -= samples % 2
    h = 2 * span / samples
    t = h * (np.arange(samples) - samples // 2)
    start = float(t[0])
    u, values = convolution.fourier_transform(np.exp(-np.pi * (t - shift) ** 2), h, start=start)
    bells = np.exp(-np.pi * u**2 - 2j * np.pi * shift * u)
    alias = 2 * np.exp(-np.pi / (2 * h) ** 2) + 2 * np.exp(-np.pi * (span - 1) ** 2)  # folded at 1/2h, cut at the ends
    yield at_most(np.abs(values - bells).max(), 3 * alias + 1e-12, "exp(−π(t − s)²): distance to its own transform")
    half = round(0.5 / h) * h  # a box that ends on a sample, which has half the height
    box = np.where(np.isclose(np.abs(t), half), 0.5, np.where(np.abs(t) < half, 1.0, 0.0))
    _, sinc = convolution.fourier_transform(box, h, start=start)
    x = np.pi * u * h
    exact = 2 * half * np.sinc(2 * half * u) * np.where(x == 0, 1.0, x / np.tan(np.where(x == 0, 1.0, x)))
    yield close(sinc.real, exact, "box: the transform of its samples, against sinc · x cot x", atol=1e-12)
    slow = np.abs(x) <= 1  # where 1 − x cot x ≤ x²/2
    off = np.abs(sinc - 2 * half * np.sinc(2 * half * u))[slow]
    yield at_most(off, (x**2 / 2)[slow] + 1e-12, "box: distance to sin(πu)/(πu), against (πuh)²/2")
    f = data.generator(key).normal(size=samples)
    spectrum = convolution.fourier_transform(f, h, start=start)
    energy = (np.abs(spectrum.values) ** 2).sum() / (samples * h)
    yield close(energy, (f**2).sum() * h, "Parseval: ∫|Ff|² du, against ∫|f|² dt", rtol=1e-12)
    back = convolution.inverse_fourier_transform(spectrum, start=start)
    yield close(back.real, f, "noise: there and back", atol=1e-10)
    direct = convolution.integral_matrix(lambda u, t: np.exp(-2j * np.pi * u * t), u[::7], np.r_[t, t[-1] + h])
    direct = direct @ np.r_[f, -f[0]] + h / 2 * np.exp(-2j * np.pi * u[::7] * start) * f[0]  # no node has half a weight
    direct += h / 2 * np.exp(-2j * np.pi * u[::7] * (t[-1] + h)) * f[0]
    yield at_most(np.abs(direct - spectrum.values[::7]).max(), 1e-10, "noise: distance to the integral as a sum")
    pairs = {
        "exp(−πt²)": (np.exp(-np.pi * t**2), np.exp(-np.pi * u**2)),
        "box": (box, np.sinc(2 * half * u) * 2 * half),
    }
    panels = []
    for name, (f, predicted) in pairs.items():
        near, low = np.abs(t) <= 2, np.abs(u) <= 4
        panels.append(figure.curves(name, "t", "f", lines={name: (t[near], f[near])}))
        found: Spectrum = convolution.fourier_transform(f, h, start=start)
        lines, points = {"predicted": (u[low], predicted[low])}, {"DFT, scaled": (u[low], found.values.real[low])}
        panels.append(figure.curves(f"Transform of {name}", "u, cycles", "Ff", lines=lines, points=points))
    yield figure.beside("The scaled DFT is the transform: a Gaussian keeps its shape, a box becomes a sinc", *panels)


@method(sources=("eth", "sheet", "penn"))
def convolution_continuous(
    key,
    samples: Int(32, 512) = 128,
    narrow: Real(0.2, 1.0) = 0.5,
    wide: Real(0.2, 1.5) = 0.8,
    moment: Real(0.1, 1.9) = 0.7,
):
    r"""Convolution of functions.

    Flip one function, slide it, multiply, integrate. From samples h apart it is h times the discrete convolution, with
    error O(h²) for continuous functions and O(h) where they jump. Two boxes give a triangle, a box and a ramp a
    piecewise parabola, the variances of Gaussians add; periodic functions need the circular convolution.

    $$(f * h)(u) = \int h(u - t) f(t)\, dt$$

    Check: Closed forms on [0, 1] at four steps of 1/`samples` and coarser; Gaussians of deviations `narrow` and `wide`;
    a square wave with a saw-tooth.
    """
    sizes = np.array([samples // 8, samples // 4, samples // 2, samples])
    arches, ramps = [], []
    for n in sizes:
        t, u = np.arange(n + 1) / n, np.arange(2 * n + 1) / n
        arch = np.sin(np.pi * t)
        arches.append(np.abs(convolution.sampled_convolution(arch, arch, 1 / n) - _arches(u)).max())
        ramps.append(np.abs(convolution.sampled_convolution(np.ones(n + 1), t, 1 / n) - _box_and_ramp(u)).max())
    yield slope(1 / sizes, arches, 2.0, "two arches sin(πt): error against step, slope on logarithms", within=0.1)
    yield slope(1 / sizes, ramps, 1.0, "box and ramp, which jump: error against step, the slope", within=0.1)
    middle = convolution.sampled_convolution(np.ones(samples), np.ones(samples), 1 / samples)
    u = (np.arange(2 * samples - 1) + 1) / samples  # samples at the middle of cells
    yield close(middle, 1 - np.abs(u - 1), "two boxes: a triangle", atol=1e-12)
    h = min(narrow, wide) / 4
    t = h * np.arange(-np.ceil(9 * max(narrow, wide) / h), np.ceil(9 * max(narrow, wide) / h) + 1)
    both = convolution.sampled_convolution(bell(t, narrow), bell(t, wide), h)
    at = 2 * t[0] + h * np.arange(len(both))
    yield close(both, bell(at, np.hypot(narrow, wide)), "two Gaussians: variances add", atol=1e-12)
    n = samples - samples % 2
    t = np.arange(n) / n
    square = np.where(np.isclose(t % 0.5, 0), 0.0, np.where(t < 0.5, 1.0, -1.0))
    saw = np.where(t == 0, 0.0, t - 0.5)
    around = convolution.convolve(square, saw, "circular") / n
    triangle = np.where(t <= 0.5, 0.25 - t, t - 0.75)
    yield at_most(np.abs(around - triangle).max(), 0.5 / n * (1 + 1e-9), "square wave and saw-tooth, circular: error")
    once = convolution.sampled_convolution(square, saw, 1 / n)[:n]
    yield at_least(
        np.abs(once - triangle).max(), 0.1, "square wave and saw-tooth, one period alone and not circular: error"
    )
    yield _sliding(samples, moment)


def _arches(u):
    """sin(πt) on [0, 1] with itself: (sin(πu)/π − u cos(πu))/2 up to u = 1, and symmetric about 1."""
    u = np.minimum(u, 2 - u)
    return (np.sin(np.pi * u) / np.pi - u * np.cos(np.pi * u)) / 2


def _box_and_ramp(u):
    return np.where(u <= 1, u**2 / 2, 0.5 - (u - 1) ** 2 / 2)


def _sliding(samples, moment):
    t = np.linspace(-1, 2, 301)
    box = np.where((t >= 0) & (t <= 1), 1.0, 0.0)
    flipped = np.where((moment - t >= 0) & (moment - t <= 1), moment - t, 0.0)
    lines = {"f(t)": (t, box), f"h({moment:.2g} − t)": (t, flipped)}
    area = float(_box_and_ramp(np.array(moment)))
    left = figure.curves("Flip, slide, multiply", "t", "", lines=lines, bands={"product": (t, 0 * t, box * flipped)})
    u = np.arange(2 * samples + 1) / samples
    ones, ramp = np.ones(samples + 1), np.arange(samples + 1) / samples
    found = convolution.sampled_convolution(ones, ramp, 1 / samples)
    right = figure.curves(
        "Integrate",
        "u",
        "(f ∗ h)(u)",
        lines={"closed form": (u, _box_and_ramp(u))},
        points={"from samples": (u, found)},
        rules={f"u = {moment:.2g}": ("x", moment)},
    )
    return figure.beside(f"A box and a ramp: the product has the area {area:.3g} at u = {moment:.2g}", left, right)
