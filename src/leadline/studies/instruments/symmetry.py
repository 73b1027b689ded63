"""Symmetry: which changes of weights and of images leave the network's outputs as they are."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from leadline.evidence import Comparison, Figure, at_most, close
from leadline.generalisation import exact_interval
from leadline.presentation import figure

from ..instrument import Instrument, Meaning, NotApplicable
from ..measurements.image_moves import Change, ImageMoves, image_moves, is_built_in, rounding
from ..measurements.layer_symmetries import LayerSymmetries, LayerSymmetry, layer_symmetries
from ..measurements.unit_symmetries import UnitSymmetries, unit_symmetries
from ..subject import Subject

CERTAIN = 0.999
MATTERS = 0.05  # of the accuracy that a small move takes away
SHOWN = 16  # layers in a figure


class Measured(NamedTuple):
    """`units`: reordering and rescaling of hidden units; `images`: transformed images; `layers`: what each convolution
    and pooling does to them; None where they do not apply."""

    units: UnitSymmetries | None
    images: ImageMoves | None
    layers: LayerSymmetries | None
    parts: tuple[NotApplicable, ...]


def refuses(subject: Subject) -> str:
    if subject.integer_inputs:
        return "the inputs are integers, such as words: moving them as images are moved means nothing"
    return ""


def measure(subject: Subject, key: PRNGKeyArray) -> Measured:
    """Both kinds of symmetry."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel())
    parts: list[NotApplicable] = []
    units = unit_symmetries(subject, rng, parts)
    if subject.image_shape is None:
        parts.append(
            NotApplicable(
                "shifts, flips and rotations", "an input is an image: height and width, with colours first or last"
            )
        )
        return Measured(units, None, None, tuple(parts))
    layers = layer_symmetries(subject, parts)
    return Measured(units, image_moves(subject, rng), layers, tuple(parts))


def compare(found: Measured, subject: Subject) -> Iterator[Comparison]:
    """Exact symmetries to rounding, built-in invariances, and what Lipschitz bounds allow."""
    for part in found.parts:
        yield part.comparison()
    if found.units is not None:
        yield from _compare_units(found.units)
    if found.images is not None:
        yield from _compare_images(found.images, subject)
    clear = [] if found.layers is None else [y.inside for y in found.layers.layers if y.inside is not None]
    if clear:
        what = "every convolution and pooling moves with the image away from the border: largest relative defect"
        yield at_most(clear, 100 * rounding(subject), what)


def _compare_units(units: UnitSymmetries) -> Iterator[Comparison]:
    for change, what in (
        (units.permuted, "hidden units reordered: largest change of an output"),
        (units.rescaled, "hidden units rescaled: largest change of an output"),
        (units.flipped, "signs of hidden units changed: largest change of an output"),
        (units.head_sum, "softmax does not see a constant: sum of the last layer's gradient over classes"),
    ):
        if change is not None:
            yield close(change[0], 0.0, what, atol=change[1])
    if units.into is not None:
        what = "gradient along every unit's rescaling: into the unit, out of it"
        yield close(units.into, units.out, what, atol=units.balance_rounding)


def _compare_images(images: ImageMoves, subject: Subject) -> Iterator[Comparison]:
    if images.linear_error is not None:
        error, room = images.linear_error
        yield close(error, 0.0, "one linear layer: change of the scores, less W(TX − X)", atol=room)
    for kind in ("shifts", "flips", "turns"):
        family = images.of(kind)
        held = [c for c in family if is_built_in(c, subject)]
        if family:
            what = f"{kind} of images: relative change of the outputs"
            yield at_most([c.relative for c in held or family], rounding(subject), what).given(
                held, f"the architecture is invariant to {kind}, whatever its weights"
            )
    known = np.array([(c.changed, c.unprotected) for c in images.changes if c.unprotected is not None]) / images.rows
    if len(known):
        yield at_most(
            *known.T, "decisions changed, and images moved beyond the reach of a Lipschitz bound", trivial=1.0
        )
    elif images.accuracy is not None:
        yield NotApplicable(
            "decisions protected by a Lipschitz bound", "the network is a chain of known maps"
        ).comparison()


def draw(found: Measured, subject: Subject) -> Iterator[Figure]:
    """Accuracy or change under each transformation of images."""
    if found.images is not None:
        yield _moves_figure(found.images)
    if found.layers is not None:
        yield _layers_figure(found.layers, 100 * rounding(subject))


def _moves_figure(images: ImageMoves) -> Figure:
    """Two panels over the size of a shift and the angle of a rotation, one of bars for flips and turns."""
    labelled = images.accuracy is not None
    height = "share right" if labelled else "relative change of the outputs"
    still = images.accuracy if labelled else 0.0

    def curve(changes: list[Change]) -> tuple[Any, ...]:
        sizes = [float(c.name.split()[-1].rstrip("°")) for c in changes]
        if not labelled:
            return sizes, [c.relative for c in changes]
        ends = [exact_interval(c.right, images.rows, confidence=CERTAIN) for c in changes]
        return sizes, [e.share for e in ends], [e.low for e in ends], [e.high for e in ends]

    shifts, turns = images.of("shifts"), images.of("rotations")
    panels = []
    for title, unit, series in (
        ("Shifts", "pixels", {way: [c for c in shifts if c.name.startswith(way)] for way in ("right", "down")}),
        ("Rotations", "degrees", {"rotated": turns}),
    ):
        points = {name: curve(changes) for name, changes in series.items() if changes}
        if points:
            reach = max(max(c[0]) for c in points.values())
            line = {"if it did not matter": ([0, reach], [still, still])}
            panels.append(figure.curves(title, unit, height, lines=line, points=points))
    rest = images.of("flips") + images.of("turns")
    short = {"upside down": "flip"}
    points_of_rest = {
        short.get(c.name, c.name.removeprefix("turn ")): c.right / images.rows if labelled else c.relative for c in rest
    }
    panels.append(
        figure.categories(
            "Mirrored, flipped upside down, turned",
            "",
            height,
            points={height: points_of_rest},
            rules={"if it did not matter": ("y", still)},
        )
    )
    worst = max(shifts + turns, key=lambda c: -c.right if labelled else c.relative)
    if labelled:
        share = worst.right / images.rows
        told = f"Accuracy {still:.3f} untouched, {share:.3f} under '{worst.name}', its worst small move"
    else:
        told = f"The outputs change by {worst.relative:.0%} of their size under '{worst.name}', the worst small move"
    return figure.beside(told, *panels, columns=2)


def _layers_figure(layers: LayerSymmetries, room: float) -> Figure:
    """Defects of the layers, those of the outputs under the shift in the title."""
    shown = layers.layers if len(layers.layers) <= SHOWN else (*layers.layers[: SHOWN - 4], *layers.layers[-4:])
    columns = ("shift", "inside", "mirror", "turn")
    values = [[_shown(y, column, room) for column in columns] for y in shown]
    return figure.heatmap(
        _lost(layers, room),
        "move; inside: shift, away from the border",
        "",
        values=values,
        xs=list(columns),
        ys=[_short(y.name) for y in shown],
        colour="defect",
        text=True,
    )


def _shown(layer: LayerSymmetry, column: str, room: float) -> float | None:
    picked = {"shift": layer.shifted, "inside": layer.inside, "mirror": layer.mirrored}
    value = picked.get(column, layer.turned)
    return None if value is None else round(value, 2) if value > room else 0.0


def _lost(layers: LayerSymmetries, room: float) -> str:
    """Where equivariance to shifts is lost, in a sentence without its full stop."""
    border, stride = layers.border(room), layers.stride
    words = [f"at the border from {_short(border)} on"] if border else []
    if stride:
        words.append(f"for single pixels by the stride of {_short(stride)}")
    if layers.outputs > room:
        words.append(f"in the head or by the border (the outputs change by {layers.outputs:.0%})")
    if not words:
        return "Every layer moves with the image, and the outputs do not change"
    return f"Equivariance to shifts is lost {', '.join(words)}"


def _short(name: str) -> str:
    return name.replace(".weight", "").replace(".kernel", "")


def interpret(found: Measured, subject: Subject) -> Meaning:
    """Images first, where there are any, then where the layers lose them; else what is known of the weights."""
    meaning = _meaning(found, subject)
    if found.layers is None or meaning.weight == 0.9:
        return meaning
    lost = _lost(found.layers, 100 * rounding(subject))
    return meaning._replace(sentence=f"{meaning.sentence} {lost}.")


def _meaning(found: Measured, subject: Subject) -> Meaning:
    broken = [c for c in compare(found, subject) if str(c.verdict) == "fails"]
    if broken:
        words = f"An exact symmetry does not hold: {broken[0].what}."
        return Meaning(words, 0.9, "Look for an error in the network.", change=1.0, rests_on=broken[0].what)
    weights = _weights_sentence(found.units)
    images = found.images
    if images is None:
        return Meaning(weights or "The inputs are no images, and the weights have no freedom to tell of.", 0.05)
    held = sorted({c.kind for c in images.changes if is_built_in(c, subject)})
    built = f"The architecture is invariant to {' and '.join(held)} whatever its weights. " if held else ""
    if images.accuracy is None:
        worst = max(images.of("shifts"), key=lambda c: c.relative)
        text = f"A shift of the image ({worst.name}) changes the outputs by {worst.relative:.0%} of their size."
        return Meaning(f"{built}{text} {weights}".strip(), 0.4 if worst.relative > 0.5 else 0.25)
    if images.accuracy < 2 / subject.outputs:
        text = f"With {images.accuracy:.0%} right there is no accuracy for a shift or a rotation to take away."
        return Meaning(f"{built}{text} {weights}".strip(), 0.2)
    step = min((c for c in images.changes if c.name in ("right 1", "down 1")), key=lambda c: c.right)
    turn = min(images.of("rotations"), key=lambda c: c.right)
    lost = images.accuracy - step.right / images.rows
    interval = exact_interval(step.right, images.rows, confidence=CERTAIN)
    told = (
        f"A shift by one pixel takes accuracy from {images.accuracy:.1%} to {step.right / images.rows:.1%} "
        f"(99.9% interval {interval.low:.1%} to {interval.high:.1%}), {turn.name.replace('rotate', 'a rotation by')} "
        f"to {turn.right / images.rows:.1%} (interpolation alone changes the scores by {turn.floor:.0%})."
    )
    if lost > MATTERS and interval.high < images.accuracy:
        advice = "Train on shifted and slightly rotated copies, or use convolutions with pooling over positions."
        learnt = "It has learnt where things stand, not only what they are."
        return Meaning(f"{built}{told} {learnt}", min(0.4 + lost / 3, 0.6), advice, change=lost)
    turned = images.accuracy - turn.right / images.rows
    if turned > MATTERS and exact_interval(turn.right, images.rows, confidence=CERTAIN).high < images.accuracy:
        advice = "Train on slightly rotated copies, if such images can occur."
        words = f"{built}{told} It has learnt how things are turned."
        return Meaning(words, min(0.3 + turned / 3, 0.5), advice, change=turned)
    if max(lost, turned) > MATTERS:
        few = f"Whether such moves matter to it cannot be told from {images.rows} images."
        return Meaning(f"{built}{told} {few}", 0.25)
    return Meaning(f"{built}{told} Small moves of the image hardly matter to it. {weights}".strip(), 0.25)


def _weights_sentence(units: UnitSymmetries | None) -> str:
    """What the freedom of the weights means for measures of them; nothing where it is reordering alone."""
    if units is None or units.rescaled is None:
        return ""
    return (
        "Units can be rescaled without changing an answer, so that norms of single layers and sharpness in the weights "
        "mean little by themselves."
    )


INSTRUMENT = Instrument(
    "symmetry",
    "Which changes of weights and of images leave the answers as they are?",
    r"f(P_l W_l P_{l-1}^T) = f(W), \quad \Delta(T) = \Vert f(TX) - f(X) \Vert / \Vert f(X) \Vert",
    (
        "reordering and rescaling: a chain of dense layers (rescaling: φ(at) = aφ(t) for a > 0)",
        "shifts, flips, rotations: inputs are images; shifts wrap around, rotations interpolate",
        "layers: convolutions and poolings whose positions can be followed back to pixels",
    ),
    measure,
    compare,
    draw,
    interpret,
    refuses,
    sources=("cam", "penn", "eth"),
    entries=("equivariance-audit", "nuisance-group-test", "pooling-equivariance"),
)
