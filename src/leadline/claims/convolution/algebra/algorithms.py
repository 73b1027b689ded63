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
from leadline.evidence import Int, at_least, at_most, claim, close, erratum, exactly, method, reference, slope
from leadline.presentation import figure


@claim(sources=("penn", "sheet"), shows=("convolution.ConvLayer",))
def padding_and_output_size(key, longest: Int(10, 40) = 40, widest: Int(1, 9) = 9, half: Int(0, 6) = 2):
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
    yield exactly(work.buffer, columns.size, "the same, as predicted from the shapes")
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
def algorithm_crossover(key, largest: Int(15, 63) = 31, side: Int(64, 256) = 128, exponent: Int(10, 14) = 12):
    r"""From which kernel size the FFT is cheaper.

    Directly, a layer costs as many multiplications as outputs times taps; by FFT about n log n, whatever the taps. So
    there is a kernel size beyond which the FFT needs fewer operations: above the sizes of ordinary networks in images,
    and far below the length of long one-dimensional kernels. Where the times cross depends on the machine.

    $$\text{direct: } n k^d, \qquad \text{FFT: } O(n \log n), \qquad k_*^d \approx c \log_2 n$$

    Check: Operations that XLA counts in the programs that it compiled, for images of `side` × `side` and signals of
    2 to the `exponent` samples. Times are measured by the benchmarks.
    """
    kernels = np.unique(np.round(np.geomspace(3, largest, 6)).astype(int)) // 2 * 2 + 1
    counted = {name: [_operations(name, (side, side), int(k)) for k in kernels] for name in ("xla", "fft")}
    outputs = (side - kernels + 1) ** 2
    per_output = np.array(counted["xla"]) / outputs
    yield slope(kernels, per_output, 2.0, "images, directly: operations an output against taps a side", within=0.05)
    flat = np.ptp(counted["fft"]) / np.mean(counted["fft"])
    yield at_most(flat, 0.05, "images, by FFT: spread of the operations over all kernel sizes, relative")
    model = [convolution.layer_work((1, side, side), (1, 1, k, k), "taps").multiply_adds for k in map(int, kernels)]
    yield close(counted["xla"], 2 * np.array(model), "images, directly: counted against 2 n k²", rtol=0.02)
    lengths = 2 ** np.arange(exponent - 4, exponent + 1)
    long = np.array([_operations("fft", (int(n),), 5) for n in lengths])
    yield slope(lengths * np.log2(lengths), long, 1.0, "signals, by FFT: operations against n log₂ n", within=0.05)
    crossing = _crossing(kernels, counted["xla"], counted["fft"])
    yield at_least(crossing, 3, "images: taps a side from which the FFT needs fewer operations", strict=True)
    n = int(lengths[-1])
    quarter = n // 4 + 1
    ratio = _operations("xla", (n,), quarter) / _operations("fft", (n,), quarter)
    yield at_least(ratio, 5, f"signals of {n}, kernel of a quarter: operations directly, as a multiple of the FFT's")
    package = find_spec("torch")
    folder = Path(package.origin).parent if package and package.origin else Path()
    there = exactly((folder / "backends" / "cudnn").is_dir(), True, "torch.backends.cudnn, with `benchmark`, exists")
    there = there.given(package, "PyTorch is installed")
    yield there
    wrong = exactly((folder / "cudnn").is_dir() or (folder / "cudnn.py").is_file(), True, "torch.cudnn exists")
    wrong = wrong.given(package, "PyTorch is installed")
    yield erratum(
        wrong,
        of=there,
        by="penn",
        prints="torch.cudnn.benchmark, searched by default; the search is off unless switched on",
    )
    wide = np.arange(1, largest + 1)
    predicted = 2 * (side - wide + 1.0) ** 2 * wide**2
    lines = {"directly, 2 n k²": (wide, predicted), "FFT": (wide, np.full(largest, np.mean(counted["fft"])))}
    points = {"directly, 2 n k²": (kernels, counted["xla"]), "FFT": (kernels, counted["fft"])}
    title = f"In operations the FFT wins from {crossing:.0f} taps a side on images of {side}: not at 3 x 3"
    yield figure.curves(title, "taps a side", "operations", lines=lines, points=points, log="xy")


def _operations(algorithm, sides, k):
    """Floating-point operations of the program that XLA compiles, by its own count."""
    x, w = (jax.ShapeDtypeStruct(s, jnp.float64) for s in ((1, *sides), (1, 1, *[k] * len(sides))))
    run = jax.jit(lambda x, w: convolution.layer_correlation(x, w, algorithm=algorithm))
    return run.lower(x, w).compile().cost_analysis().get("flops", np.nan)


def _crossing(kernels, direct, fft):
    """Where the two curves meet, interpolated on logarithms; the last kernel size if they do not."""
    ahead = np.log(np.array(direct) / np.array(fft))
    if (ahead < 0).all():
        return float(kernels[-1])
    return float(np.exp(np.interp(0.0, ahead, np.log(kernels))))
