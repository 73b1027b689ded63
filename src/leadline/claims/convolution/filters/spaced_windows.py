"""Windows with gaps: dilation, stride, and the transposed convolution that undoes a stride's shape."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from leadline import convolution, data
from leadline.convolution import ConvLayer
from leadline.evidence import Int, OneOf, at_least, at_most, exactly, method
from leadline.presentation import figure


@method(sources=("penn",))
def dilated_convolution(
    key, taps: Int(2, 5) = 3, dilation: Int(1, 4) = 2, levels: Int(1, 6) = 4, side: Int(20, 40) = 24
):
    r"""Dilated convolution.

    Taps that stand d apart are an ordinary kernel with d − 1 zeros between its taps: it spans d(k − 1) + 1 positions
    and has k weights. Two taps at dilations 1, 2, 4, … see $2^L$ positions after L layers. If all layers have dilation
    2, odd and even positions never meet.

    $$y[i] = \sum_k w[k]\, x[i + d k], \qquad r = 2^L$$

    Check: Integers; a kernel with zeros put in; the support of the Jacobian of `levels` layers.
    """
    rng = data.generator(key)
    for axes, name in ((1, "one dimension"), (2, "two dimensions")):
        x, w = rng.integers(-9, 10, (2, *[side] * axes)), rng.integers(-9, 10, (3, 2, *[taps] * axes))
        spread = convolution.spread_taps(w, dilation, axes=axes)
        plain = convolution.layer_correlation(x, spread, algorithm="taps")
        found = convolution.layer_correlation(x, w, dilation=dilation)
        yield exactly(found, plain, f"{name}: taps {dilation} apart, against a kernel with zeros")
        yield exactly(spread.shape[2], dilation * (taps - 1) + 1, f"{name}: taps a side with the zeros")
        yield exactly(
            np.count_nonzero(w), np.count_nonzero(spread), f"{name}: weights that are not 0, without and with"
        )
    reach = {}
    for name, dilations in {"doubled": [2**n for n in range(levels)], "all 1": [1] * levels}.items():
        layers = [ConvLayer(1, 2, dilation=d) for d in dilations]
        width = 2**levels + 3
        seen = np.flatnonzero(_jacobian(2, dilations, width)[0])
        reach[name] = seen[-1] - seen[0] + 1
        size = convolution.receptive_field(layers).size
        yield exactly(reach[name], size, f"dilations {name}: positions that output 0 sees, against the formula")
    yield exactly([reach["doubled"], reach["all 1"]], [2**levels, levels + 1], "positions seen: 2^L, and L + 1")
    width = 2 * levels * (taps - 1) + 4
    jacobian = _jacobian(taps, [2] * levels, width)
    outputs, inputs = np.nonzero(jacobian)
    yield exactly((outputs - inputs) % 2, 0, "all dilations 2: parity of an output minus that of what it sees")
    mixed = _jacobian(taps, [2] * (levels - 1) + [1], width)
    outputs, inputs = np.nonzero(mixed)
    yield at_least(np.max((outputs - inputs) % 2), 1, "one layer with dilation 1: both parities are seen")
    depth = np.arange(1, levels + 1)
    grid = np.zeros((levels, 2**levels))
    for level in depth:
        positions = np.flatnonzero(_jacobian(2, [2**n for n in range(level)], 2**levels)[0])
        grid[level - 1, positions] = 1
        grid[level - 1, [0, 2 ** (level - 1)]] = 2
    taps_seen = figure.heatmap("Taps (dark) and positions seen", "position", "layer", values=grid, ys=depth)
    lines = {"dilations 1, 2, 4, …: 2^L": (depth, 2.0**depth), "no dilation: L + 1": (depth, depth + 1.0)}
    measured = [_span(2, [2**n for n in range(d)]) for d in depth], [_span(2, [1] * d) for d in depth]
    points = {name: (depth, values) for name, values in zip(lines, measured, strict=True)}
    growth = figure.curves("Receptive field", "layers L", "positions", lines=lines, points=points, log="y")
    yield figure.beside(
        f"{levels} layers of two taps see {2**levels} positions with doubled dilations", taps_seen, growth
    )


def _jacobian(taps, dilations, width):
    """|∂y/∂x| of a stack of one-channel layers with kernels of ones, as a product of their matrices."""
    total, size = None, width
    for d in dilations:
        matrix = convolution.layer_matrix(np.ones((1, 1, taps), int), (1, size), dilation=d)
        total = matrix if total is None else matrix @ total
        size = matrix.shape[0]
    return total.toarray()


def _span(taps, dilations):
    seen = np.flatnonzero(_jacobian(taps, dilations, 1 + (taps - 1) * sum(dilations))[0])
    return int(seen[-1] - seen[0] + 1)


@method(sources=("penn",))
def strided_convolution(
    key, length: Int(16, 64) = 24, taps: Int(1, 7) = 3, stride: Int(2, 5) = 2, padding: Int(0, 3) = 1
):
    r"""Strided convolution.

    A stride s computes every s-th output of the same layer, with the same parameters. It commutes with shifts by
    multiples of s only, and a frequency above 1/(2s) comes out as a lower one: it is aliased.

    $$y[i] = \sum_k w[k]\, x[i s + k - p], \qquad n_{\mathrm{out}} = \left\lfloor
    \frac{n + 2p - k}{s} \right\rfloor + 1$$

    Check: Integers; the full output, every s-th of which is taken; white noise shifted; a wave faster than the grid.
    """
    rng = data.generator(key)
    for axes, name in ((1, "one dimension"), (2, "two dimensions")):
        x, w = rng.integers(-9, 10, (2, *[length] * axes)), rng.integers(-9, 10, (3, 2, *[taps] * axes))
        every = convolution.layer_correlation(x, w, padding=padding, algorithm="taps")
        coarse = convolution.layer_correlation(x, w, padding=padding, stride=stride)
        taken = every[(slice(None), *[slice(None, None, stride)] * axes)]
        yield exactly(coarse, taken, f"{name}: every {stride}th output of the layer without stride")
        size = (length + 2 * padding - taps) // stride + 1
        yield exactly(coarse.shape[1:], size, f"{name}: outputs a side, against the formula")
    whole = length // stride * stride
    noise, w = rng.normal(size=(1, whole)), rng.normal(size=(1, 1, taps))
    shifts = np.arange(1, 2 * stride + 1)
    defects = np.array([_defect(noise, w, stride, int(by)) for by in shifts])
    multiple = shifts % stride == 0
    yield at_most(defects[multiple], 1e-14, "white noise shifted by multiples of the stride: defect, relative")
    yield at_least(defects[~multiple], 1e-3, "white noise under other shifts: least defect, relative")
    grid = 4 * stride * 8
    cycles = grid // stride - 4  # beyond half a cycle in `stride` samples: appears as −4 cycles of the coarse grid
    wave = np.cos(2 * np.pi * cycles * np.arange(grid) / grid)
    sampled = convolution.layer_correlation(wave[None], np.ones((1, 1, 1)), stride=stride)[0]
    spectrum = np.abs(np.fft.rfft(sampled))
    yield exactly(
        int(np.argmax(spectrum)), 4, f"a wave of {cycles} cycles, sampled with the stride: cycles that appear"
    )
    slow = np.cos(2 * np.pi * 4 * np.arange(grid) / grid)
    gap = np.abs(sampled - slow[::stride]).max()
    yield at_most(gap, 1e-10, f"a wave of {cycles} cycles, sampled with the stride: distance to a wave of 4 cycles")
    t = np.arange(grid // 2)
    lines = {f"input, {cycles} cycles": (t, wave[t]), "4 cycles": (t, slow[t])}
    kept = t[::stride]
    points = {"outputs of the stride": (kept, sampled[: len(kept)])}
    waves = figure.curves("A fast wave seen through a stride", "position", "value", lines=lines, points=points)
    bars = figure.curves("White noise", "shift", "equivariance defect", points={"measured": (shifts, defects)})
    yield figure.beside(
        f"Stride {stride}: fast waves become slow ones, and only shifts by {stride} commute", waves, bars
    )


def _defect(x, w, stride, by):
    """‖T(shifted) − best shift of T‖/‖T‖ over all shifts of the coarse output, with borders that wrap."""

    def layer(x):
        wide = np.pad(x, [(0, 0), (0, w.shape[2] - 1)], mode="wrap")
        return convolution.layer_correlation(wide, w, stride=stride)[0]

    still, moved = layer(x), layer(np.roll(x, by, 1))
    gaps = [np.linalg.norm(moved - np.roll(still, d)) for d in range(len(still))]
    return min(gaps) / np.linalg.norm(still)


@method(sources=("penn", "cam"))
def transposed_convolution(
    key,
    taps: Int(1, 5) = 3,
    stride: Int(1, 4) = 2,
    padding: Int(0, 2) = 1,
    dilation: Int(1, 3) = 1,
    dimensions: OneOf(1, 2, 3) = 2,
    size: Int(3, 6) = 4,
):
    r"""Transposed convolution.

    It is the adjoint of a strided convolution: zeros between the inputs, then a convolution with the flipped kernel. As
    a matrix it is the layer's, transposed. Its windows cover the output evenly only if the stride divides the kernel;
    otherwise a checkerboard appears.

    $$\langle Cx, y \rangle = \langle x, C^\top y \rangle, \qquad n = (m - 1) s + d(k - 1) + 1 - 2p + o$$

    Check: Integers in one to three dimensions; the backward pass of XLA's convolution, JAX's own transposed
    convolution, and outputs counted by windows of ones.
    """
    rng = data.generator(key)
    padding = min(padding, ((size - 1) * stride + dilation * (taps - 1)) // 2)
    settings = {"stride": stride, "padding": padding, "dilation": dilation}
    kernel = rng.integers(-9, 10, (3, 2, *[taps] * dimensions))
    y = rng.integers(-9, 10, (3, *[size] * dimensions))
    for extra in sorted({0, stride - 1}):
        side = convolution.transposed_size(size, taps, **settings, extra=extra)
        x = rng.integers(-9, 10, (2, *[side] * dimensions))
        back = convolution.transposed_convolution(y, kernel, **settings, extra=extra)
        name = f"{extra} extra positions"
        yield exactly(back.shape[1:], side, f"{name}: outputs a side, against the formula")
        forward = convolution.layer_correlation(x, kernel, **settings)
        yield exactly(forward.shape, y.shape, f"{name}: the convolution leads back to the shape of y")
        yield exactly((forward * y).sum(), (x * back).sum(), f"{name}: ⟨Cx, y⟩ against ⟨x, Cᵀy⟩")
        matrix = convolution.layer_matrix(kernel, x.shape, **settings)
        yield exactly(matrix.T @ y.ravel(), back.ravel(), f"{name}: transposed matrix of the layer")
    options = {"window_strides": [stride] * dimensions, "padding": [(padding, padding)] * dimensions}
    options["rhs_dilation"] = [dilation] * dimensions
    floats, signal = jnp.asarray(kernel, float), jnp.asarray(y, float)
    _, pull = jax.vjp(lambda x: lax.conv_general_dilated(x[None], floats, **options)[0], jnp.asarray(x, float))
    found = convolution.transposed_convolution(signal, floats, **settings, extra=stride - 1)
    yield exactly(found, pull(signal)[0], "backward pass of XLA's convolution, in integers")
    plain = convolution.transposed_convolution(y, kernel, stride=stride)
    order = lax.conv_dimension_numbers((1, 3, *[size] * dimensions), kernel.shape, None)
    theirs = lax.conv_transpose(
        signal[None], floats, [stride] * dimensions, "VALID", dimension_numbers=order, transpose_kernel=True
    )[0]
    cut = (slice(None), *[slice(0, n) for n in plain.shape[1:]])  # JAX rounds up to stride · m where taps < stride
    yield exactly(theirs[cut], plain, "jax.lax.conv_transpose without padding")
    ones = convolution.transposed_convolution(np.ones((1, 12), int), np.ones((1, 1, taps), int), stride=stride)[0]
    counts = convolution.overlap_counts(taps, stride, 12)
    yield exactly(counts, ones, "windows that cover each position: counted by ones")
    inside = counts[taps - 1 : len(counts) - taps + 1]
    uneven = int(np.ptp(inside))
    yield exactly(uneven, int(taps % stride > 0), "unevenness inside: 0 only where the stride divides the kernel")
    yield exactly(int(inside.max()), -(-taps // stride), "most windows on a position inside: ⌈k/s⌉")
    pictures = []
    for k in (3, 4):
        line = convolution.overlap_counts(k, 2, 6)[1:13]
        noise = rng.normal(size=(1, 6, 6)) * 0.15 + 1
        image = convolution.transposed_convolution(noise, np.ones((1, 1, k, k)) / k**2, stride=2)[0, 1:13, 1:13]
        pictures += [(f"k = {k}, s = 2: windows", np.outer(line, line) / 4), (f"k = {k}: generated", image)]
    title = "Kernel 3 at stride 2 covers some pixels four times and others once: a checkerboard; kernel 4 is even"
    yield figure.images(title, images=pictures, columns=4)
