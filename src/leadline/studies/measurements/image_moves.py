"""What moved, mirrored and rotated images do to a subject's outputs and decisions."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import PyTree

from leadline import convolution
from leadline.convolution.symmetry.score_audits import Moved, built_in

from ..intake.image_layout import ImageLayout
from ..subject import Subject

PASSES = 25  # forward passes of a row: one for each move, and those of weights drawn anew
LEAST = 64  # images that are moved however little time there is


class Change(NamedTuple):
    """One transformation of images and what it does to the outputs.

    `relative`: change of the outputs as a share of them; `redrawn`: the same for noise and redrawn weights, None where
    it interpolates; `floor`: the same when rotated there and back, for rotations.
    """

    name: str
    kind: str
    relative: float
    redrawn: float | None
    floor: float | None


class Answers(NamedTuple):
    """What transformations do to decisions: `accuracy` untouched, and by transformation how many of the images change
    their decision, are `right`, and could not be protected by a Lipschitz bound (None where there is none)."""

    accuracy: float
    changed: dict[str, int]
    right: dict[str, int]
    unprotected: dict[str, int] | None


class ImageMoves(NamedTuple):
    """Changes under all transformations, of `rows` images; `answers` where these have a label each."""

    rows: int
    changes: tuple[Change, ...]
    answers: Answers | None

    def of(self, kind: str) -> list[Change]:
        return [c for c in self.changes if c.kind == kind]


def image_moves(subject: Subject, layout: ImageLayout, rng: np.random.Generator) -> ImageMoves:
    """Shifts, flips, turns and rotations of the test images (of training images where there are none)."""
    rows = subject.test or subject.train
    rows = rows.first(
        subject.budget.rows(
            "symmetry",
            PASSES * subject.budget.costs.forward,
            min(rows.count, subject.rows),
            least=LEAST,
            of=rows.count if rows.count <= subject.rows else None,
            what="images moved, rows",
        )
    )
    images = layout.to_images(rows.inputs)

    def scores_of(moved: np.ndarray, params: PyTree = None) -> np.ndarray:
        return subject.scores(layout.from_images(moved), params)

    labels = rows.targets if subject.classifies and rows.targets.ndim == 1 else None
    kinds = convolution.usual_transformations(images)
    back = convolution.audit_scores(scores_of, images, kinds.pop("there and back"), labels)
    changes, moves = [], []
    for kind, family in kinds.items():
        redrawn, floors = [None] * len(family), [None] * len(family)
        if kind == "rotations":
            floors = [m.relative for m in back]
        else:
            redrawn = built_in(lambda p, x: scores_of(x, p), subject.params, images[:32], family, rng=rng).tolist()
        audit = convolution.audit_scores(scores_of, images, family, labels)
        moves += audit
        changes += [Change(m.name, kind, m.relative, r, f) for m, r, f in zip(audit, redrawn, floors, strict=True)]
    answers = None if labels is None else _answers(subject, subject.scores(rows.inputs), labels, moves)
    return ImageMoves(rows.count, tuple(changes), answers)


def _answers(subject: Subject, scores: np.ndarray, labels: np.ndarray, moves: list[Moved]) -> Answers:
    radii = _radii(subject, scores)
    return Answers(
        float((scores.argmax(1) == labels).mean()),
        {m.name: m.changed for m in moves if m.changed is not None},
        {m.name: m.right for m in moves if m.right is not None},
        None if radii is None else {m.name: int((m.distance >= radii).sum()) for m in moves},
    )


def _radii(subject: Subject, scores: np.ndarray) -> np.ndarray | None:
    """How far each image may move before its decision can change: min over classes of margin/Lipschitz constant."""
    bracket = subject.shared.lipschitz
    if bracket.upper is None:
        return None
    decided = scores.argmax(1)
    margins = scores.max(1, keepdims=True) - scores.astype(float)
    constants = np.full_like(margins, math.sqrt(2) * bracket.upper) if bracket.pairs is None else bracket.pairs[decided]
    np.put_along_axis(margins, decided[:, None], np.inf, 1)
    return (margins / np.maximum(constants, np.finfo(float).tiny)).min(1)


def rounding(subject: Subject) -> float:
    """What rounding may change of the outputs, as a share of them, in sums of as many terms as an image has numbers."""
    return float(np.finfo(subject.dtype).eps) * (math.prod(subject.input_shape) + 100)


def is_built_in(change: Change, subject: Subject) -> bool:
    """Whether the outputs do not change, neither for these weights on images nor for redrawn ones on noise."""
    return change.redrawn is not None and max(change.relative, change.redrawn) <= rounding(subject)
