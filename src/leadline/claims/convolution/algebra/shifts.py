"""Shifts: convolutions commute with them, and nothing else that is linear does."""

import jax
import numpy as np
from scipy.linalg import circulant

from leadline import convolution, data
from leadline.evidence import Int, OneOf, at_least, at_most, claim, exactly, mean
from leadline.presentation import figure


@claim(sources=("eth", "penn"))
def convolution_shift_equivariance(
    key,
    side: Int(12, 32) = 16,
    taps: OneOf(3, 5) = 3,
    shift: Int(1, 8) = 2,
    stride: Int(1, 4) = 2,
    channels: Int(1, 4) = 2,
):
    r"""Convolution commutes with shifts.

    A shifted input gives the shifted output: exactly where the signal wraps around, and with zero padding away from the
    border. A stride s leaves this for shifts by multiples of s alone.

    $$f_\Delta * h = (f * h)_\Delta, \qquad f_\Delta(t) = f(t + \Delta)$$

    Check: Integer images and kernels in two dimensions, shifted by `shift` down; a network of two layers with ReLU.
    """
    rng = data.generator(key)
    side = side // stride * stride
    x = rng.integers(-9, 10, (channels, side, side))
    w = rng.integers(-9, 10, (channels, channels, taps, taps))

    def moved(a, by=shift):
        return np.roll(a, by, axis=1)

    def circular(x, w, stride=1):
        """Windows that begin at each position, wrapping: taps − 1 rows and columns are repeated at the end."""
        wide = np.pad(x, [(0, 0), (0, taps - 1), (0, taps - 1)], mode="wrap")
        return convolution.layer_correlation(wide, w, stride=stride)

    yield exactly(circular(moved(x), w), moved(circular(x, w)), "wrapped: output of the shifted image, shifted output")
    one = convolution.convolve(x[0], w[0, 0], "circular")
    two = convolution.convolve(np.roll(x[0], (shift, -shift), (0, 1)), w[0, 0], "circular")
    yield exactly(two, np.roll(one, (shift, -shift), (0, 1)), "circular convolution, shifted in both directions")
    relu = [circular(np.maximum(circular(a, w), 0), w) for a in (x, moved(x))]
    yield exactly(relu[1], moved(relu[0]), "two layers with ReLU between: output of the shifted image, shifted output")
    radius = taps // 2
    padded = [convolution.layer_correlation(a, w, padding=radius) for a in (x, moved(x))]
    gap = np.abs(padded[1] - moved(padded[0])).max((0, 2))  # by row
    band = np.arange(side)
    near = (band < shift + radius) | (band >= side - radius)
    room = bool((~near).any())
    yield exactly(gap[~near] if room else 0, 0, "zero padding: defect in rows away from the border").given(
        room, "the image is larger than shift and kernel"
    )
    yield at_least(gap[near].max(), 1, "zero padding: defect in the border band")
    coarse = circular(x, w, stride)
    defects = []
    for by in range(1, 2 * stride + 1):
        after = circular(moved(x, by), w, stride)
        defects.append(min(int(np.abs(after - np.roll(coarse, d, 1)).max()) for d in range(side // stride)))
    shifts = np.arange(1, 2 * stride + 1)
    whole = shifts % stride == 0
    yield exactly(np.array(defects)[whole], 0, f"stride {stride}: defect under shifts by multiples of it")
    least = min(np.array(defects)[~whole], default=1)
    yield at_least(least, 1, f"stride {stride}: least defect under other shifts").given(stride > 1, "a stride above 1")
    rows = np.arange(len(gap))
    inside = f"{int((~near).sum())} rows without defect"
    bands = figure.curves(
        "Zero padding",
        "row",
        "largest defect",
        points={"measured": (rows, gap)},
        rules={"band ends": ("x", shift + radius - 0.5), "band begins": ("x", side - radius - 0.5)},
    )
    points = {"measured": (shifts, defects)}
    steps = figure.curves(f"Stride {stride}", "shift", "least defect", points=points)
    yield figure.beside(f"Shifts commute away from the border ({inside}) and by multiples of the stride", bands, steps)


@claim(sources=("eth", "sheet"))
def shift_equivariant_iff_convolution(
    key, length: Int(12, 40) = 16, samples: Int(60, 400) = 80, fits: Int(8, 60) = 20, taps: Int(2, 4) = 3
):
    r"""Linear and shift-equivariant means convolution.

    An operator that is linear and commutes with shifts is the convolution with what it makes of an impulse. On a circle
    of n points these are the circulant matrices; the orthogonal projection onto them is the average over all shifts. A
    dense layer that is fitted to noisy data of a convolution comes as near to them as its samples allow.

    $$T(f_\Delta) = (Tf)_\Delta \;\; \text{and $T$ linear} \iff Tf = f * h, \quad h = T\delta$$

    Assumes: T is continuous, where functions have no finite number of values.

    Check: A tester that knows the operator only by calling it; least squares on `samples` noisy pairs, whose squared
    distance from the circulant matrices has the mean $\sigma^2 n(n-1)/(N - n - 1)$ for Gaussian signals.
    """
    rng = data.generator(key)
    h, ramp = rng.normal(size=length), np.linspace(1.0, 2.0, length)
    small, dense = rng.normal(size=taps), rng.normal(size=(length, length))
    boxes = {
        "convolution": lambda x: np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(h), length),
        "maximum of 3 neighbours": lambda x: np.maximum(x, np.maximum(np.roll(x, 1), np.roll(x, -1))),
        "weights that grow with the position": lambda x: ramp * x,
        "zero-padded convolution": lambda x: np.convolve(x, small, "same"),
        "dense matrix": lambda x: dense @ x,
    }
    found = {
        name: convolution.identify_convolution(box, length, key=jax.random.fold_in(key, i), predictions=100)
        for i, (name, box) in enumerate(boxes.items())
    }
    verdicts = (
        "convolution",
        "shift-equivariant, not linear",
        "linear, not shift-equivariant",
        "convolution inside a border",
        "linear, not shift-equivariant",
    )
    for (name, box), verdict in zip(found.items(), verdicts, strict=True):
        yield exactly(box.verdict, verdict, f"{name}: what the tester says")
    known = found["convolution"]
    yield at_most(np.abs(known.kernel - h).max(), 1e-10, "convolution: distance of the recovered kernel")
    yield at_most(known.prediction, 1e-10, "convolution: error of the kernel's predictions on 100 new signals")
    yield at_most(found["zero-padded convolution"].border, taps, "zero-padded convolution: width of the border")
    matrix = rng.normal(size=(length, length))
    average = np.mean([np.roll(matrix, (d, d), (0, 1)) for d in range(length)], axis=0)
    nearest = circulant(convolution.circulant_part(matrix))
    yield at_most(np.abs(nearest - average).max(), 1e-13, "mean of the diagonals, against the average over shifts")
    shifts = np.stack([circulant(row) for row in np.eye(length)])  # a basis of the circulant matrices
    left = np.abs(np.einsum("dij,ij->d", shifts, matrix - nearest)).max()
    yield at_most(left, 1e-12, "what the projection leaves: largest inner product with a power of the shift")
    truth, sizes = circulant(np.pad(small, (0, length - taps))), samples * 2 ** np.arange(4)
    distances = np.stack([_distances(_fitted(rng, truth, fits, n)) ** 2 for n in sizes], axis=1)
    expected = length * (length - 1) / (sizes - length - 1)
    for column, n in enumerate(sizes):
        what = f"squared distance of a fit to {n} pairs from the circulant matrices"
        yield mean(distances[:, column], expected[column], what)
    whole = _fitted(rng, truth, 1, length + 2, every_shift=True)
    yield at_most(_distances(whole), 1e-9, "distance, fitted to all shifts of the pairs")
    fitted = _fitted(rng, truth, 1, samples)[0]
    part = circulant(convolution.circulant_part(fitted))
    pictures = [("fitted", fitted), ("circulant part", part), ("difference", fitted - part)]
    maps = figure.images("A dense layer", images=pictures, columns=3, diverging=True)
    averages = np.sqrt(distances.mean(0))
    curve = figure.curves(
        "Distance from the circulant matrices",
        "samples",
        "distance",
        lines={"predicted": (sizes, np.sqrt(expected))},
        points={"fitted": (sizes, averages)},
        log="xy",
    )
    yield figure.beside("The more samples, the nearer a dense layer comes to a convolution", maps, curve, columns=1)


def _fitted(rng, truth, fits, samples, every_shift=False):
    """Least-squares matrices of so many fits to noisy pairs."""
    n = len(truth)
    x = rng.normal(size=(fits, samples, n))
    y = x @ truth.T + rng.normal(size=x.shape)
    if every_shift:
        x, y = (np.concatenate([np.roll(a, d, 2) for d in range(n)], axis=1) for a in (x, y))
    turned = x.transpose(0, 2, 1)
    return np.linalg.solve(turned @ x, turned @ y).transpose(0, 2, 1)


def _distances(matrices):
    """Frobenius distances from the circulant matrices."""
    return np.array([np.linalg.norm(m - circulant(convolution.circulant_part(m))) for m in matrices])
