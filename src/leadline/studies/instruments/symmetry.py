"""Symmetry: which changes of weights and of images leave the network's outputs as they are."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from leadline.evidence import Comparison, Figure, Verdict, at_least, at_most
from leadline.generalisation import exact_interval
from leadline.generalisation.held_out_bounds import ExactInterval
from leadline.presentation import figure

from ..instrument_contract import Instrument, Meaning, NotApplicable
from ..measurements.image_moves import Answers, Change, ImageMoves, image_moves, is_built_in, rounding
from ..measurements.layer_symmetries import LayerSymmetries, LayerSymmetry, layer_symmetries
from ..measurements.unit_symmetries import UnitSymmetries, unit_symmetries
from ..subject import Subject

CERTAIN = 0.999
MATTERS = 0.05  # of the accuracy that a small move takes away
KEPT = 0.1  # of how far the norms went: up to this gradient flow is said to describe what training did
SHOWN = 16  # layers in a figure
SHIFTED = "share right after a shift by one pixel (upper end), untouched"
TURNED = "share right after a small rotation (upper end), untouched"
BALANCE = "balance of scales: change in training as a share of how far the norms went, a tenth"


class Measured(NamedTuple):
    """`units`: what may be done to hidden units; `images`: transformed images; `layers`: what each convolution and
    pooling does to them; None where they do not apply."""

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
    units, layout = unit_symmetries(subject, parts), subject.image_layout
    if layout is None:
        parts.append(
            NotApplicable(
                "shifts, flips and rotations", "an input is an image: height and width, with colours first or last"
            )
        )
        return Measured(units, None, None, tuple(parts))
    layers = layer_symmetries(subject, layout, parts)
    return Measured(units, image_moves(subject, layout, rng), layers, tuple(parts))


def compare(found: Measured, subject: Subject) -> Iterator[Comparison]:
    """What gradient flow keeps, what small moves take away, what a Lipschitz bound allows, and layers that move along.

    That reordering and rescaling of units, and a constant added to all scores, change nothing is true of every network
    and therefore a test of the library (tests/networks), no comparison.
    """
    for part in found.parts:
        yield part.comparison()
    if found.units is not None and found.units.balance is not None:
        plain = "it was trained by plain gradient descent at a known constant step, without momentum or decay"
        yield (
            at_most(float(found.units.balance.share.max()), KEPT, BALANCE)
            .given(subject.past.plain, plain)
            .given(found.units.balance.moved.any(), "training moved the weights")
            .as_empirical()
        )
    if found.images is not None:
        yield from _compare_images(found.images, subject)
    clear = [] if found.layers is None else [y.inside for y in found.layers.layers if y.inside is not None]
    if clear:
        what = "every convolution and pooling moves with the image away from the border: largest relative defect"
        yield at_most(clear, 100 * rounding(subject), what)


def _compare_images(images: ImageMoves, subject: Subject) -> Iterator[Comparison]:
    answers = images.answers
    if answers is None:
        return
    for what, move in ((SHIFTED, _worst_step(images, answers)), (TURNED, _worst_turn(images, answers))):
        yield (
            at_least(_right(move, images, answers).high, answers.accuracy, what)
            .given(answers.accuracy >= 2 / subject.outputs, "the network is right more often than a guess")
            .as_empirical()
        )
    if answers.unprotected is None:
        why = "the network is a chain of known maps"
        yield NotApplicable("decisions protected by a Lipschitz bound", why).comparison()
        return
    changed, unprotected = (
        np.array([counts[c.name] for c in images.changes]) / images.rows
        for counts in (answers.changed, answers.unprotected)
    )
    what = "decisions changed, and images moved beyond the reach of a Lipschitz bound"
    yield at_most(changed, unprotected, what, trivial=1.0)


def _worst_step(images: ImageMoves, answers: Answers) -> Change:
    """The shift by one pixel that leaves fewer right."""
    return min((c for c in images.changes if c.name in ("right 1", "down 1")), key=lambda c: answers.right[c.name])


def _worst_turn(images: ImageMoves, answers: Answers) -> Change:
    """The rotation by a few degrees that leaves fewest right."""
    return min(images.of("rotations"), key=lambda c: answers.right[c.name])


def _right(change: Change, images: ImageMoves, answers: Answers) -> ExactInterval:
    return exact_interval(answers.right[change.name], images.rows, confidence=CERTAIN)


def draw(found: Measured, subject: Subject) -> Iterator[Figure]:
    """Accuracy or change under each transformation of images; the balance of scales before and after training."""
    if found.images is not None:
        yield _moves_figure(found.images)
    if found.layers is not None:
        yield _layers_figure(found.layers, 100 * rounding(subject))
    if found.units is not None and found.units.balance is not None and found.units.balance.moved.any():
        yield _balance_figure(found.units)


def _balance_figure(units: UnitSymmetries) -> Figure:
    """‖W out of‖² less ‖W into‖² of every hidden layer: kept by gradient flow, so as it was at the start."""
    assert units.balance is not None
    names = [f"{number}: {width} units" for number, width in enumerate(units.hidden, 1)][:SHOWN]
    start, now, share = units.balance.start, units.balance.now, float(units.balance.share.max())
    return figure.categories(
        f"Training changed the balance of scales by {share:.1%} of how far the norms went",
        "hidden layer",
        "‖weights out‖² − ‖weights in‖²",
        lines={"as before training": dict(zip(names, start.tolist(), strict=False))},
        points={"now": dict(zip(names, now.tolist(), strict=False))},
    )


def _moves_figure(images: ImageMoves) -> Figure:
    """Two panels over the size of a shift and the angle of a rotation, one of bars for flips and turns."""
    answers = images.answers
    height = "relative change of the outputs" if answers is None else "share right"
    still = 0.0 if answers is None else answers.accuracy

    def value(change: Change) -> float:
        return change.relative if answers is None else answers.right[change.name] / images.rows

    def curve(changes: list[Change]) -> tuple[Any, ...]:
        sizes = [float(c.name.split()[-1].rstrip("°")) for c in changes]
        if answers is None:
            return sizes, [c.relative for c in changes]
        ends = [_right(c, images, answers) for c in changes]
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
    short = {"upside down": "flip"}
    points_of_rest = {
        short.get(c.name, c.name.removeprefix("turn ")): value(c) for c in images.of("flips") + images.of("turns")
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
    worst = max(shifts + turns, key=lambda c: c.relative if answers is None else -value(c))
    if answers is None:
        told = f"The outputs change by {worst.relative:.0%} of their size under '{worst.name}', the worst small move"
    else:
        told = f"Accuracy {still:.3f} untouched, {value(worst):.3f} under '{worst.name}', its worst small move"
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
    broken = next((c for c in compare(found, subject) if c.verdict is Verdict.FAILS and not c.empirical), None)
    if broken is not None:
        return Meaning(
            f"A layer does not treat all places of the image alike: {broken.what} {broken.measured:.2g}.",
            0.9,
            "Look for weights or a mask that depend on the place, unless they are meant.",
            change=1.0,
            rests_on=broken.what,
        )
    if found.images is None:
        free = _weights_sentence(found.units)
        return Meaning(free or "The inputs are no images, and the weights have no freedom to tell of.", 0.05)
    meaning = _meaning_of_images(found.images, subject)
    if found.layers is None:
        free = "" if meaning.advice else _weights_sentence(found.units)
        return meaning._replace(sentence=f"{meaning.sentence} {free}".strip())
    return meaning._replace(sentence=f"{meaning.sentence} {_lost(found.layers, 100 * rounding(subject))}.")


def _meaning_of_images(images: ImageMoves, subject: Subject) -> Meaning:
    held = sorted({c.kind for c in images.changes if is_built_in(c, subject)})
    built = f"The architecture is invariant to {' and '.join(held)} whatever its weights. " if held else ""
    answers = images.answers
    if answers is None:
        worst = max(images.of("shifts"), key=lambda c: c.relative)
        text = f"A shift of the image ({worst.name}) changes the outputs by {worst.relative:.0%} of their size."
        return Meaning(f"{built}{text}", 0.4 if worst.relative > 0.5 else 0.25)
    if answers.accuracy < 2 / subject.outputs:
        text = f"With {answers.accuracy:.0%} right there is no accuracy for a shift or a rotation to take away."
        return Meaning(f"{built}{text}", 0.2)
    step, turn = _worst_step(images, answers), _worst_turn(images, answers)
    stepped, turned = _right(step, images, answers), _right(turn, images, answers)
    lost, lost_turned = answers.accuracy - stepped.share, answers.accuracy - turned.share
    told = (
        f"{built}A shift by one pixel takes accuracy from {answers.accuracy:.1%} to {stepped.share:.1%} (99.9% "
        f"interval {stepped.low:.1%} to {stepped.high:.1%}), {turn.name.replace('rotate', 'a rotation by')} to "
        f"{turned.share:.1%} (interpolation alone changes the scores by {turn.floor or 0.0:.0%})."
    )
    if lost > MATTERS and stepped.high < answers.accuracy:
        advice = "Train on shifted and slightly rotated copies, or use convolutions with pooling over positions."
        learnt = "It has learnt where things stand, not only what they are."
        return Meaning(f"{told} {learnt}", min(0.4 + lost / 3, 0.6), advice, change=lost, rests_on=SHIFTED)
    if lost_turned > MATTERS and turned.high < answers.accuracy:
        advice = "Train on slightly rotated copies, if such images can occur."
        words = f"{told} It has learnt how things are turned."
        return Meaning(words, min(0.3 + lost_turned / 3, 0.5), advice, change=lost_turned, rests_on=TURNED)
    if max(lost, lost_turned) > MATTERS:
        return Meaning(f"{told} Whether such moves matter to it cannot be told from {images.rows} images.", 0.25)
    return Meaning(f"{told} Small moves of the image hardly matter to it.", 0.25)


def _weights_sentence(units: UnitSymmetries | None) -> str:
    """What the freedom of the weights means for measures of them; nothing where it is reordering alone."""
    if units is None or not units.rescalable:
        return ""
    free = (
        "Units can be rescaled without changing an answer, so that norms of single layers and sharpness in the weights "
        "mean little by themselves."
    )
    if units.balance is None or not units.balance.moved.any():
        return free
    share = float(units.balance.share.max())
    return (
        f"{free} Gradient flow would keep ‖weights out‖² − ‖weights in‖² of each layer; training changed it by "
        f"{share:.1%} of how far these norms went."
    )


INSTRUMENT = Instrument(
    "symmetry",
    "Which changes of weights and of images leave the answers as they are?",
    r"\Delta(T) = \Vert f(TX) - f(X) \Vert / \Vert f(X) \Vert, \quad "
    r"\frac{d}{dt} \big( \Vert W_{l+1} \Vert^2 - \Vert W_l \Vert^2 - \Vert b_l \Vert^2 \big) = 0",
    (
        "balance of scales: a chain of dense layers with φ(at) = aφ(t) for a > 0, trained by gradient flow",
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
