"""What a shift of the image does behind pooling: equivariance, relative change, and outputs that stay as they are."""

import numpy as np

from leadline import convolution, data
from leadline.convolution.symmetry.smooth_images import draw_blobs
from leadline.evidence import Int, OneOf, at_least, at_most, claim, close, erratum, exactly, mean
from leadline.presentation import figure

STRIDES = (1, 2, 4)


@claim(sources=("cam", "penn", "sheet"), shows=("convolution.max_pool", "convolution.equivariance_defect"))
def pooling_equivariance(key, side: OneOf(8, 12, 16, 24) = 12, window: Int(1, 4) = 2, images: Int(2, 8) = 4):
    r"""Stride, not the maximum, breaks equivariance.

    Pooling at stride 1 commutes with every circular shift. At stride s it commutes with shifts by multiples of s alone,
    which move the output by D/s; for any other shift no movement of the output undoes it. The same holds for means and
    for plain subsampling. Zero padding breaks equivariance at stride 1 as well, at the border.

    $$P_s S_D = S_{D/s} P_s \iff s \mid D$$

    Assumes: circular shifts; windows that go around the end; images in general position.

    Check: Noise images, every shift, strides 1, 2 and 4; the defect is the least over all movements of the output.
    """
    x = data.generator(key).normal(size=(images, side, side))
    kinds = {
        "maximum": lambda s: lambda x: np.asarray(convolution.max_pool(x, window, s, padding="wrap")),
        "mean": lambda s: lambda x: np.asarray(convolution.average_pool(x, window, s, padding="wrap")),
        "subsampling": lambda s: lambda x: x[:, ::s, ::s],
    }
    shifts = convolution.circular_shifts([(0, d) for d in range(side)])
    divides = np.array([[d % s == 0 for d in range(side)] for s in STRIDES])
    tables = {}
    for name, kind in kinds.items():
        table = np.array([[_least_defect(kind(s), x, t, side // s) for t in shifts] for s in STRIDES])
        tables[name] = table
        kept = table[divides].max()
        yield at_most(kept, 1e-14, f"{name}: largest defect of shifts that the stride divides")
        yield at_least(table[~divides].min(), 0.1, f"{name}: least defect of the other shifts, ‖·‖ relative")
        moved = [
            convolution.equivariance_defect(kind(s), x, shifts[d], shifts[d // s]).relative
            for s in STRIDES
            for d in range(0, side, s)
        ]
        yield at_most(moved, 1e-14, f"{name}: defect where the output is moved by D/s")

    def padded(x):
        return np.asarray(convolution.average_pool(x, 3, 1, padding=1))

    border = convolution.equivariance_defect(padded, x, shifts[1], shifts[1])
    yield at_least(border.relative, 1e-2, "zero padding at stride 1: defect of a shift by one")
    apart = np.abs(padded(shifts[1](x)) - shifts[1](padded(x)))
    yield at_most(apart[:, :, 2:-1].max(), 1e-14, "zero padding at stride 1: defect away from the border")
    options = {"xs": list(range(side)), "ys": [f"stride {s}" for s in STRIDES], "colour": "defect"}
    panels = [
        figure.heatmap(name, "shift D, pixels", "", values=tables[name], **options)
        for name in ("maximum", "subsampling")
    ]
    yield figure.beside("Pooling at stride s commutes with shifts by multiples of s, and with no others", *panels)


def _least_defect(model, x, transformation, side):
    """The least relative defect over all movements of an output of `side` columns."""
    before, after = model(x), model(transformation(x))
    moved = np.stack([np.roll(before, d, axis=2) for d in range(side)])
    return float(np.linalg.norm((moved - after).reshape(side, -1), axis=1).min() / np.linalg.norm(before))


@claim(
    sources=("penn",), shows=("convolution.average_pool", "convolution.filtered_change", "convolution.average_gains")
)
def average_pooling_smooths(key, side: OneOf(8, 12, 16, 24) = 12, window: Int(2, 4) = 2, shift: Int(1, 3) = 1):
    r"""Average pooling moves features as far, and changes them less.

    Averaging at stride 1 is a convolution: its output moves by exactly D pixels when the image does, and at stride s by
    D/s. What falls is the relative change of the output, because the high frequencies, which a shift turns most, are
    damped.

    $$\frac{\|P S x - P x\|^2}{\|P x\|^2} = \frac{\sum_\omega |e^{-i\omega D} - 1|^2 |H(\omega)|^2 |X(\omega)|^2}
    {\sum_\omega |H(\omega)|^2 |X(\omega)|^2}$$

    Assumes: circular shifts.

    Check: Digits (padded with zeros, or cut, to `side`). The movement is where the cross-correlation of the outputs is
    largest; the relative change is measured on moved pixels and predicted from spectra. That it falls with every
    further averaging holds for images like these and is no theorem. The 0.705 raw, 0.490 averaged and 0.517 behind
    maxima that were measured elsewhere belong to an image that is not known.
    """
    digits = data.digits_split()[2].reshape(-1, 8, 8)[data.generator(key).permutation(500)[:20]]
    pad = (side - 8) // 2
    x = np.pad(digits, ((0, 0), (pad, side - 8 - pad), (pad, side - 8 - pad)))
    (by,) = convolution.circular_shifts([(0, shift)])
    gains = convolution.average_gains(x.shape, (window, window))
    pools = {
        "average": lambda x: np.asarray(convolution.average_pool(x, window, 1, padding="wrap")),
        "max": lambda x: np.asarray(convolution.max_pool(x, window, 1, padding="wrap")),
    }
    averaged = pools["average"]
    yield at_most(
        convolution.equivariance_defect(averaged, x, by, by).relative, 1e-14, "equivariance defect at stride 1"
    )
    far = _movement(averaged(x), averaged(by(x)))
    moved = exactly(far, shift, "pixels that averaged features move, each of 20 digits: exactly D")
    yield moved
    less = at_most(far, shift, "pixels that averaged features move, each of 20 digits: less than D", strict=True)
    yield erratum(less, of=moved, by="penn", prints="features move by less than Δ after average pooling")

    def strided(x):
        return np.asarray(convolution.average_pool(x, window, 2, padding="wrap"))

    (twice,) = convolution.circular_shifts([(0, 2 * shift)])
    what = "stride 2: pixels of the output that features move when the image moves by 2D"
    yield exactly(_movement(strided(x), strided(twice(x))), shift, what)
    seen, predicted = [], []
    current = x
    for times in range(5):
        seen.append(convolution.invariance_defect(lambda x: x, current, by).relative)
        predicted.append(convolution.filtered_change(x, (0, shift), gains**times))
        current = averaged(current)
    yield close(seen, predicted, "relative change after 0 to 4 averagings, against the spectrum", rtol=1e-10)
    yield at_most(seen[1:], seen[:-1], "relative change after one more averaging", strict=True).as_empirical()
    by_kind = {name: convolution.invariance_defect(f, x, by).relative for name, f in pools.items()}
    what = "relative change behind max pooling, against none"
    yield at_most(by_kind["max"], seen[0], what, strict=True).as_empirical()
    reach = np.arange(side // 2 + 1)
    moves = convolution.circular_shifts([(0, int(d)) for d in reach])
    curves = {
        name: (reach, [convolution.invariance_defect(f, x, t).relative for t in moves])
        for name, f in {"raw": lambda x: x, **pools}.items()
    }
    lines = {
        name: (reach, [convolution.filtered_change(x, (0, int(d)), g) for d in reach])
        for name, g in (("raw, by the spectrum", None), ("average, by the spectrum", gains))
    }
    shares = f"averaged digits by {by_kind['average']:.2f} of their size, raw ones by {seen[0]:.2f}"
    title = f"A shift by {shift} changes {shares}"
    first = figure.curves(f"windows of {window}", "shift D, pixels", "relative change", lines=lines, points=curves)
    times = np.arange(5)
    name = f"shift by {shift}"
    data_of = {"lines": {"by the spectrum": (times, predicted)}, "points": {"measured": (times, seen)}}
    yield figure.beside(title, first, figure.curves(name, "times averaged", "relative change", **data_of))


def _movement(before, after):
    """By how many columns each map moved: where its circular cross-correlation with the moved one is largest."""
    turned = np.fft.ifft(np.fft.fft(after, axis=2) * np.fft.fft(before, axis=2).conj(), axis=2).real.sum(1)
    return turned.argmax(1)


@claim(sources=("penn",), shows=("convolution.max_pool",))
def max_pooling_local_invariance(key, window: Int(2, 8) = 4, shift: Int(1, 2) = 1, images: Int(20, 200) = 60):
    r"""Max pooling is invariant where the maximum stays in its window.

    An output is unchanged if the largest entry of its window is still in the window after the shift and none larger
    came in. An isolated peak at a random place stays with probability (r − D)/r for each axis; of independent noise,
    (r − D)/(r + D) of the outputs stay. The map as a whole is not invariant: at stride 1 it moves with the image.

    $$\Pr[\text{unchanged}] = \frac{r - D}{r} \text{ (peak)}, \quad \frac{r - D}{r + D} \text{ (noise)}$$

    Assumes: circular shifts along one axis by D ≤ r; windows do not overlap; noise has a density.

    Check: A peak at every place of the image; noise images; smooth scenes, where the rule is checked window by window.
    """
    side = 4 * window
    rng = data.generator(key)
    shifts = convolution.circular_shifts([(0, d) for d in range(window + 1)])

    def pool(x):
        return np.asarray(convolution.max_pool(x, window, padding="wrap"))

    peaks = np.eye(side**2).reshape(-1, side, side)
    own = pool(peaks) == 1  # the window in which each peak stands
    reach = np.arange(window + 1)
    stay = np.array([(pool(t(peaks)) == 1)[own].sum() for t in shifts])
    yield exactly(
        stay * window, (window - reach) * side**2, "isolated peak: outputs unchanged, times r, over all places"
    )
    noise = rng.normal(size=(images, side, side))
    shares = np.array([(pool(t(noise)) == pool(noise)).mean((1, 2)) for t in shifts])
    what = f"noise: share of outputs unchanged under a shift by {shift}, mean over images"
    yield mean(shares[shift], (window - shift) / (window + shift), what)
    scenes = draw_blobs(6, side, key=key)
    found, expected = (
        np.array([f(scenes, t, d) for d, t in enumerate(shifts)]) for f in (_unchanged(pool), _stays(window))
    )
    yield exactly(found, expected, "smooth scenes: outputs unchanged, against maxima that stay in their window")

    def dense(x):
        return np.asarray(convolution.max_pool(x, window, 1, padding="wrap"))

    by = shifts[shift]
    equivariant = at_most(
        convolution.equivariance_defect(dense, noise, by, by).relative, 0.0, "stride 1: map against the map moved by D"
    )
    yield equivariant
    changed = convolution.invariance_defect(dense, noise, by).relative
    still = at_most(
        changed, 0.0, f"stride 1: relative change of the map under a shift by {shift}, less than the window"
    )
    yield erratum(still, of=equivariant, by="penn", prints="shifts of up to k pixels leave the output the same")
    lines = {
        "peak, (r − D)/r": (reach, (window - reach) / window),
        "noise, (r − D)/(r + D)": (reach, (window - reach) / (window + reach)),
    }
    spread = 2 * shares.std(1, ddof=1) / np.sqrt(images)
    points = {
        "peak": (reach, stay / side**2),
        "noise": (reach, shares.mean(1), shares.mean(1) - spread, shares.mean(1) + spread),
        "smooth scenes": (reach, found.mean((1, 2, 3))),
    }
    title = (
        f"A shift by {shift} leaves {shares[shift].mean():.0%} of noise's {window} × {window} maxima as they are; at "
    )
    title += f"stride 1 the map changes by {changed:.0%}"
    yield figure.curves(title, "shift D, pixels", "share of outputs unchanged", lines=lines, points=points)


def _unchanged(pool):
    return lambda x, t, d: pool(t(x)) == pool(x)


def _stays(window):
    """Window by window: the maximiser moved by d is inside, and what comes in from the left is not larger."""

    def one(x, t, d):
        blocks = x.reshape(len(x), 4, window, 4, window).transpose(0, 1, 3, 2, 4)  # (n, rows, columns, r, r)
        keep, come = blocks[..., : window - d], np.roll(blocks, 1, axis=2)[..., window - d :]
        largest = blocks.max((3, 4))
        inside = keep.max((3, 4), initial=-np.inf) == largest
        return inside & (come.max((3, 4), initial=-np.inf) <= largest)

    return one
