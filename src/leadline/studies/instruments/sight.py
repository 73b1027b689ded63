"""Sight: how far a convolutional network sees, how much of that it uses, and what its strides throw away."""

from collections.abc import Iterator
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from leadline.convolution.pooling.stride_aliasing import Aliasing
from leadline.evidence import Comparison, Figure, Verdict, mean
from leadline.presentation import figure

from ..instrument_contract import Instrument, Meaning, NotApplicable
from ..measurements.image_fields import SeenField, drawn_widths, image_maps, position_axes, seen_field
from ..subject import Subject

CELLS = 32  # on a side of the picture of a field
MOVED = 128  # images that are shifted, at most
FARTHEST = 8  # pixels that images are shifted
MATTERS = 0.1  # of the scores' size, that a shift by one pixel changes
STEPWISE = "change by a shift of all strides together, less that by half of it"


class Measured(NamedTuple):
    """`field`: what the last convolution sees; `sensitivity`: |derivative| of its middle unit by each pixel; `widths`:
    squared width over the predicted one for kernels drawn anew, one number a draw; `strides`: what each throws away.

    `changes` are relative changes of the outputs under shifts by 1, 2, ... pixels, `total` is how many pixels one step
    of the last map is, and `stepwise` holds, image by image, ‖Δf‖/‖f‖ under a shift by `total` pixels less that under
    a shift by half as many (None where no layer has a stride, or the images are too small for it).
    """

    field: SeenField | None
    sensitivity: np.ndarray | None
    widths: np.ndarray | None
    strides: tuple[Aliasing, ...]
    total: int
    changes: tuple[float, ...]
    stepwise: np.ndarray | None
    rows: int
    parts: tuple[NotApplicable, ...]


def refuses(subject: Subject) -> str:
    if subject.image_shape is None:
        return "the inputs are no images, so that nothing says how far a unit sees"
    if not any(layer.is_convolution for layer in subject.shared.dissection.layers):
        return "the network has no convolution: every unit of its first layer sees the whole image"
    return ""


def measure(subject: Subject, key: PRNGKeyArray) -> Measured:
    from leadline import convolution

    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel())
    maps, parts = image_maps(subject), []
    field, seen = seen_field(subject, maps, parts)
    widths = None if field is None else drawn_widths(subject, maps, field, rng)
    if widths is None:
        why = "the field of the last convolution lies inside the image and all paths to it are of one kind"
        parts.append(NotApplicable("width of the field for kernels drawn anew", why))
    rows = subject.test or subject.train
    count = subject.budget.rows(
        "sight",
        (2 * FARTHEST + 4) * subject.budget.costs.forward,
        min(rows.count, MOVED),
        least=min(rows.count, 32),
        of=rows.count if rows.count <= MOVED else None,
        what="images moved, rows",
    )
    inputs, axes = rows.inputs[:count], position_axes(subject)
    strides = convolution.stride_aliasing(subject.shared.dissection, subject.params, np.asarray(inputs), maps, axes)
    if not strides:
        parts.append(NotApplicable("change that a stride makes of a shift", "a layer with a stride is found"))
    total = max((max(m.seen.jump) for m in maps), default=1)
    still = np.asarray(subject.scores(inputs), float)
    sizes = _norms(still)
    apart = [
        _norms(np.asarray(subject.scores(np.roll(inputs, pixels, axis=1 + axes[1])), float) - still)
        for pixels in range(1, min(max(total, 2), FARTHEST, inputs.shape[1 + axes[1]] - 1) + 1)
    ]
    whole = float(np.linalg.norm(sizes))
    stepwise = None
    if 1 < total <= len(apart):
        stepwise = (apart[total - 1] - apart[total // 2 - 1]) / np.maximum(sizes, np.finfo(float).tiny)
    else:
        why = f"the strides of all layers together make up 2 to {FARTHEST} pixels, fewer than an image has"
        parts.append(NotApplicable(STEPWISE, why))
    changes = tuple(float(np.linalg.norm(each)) / whole if whole else 0.0 for each in apart)
    return Measured(field, seen, widths, tuple(strides), total, changes, stepwise, count, tuple(parts))


def _norms(outputs: np.ndarray) -> np.ndarray:
    """One norm a row."""
    return np.linalg.norm(outputs.reshape(len(outputs), -1), axis=1)


def compare(found: Measured, subject: Subject) -> Iterator[Comparison]:
    """The width of fields, and whether strides or places are what a shift meets.

    That a field lies in the box of kernels and strides, and that a stride keeps the response between the kept positions
    after a shift, is true of every network: tests/convolution has it, and the pictures show both.
    """
    if found.widths is not None:
        what = "kernels drawn anew: squared width of the last convolution's field, over Σ (k² − 1)/12 · jump²"
        yield mean(found.widths, 1.0, what).as_empirical()
    if found.stepwise is not None:
        yield mean(found.stepwise, 0.0, STEPWISE, side="at most").as_empirical()
    for part in found.parts:
        yield part.comparison()


def draw(found: Measured, subject: Subject) -> Iterator[Figure]:
    panels = []
    field, seen = found.field, found.sensitivity
    if field is not None and seen is not None:
        step = -(-max(seen.shape) // CELLS)  # pixels in a cell
        rows, columns = (-(-side // step) for side in seen.shape)
        padded = np.pad(seen, [(0, rows * step - seen.shape[0]), (0, columns * step - seen.shape[1])])
        cells = padded.reshape(rows, step, columns, step).max((1, 3))
        ends = zip(field.first, field.last, strict=True)
        box = ", ".join(f"{name} {a} to {b}" for name, (a, b) in zip(("rows", "columns"), ends, strict=True))
        panels.append(
            figure.heatmap(
                f"What one unit of {_short(field.layer)} looks at; its box: {box}",
                "column",
                "row",
                values=cells,
                xs=list(range(0, columns * step, step)),
                ys=list(range(0, rows * step, step)),
                colour="|derivative|",
            )
        )
    if found.strides:
        shown = {_short(each.name): each for each in found.strides}
        lines = {"by the response at stride 1": {n: e.predicted for n, e in shown.items() if e.predicted is not None}}
        points = {
            "measured": {n: e.measured for n, e in shown.items() if e.measured is not None},
            "energy above the new Nyquist frequency": {n: e.energy for n, e in shown.items()},
        }
        points = {name: values for name, values in points.items() if values}
        lines = {name: values for name, values in lines.items() if values}
        panels.append(
            figure.categories(
                "A shift by less than the stride: relative change of a layer", "", "share", lines=lines, points=points
            )
        )
    pixels = np.arange(1, len(found.changes) + 1)
    panels.append(
        figure.curves(
            f"Outputs under shifts; one step of the last map is {found.total} pixels",
            "pixels to the right",
            "relative change of the outputs",
            points={"outputs": (pixels, np.array(found.changes))},
        )
    )
    yield figure.beside(_title(found), *panels)


def _title(found: Measured) -> str:
    told = f"A shift by one pixel changes the outputs by {found.changes[0]:.0%} of their size"
    if found.field is None:
        return told
    size = " x ".join(map(str, found.field.size))
    return (
        f"The last convolution sees {size} pixels and mostly looks at {found.field.mostly}; {told[0].lower()}{told[1:]}"
    )


def _short(name: str) -> str:
    return name.removesuffix(".weight").removesuffix(".kernel")


def interpret(found: Measured, subject: Subject) -> Meaning:
    told = ""
    if found.field is not None:
        side = max(found.field.size)
        told = (
            f"One unit of the last convolution can see {' x '.join(map(str, found.field.size))} pixels, "
            f"{found.field.share:.0%} of the image, and 95% of its derivative lies within {found.field.mostly}"
        )
        if found.field.mostly < side and found.field.share == 1.0:
            told += ", much less than the box" if 2 * found.field.mostly < side else ""
        told += ". "
    worst = max(found.strides, key=lambda e: e.energy, default=None)
    one, step = found.changes[0], found.changes[min(found.total, len(found.changes)) - 1]
    shifted = f"A shift by one pixel changes the outputs by {one:.0%} of their size"
    if found.total > 1 and len(found.changes) >= found.total:
        shifted += f", one by {found.total}, the stride of all layers together, by {step:.0%}"
    if worst is None:
        none = (
            "No layer has a stride." if found.total == 1 else "Its strides are written in a way that is not read here."
        )
        return Meaning(f"{told}{shifted}. {none}", 0.2)
    stride = f"The stride of {_short(worst.name)} folds {worst.energy:.0%} of its response onto lower frequencies"
    folded = f"{shifted}. {stride}"
    if one > MATTERS and worst.energy > MATTERS:
        places = any(c.what == STEPWISE and c.verdict is Verdict.FAILS for c in compare(found, subject))
        if places:
            folded += "; a shift by whole strides changes more, so that the border or the head is what knows places"
        advice = (
            "Pool over all positions before the dense layers, or train on shifted copies, if places should not matter."
            if places
            else f"Blur before the stride of {_short(worst.name)} (convolution.blur_pool), or train on shifted copies."
        )
        rests = STEPWISE if found.stepwise is not None else ""
        return Meaning(f"{told}{folded}.", min(0.3 + one / 4, 0.5), advice, change=min(one, 1.0), rests_on=rests)
    if found.field is not None and found.field.share < 0.5:
        return Meaning(f"{told}Larger shapes are left to the layers behind it. {folded}.", 0.35)
    return Meaning(f"{told}{folded}.", 0.2)


INSTRUMENT = Instrument(
    "sight",
    "How far does the network see, how much of that does it use, and what do its strides throw away?",
    r"r = 1 + \sum_l (k_l - 1)\, d_l \prod_{m<l} s_m, \quad \sigma^2 = \sum_l \frac{k_l^2 - 1}{12} "
    r"\Big( d_l \prod_{m<l} s_m \Big)^2, \quad y(S_j x)_i = z_{si - 1}",
    (
        "inputs are images; convolutions and poolings can be followed back to pixels",
        "width: kernels are independent with mean zero, and the field lies inside the image",
        "strides: z is the layer's response at stride 1, j the pixels of one position that it reads; away from borders",
    ),
    measure,
    compare,
    draw,
    interpret,
    refuses,
    sources=("eth", "penn", "cam"),
    entries=("receptive-field", "pooling-equivariance", "average-pooling-smooths"),
)
