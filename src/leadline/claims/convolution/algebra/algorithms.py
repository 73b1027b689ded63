"""Sizes of outputs, algorithms for a layer, and the kernel size from which the FFT is cheaper."""

from importlib.util import find_spec
from itertools import product
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from leadline import convolution, data
from leadline.convolution import ConvLayer
from leadline.convolution.algebra.discrete import padding_of_mode
from leadline.evidence import Int, OneOf, at_least, at_most, claim, close, erratum, exactly, method, reference, slope
from leadline.presentation import figure


@claim(sources=("penn", "sheet"), shows=("convolution.ConvLayer",))
def padding_and_output_size(key, longest: Int(14, 40) = 40, widest: Int(1, 9) = 9, half: Int(0, 6) = 2):
    r"""Padding and the size of the output.

    A window fits as often as the formula says. For 2k + 1 taps, one by one, all positions with any overlap need 2k
    zeros on both sides, as many outputs as inputs need k, and windows inside need none.

    $$n_{\mathrm{out}} = \left\lfloor \frac{n + 2p - d(f - 1) - 1}{s} \right\rfloor + 1$$

    Check: Every window is placed and counted, for all lengths up to `longest` and kernels up to `widest` taps, strides
    and paddings to 4 and dilations to 3.
    """
    found, counted = [], []
    for f, s, p, d in product(range(1, widest + 1), range(1, 5), range(5), range(1, 4)):
        layer, reach = ConvLayer(1, f, stride=s, padding=p, dilation=d), d * (f - 1)
        for n in range(max(1, reach + 1 - 2 * p), longest + 1):
            found.append(layer.output((1, n))[1])
            counted.append(len(range(0, n + 2 * p - reach, s)))
    yield exactly(found, counted, "outputs by the formula, against windows placed one by one")
    sizes = [ConvLayer(1, f, stride=s).output((1, n))[1] for n, f, s in ((6, 3, 2), (28, 5, 3))]
    yield reference(sizes, [2, 8], "outputs of (length, kernel, stride) = (6, 3, 2) and (28, 5, 3)", digits=3)
    taps, n = 2 * half + 1, longest
    f, h = (data.generator(key).integers(-9, 10, size) for size in (n, taps))
    for mode, expected in (("full", n + 2 * half), ("same", n), ("valid", n - 2 * half)):
        p = padding_of_mode(taps, mode)
        yield exactly(ConvLayer(1, taps, padding=p).output((1, n))[1], expected, f"{mode}: outputs with padding {p}")
        layer = convolution.layer_correlation(f[None], h[None, None], padding=p)[0]
        yield exactly(layer, convolution.correlate(f, h, mode), f"{mode}: values with padding {p}")
    rows = np.zeros((5, 9))
    for i, (p, s) in enumerate(((2, 1), (1, 1), (0, 1), (1, 2), (0, 2))):
        for start in range(0, 5 + 2 * p - 2, s):
            rows[i, 2 - p + start : 5 - p + start] += 1
    names = ("full, padding 2", "same, padding 1", "valid", "padding 1, stride 2", "stride 2")
    labels = {"xs": [f"{i - 1}" for i in range(9)], "ys": names, "text": True, "colour": "windows"}
    title = "Windows of 3 over 5 inputs (1 to 5): how many cover each position, zeros included"
    yield figure.heatmap(title, "position", "", values=rows, **labels)


@method(sources=("penn",))
def convolution_algorithms(
    key,
    side: Int(8, 64) = 24,
    taps: Int(1, 7) = 5,
    inputs: Int(1, 8) = 3,
    outputs: Int(1, 8) = 4,
    stride: Int(1, 3) = 1,
):
    r"""Algorithms for convolution.

    A layer can be summed tap by tap, become one matrix product of all its windows (im2col, which copies each input k²
    times), or a product of spectra, at a cost that does not depend on k. All agree up to rounding. Which is fastest
    depends on shapes and machine, so it is measured once for each shape and kept.

    $$y[c, i] = \sum_{r, k} w[c, r, k]\, x[r, i s + k], \qquad \text{im2col buffer: } C k^2 H' W'$$

    Check: Four algorithms on noise, in NumPy and under JAX; the tuner with a clock that says what it should find.
    """
    rng = data.generator(key)
    x, w = rng.normal(size=(inputs, side, side)), rng.normal(size=(outputs, inputs, taps, taps))
    right = (convolution.layer_matrix(w, x.shape, stride=stride) @ x.ravel()).reshape(outputs, -1)
    size = np.abs(right).max()
    for name in ("taps", "im2col", "fft", "xla"):
        y = np.asarray(convolution.layer_correlation(x, w, stride=stride, algorithm=name)).reshape(outputs, -1)
        yield at_most(np.abs(y - right).max() / size, 1e-10, f"{name}: distance to the sparse matrix, relative")
    columns = convolution.windows(x, (taps, taps))
    positions = (side - taps + 1) ** 2
    yield exactly(columns.size, inputs * taps**2 * positions, "numbers in the buffer of im2col")
    work = convolution.layer_work(x.shape, w.shape, "im2col")
    yield exactly(work.buffer, columns.size, "numbers in the buffer of im2col, as predicted from the shapes")
    compiled = jax.jit(lambda x, w: convolution.layer_correlation(x, w)).lower(jnp.asarray(x), jnp.asarray(w)).compile()
    flops = compiled.cost_analysis().get("flops", np.nan)
    yield close(flops, 2 * work.multiply_adds, "operations of XLA's program, against 2 C C′ k² H′ W′", rtol=0.01)
    order = ("taps", "im2col", "fft", "xla")
    seconds = rng.permutation(12).reshape(3, 4) + 1.0  # what the clock will say: 3 rounds of 4 algorithms
    tuner = convolution.AlgorithmTuner(clock=_clock(seconds.ravel()))
    few = jnp.asarray(x[:1, : taps + 2, : taps + 3]), jnp.asarray(w[:1, :1])
    fastest = order[int(np.argmin(seconds.min(0)))]
    yield exactly(tuner.fastest(*few), fastest, "the tuner's choice: the least of three timings")
    again = [tuner.times(*few)[name] for name in order]  # the clock would stop if it were read
    yield exactly(again, seconds.min(0), "asked again: seconds of each, kept")
    small = np.arange(1, 17).reshape(4, 4)
    spectrum = np.abs(np.fft.fftshift(np.fft.fft2(np.pad(small, 2))))
    panels = [
        figure.heatmap("tap by tap: the image", "column", "row", values=small, text=True),
        figure.heatmap(
            "im2col: windows as columns",
            "window",
            "tap",
            values=convolution.windows(small[None], (2, 2)).reshape(4, 9),
            text=True,
        ),
        figure.heatmap("FFT: the spectrum", "frequency", "frequency", values=np.log1p(spectrum)),
    ]
    title = f"Three layouts of one layer: im2col copies {columns.size / x.size:.3g} times the input"
    yield figure.beside(title, *panels, columns=3)


def _clock(seconds):
    """A clock that is read before and after each run and lets these seconds pass."""
    steps, now, running = iter(seconds), [0.0], [False]

    def read():
        if running[0]:
            now[0] += next(steps)
        running[0] = not running[0]
        return now[0]

    return read


@claim(sources=("eth", "penn"))
def algorithm_crossover(key, largest: Int(15, 63) = 31, side: OneOf(64, 128, 256) = 128, exponent: Int(10, 14) = 12):
    r"""From which kernel size the FFT is cheaper.

    Directly, a layer costs as many multiplications as outputs times taps; by FFT about n log n, whatever the taps. So
    there is a kernel size beyond which the FFT needs fewer operations: above the 3 × 3 and 5 × 5 of ordinary networks,
    and far below the length of long one-dimensional kernels. Where the times cross depends on the machine.

    $$\text{direct: } 2 n k^d, \qquad \text{FFT: } 10\, n \log_2 n + O(n), \qquad k_*^d \approx 5 \log_2 n$$

    Check: Operations that XLA counts in the direct program that it compiled, and those of a radix-2 FFT that counts
    while it runs and gives the same result; images of `side` × `side`, signals of 2 to the `exponent` samples. Times
    are measured by the benchmarks.
    """
    rng = data.generator(key)
    kernels = np.unique(np.round(np.geomspace(3, largest, 5)).astype(int) // 2 * 2 + 1)
    direct = np.array([_operations((side, side), int(k)) for k in kernels])
    outputs = (side - kernels + 1) ** 2
    yield slope(
        kernels, direct / outputs, 2.0, "images, directly: operations an output against taps a side", within=0.05
    )
    model = [convolution.layer_work((1, side, side), (1, 1, k, k), "taps").multiply_adds for k in map(int, kernels)]
    yield close(direct, 2 * np.array(model), "images, directly: counted against 2 n k²", rtol=0.02)
    image, fast, off = rng.normal(size=(side, side)), [], []
    for k in kernels:
        kernel = rng.normal(size=(k, k))
        found, operations = _counted_correlation(image, kernel)
        right = convolution.layer_correlation(image[None], kernel[None, None], algorithm="fft")[0]
        off.append(np.abs(found - right).max() / np.abs(right).max())
        fast.append(operations)
    yield at_most(off, 1e-10, "images, by counting FFT: distance to the layer, relative")
    yield exactly(fast, fast[0], "images, by FFT: operations for every kernel size")
    real = 2 * convolution.layer_work((1, side, side), (1, 1, 5, 5), "fft").multiply_adds
    yield at_most(real, fast[0], "images, by FFT: the library's model for real numbers, against the complex count")
    yield at_least(
        real, fast[0] / 2, "images, by FFT: the library's model for real numbers, against half of the complex count"
    )
    lengths = 2 ** np.arange(exponent - 4, exponent + 1)
    long = [_counted_correlation(rng.normal(size=n), rng.normal(size=5))[1] for n in lengths]
    growth = np.array(long) - LINEAR * lengths
    yield slope(lengths * np.log2(lengths), growth, 1.0, "signals, by FFT: operations against n log₂ n", within=0.01)
    crossing = _crossing(kernels, direct, fast)
    pixels = side**2
    predicted = np.sqrt((10 * np.log2(pixels) + LINEAR) / 2)
    yield close(crossing, predicted, "images: taps a side from which the FFT needs fewer operations", rtol=0.25)
    yield at_least(crossing, 5, "images: taps a side from which the FFT needs fewer operations, against 5", strict=True)
    n = int(lengths[-1])
    ratio = _operations((n,), n // 4 + 1) / long[-1]
    yield at_least(ratio, 2, f"signals of {n}, kernel of a quarter: operations directly, as a multiple of the FFT's")
    package = find_spec("torch")
    folder = Path(package.origin).parent if package and package.origin else Path()
    there = exactly((folder / "backends" / "cudnn").is_dir(), True, "torch.backends.cudnn, with `benchmark`, exists")
    there = there.given(package, "PyTorch is installed")
    yield there
    wrong = exactly((folder / "cudnn").is_dir() or (folder / "cudnn.py").is_file(), True, "torch.cudnn exists")
    wrong = wrong.given(package, "PyTorch is installed")
    prints = "the switch torch.cudnn.benchmark, of a search that is on by default"
    yield erratum(wrong, of=there, by="penn", prints=prints)
    wide = np.arange(1, largest + 1)
    lines = {"directly, 2 n k²": (wide, 2 * (side - wide + 1.0) ** 2 * wide**2)}
    lines["FFT, 10 n log₂ n + O(n)"] = (wide, np.full(largest, pixels * (10 * np.log2(pixels) + LINEAR)))
    points = {name: (kernels, counted) for name, counted in zip(lines, (direct, fast), strict=True)}
    title = f"In operations the FFT wins from about {crossing:.0f} taps a side on images of {side}: not at 3 or 5"
    yield figure.curves(title, "taps a side", "operations", lines=lines, points=points, log="xy")


LINEAR = 16  # operations of a frequency besides the two transforms: two spectra apart (8), their product (6), 1/n (2)


def _operations(sides, k):
    """Floating-point operations of XLA's direct program, by its own count."""
    x, w = (jax.ShapeDtypeStruct(s, jnp.float64) for s in ((1, *sides), (1, 1, *[k] * len(sides))))
    return jax.jit(convolution.layer_correlation).lower(x, w).compile().cost_analysis().get("flops", np.nan)


def _counted_correlation(x, kernel):
    """Valid correlation by two complex transforms (x + i kernel, and back), and the real operations that it took."""
    padded = np.pad(kernel, [(0, n - k) for n, k in zip(x.shape, kernel.shape, strict=True)])
    both, forward = _counted_transform(x + 1j * padded)
    mirrored = np.roll(both[(slice(None, None, -1),) * x.ndim], 1, tuple(range(x.ndim))).conj()
    product = (both + mirrored) / 2 * ((both - mirrored) / 2j).conj()
    result, back = _counted_transform(product.conj())
    kept = tuple(slice(0, n - k + 1) for n, k in zip(x.shape, kernel.shape, strict=True))
    return result.real[kept] / x.size, forward + back + LINEAR * x.size


def _counted_transform(z):
    """The DFT by radix 2 along all axes; n/2 complex products (6 operations) and n complex sums (2) a stage."""
    operations = 0
    for axis in range(z.ndim):
        z, taken = _counted_stages(np.moveaxis(z, axis, -1))
        z, operations = np.moveaxis(z, -1, axis), operations + taken
    return z, operations


def _counted_stages(z):
    n = z.shape[-1]
    if n == 1:
        return z, 0
    (even, first), (odd, second) = _counted_stages(z[..., ::2]), _counted_stages(z[..., 1::2])
    turned = odd * np.exp(-2j * np.pi * np.arange(n // 2) / n)
    joined = np.concatenate([even + turned, even - turned], -1)
    return joined, first + second + 6 * turned.size + 2 * joined.size


def _crossing(kernels, direct, fast):
    """Where the two curves meet, interpolated on logarithms."""
    return float(np.exp(np.interp(0.0, np.log(direct / np.array(fast)), np.log(kernels))))
