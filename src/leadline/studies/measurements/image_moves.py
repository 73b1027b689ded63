"""What moved, mirrored and rotated images do to a subject's outputs and decisions."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import PyTree

from leadline import convolution
from leadline.convolution.symmetry.score_audits import built_in

from ..instrument import NotApplicable
from ..subject import Subject
from .unit_symmetries import dense_layers

PASSES = 25  # forward passes of a row: one for each move, and those of weights drawn anew
LEAST = 64  # images that are moved however little time there is


class Change(NamedTuple):
    """One transformation of images and what it does to outputs and decisions.

    `relative`: change of the outputs as a share of them; `redrawn`: the same for noise and redrawn weights, None where
    it interpolates; `floor`: the same when rotated there and back, for rotations; numbers of decisions that changed,
    are right, and that a Lipschitz bound cannot protect.
    """

    name: str
    kind: str
    relative: float
    redrawn: float | None
    floor: float | None
    changed: int | None
    right: int | None
    unprotected: int | None


class ImageMoves(NamedTuple):
    """Changes under all transformations, of `rows` images with `accuracy` right when untouched.

    `linear_error`: for a network of one layer, the largest difference of a score's change from W(TX - X), and what
    rounding may make of it.
    """

    rows: int
    accuracy: float | None
    changes: tuple[Change, ...]
    linear_error: tuple[float, float] | None

    def of(self, kind: str) -> list[Change]:
        return [c for c in self.changes if c.kind == kind]


def image_moves(subject: Subject, rng: np.random.Generator) -> ImageMoves:
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
    layout = subject.image_layout
    images = layout.to_images(rows.inputs)

    def scores_of(moved: np.ndarray, params: PyTree = None) -> np.ndarray:
        return subject.scores(layout.from_images(moved), params)

    labels = rows.targets if subject.classifies and rows.targets.ndim == 1 else None
    kinds = convolution.usual_transformations(images)
    back = convolution.audit_scores(scores_of, images, kinds.pop("there and back"), labels)
    scores = subject.scores(rows.inputs)
    radii = None if labels is None else _radii(subject, scores)
    changes = []
    for kind, family in kinds.items():
        redrawn, floors = [None] * len(family), [None] * len(family)
        if kind == "rotations":
            floors = [m.relative for m in back]
        else:
            redrawn = built_in(lambda p, x: scores_of(x, p), subject.params, images[:32], family, rng=rng).tolist()
        audit = convolution.audit_scores(scores_of, images, family, labels)
        for m, r, f in zip(audit, redrawn, floors, strict=True):
            reach = None if radii is None else int((m.distance >= radii).sum())
            changes.append(Change(m.name, kind, m.relative, r, f, m.changed, m.right, reach))
    right = None if labels is None else float((scores.argmax(1) == labels).mean())
    return ImageMoves(rows.count, right, tuple(changes), _linear_error(subject, images, scores, kinds["shifts"]))


def _linear_error(
    subject: Subject, images: np.ndarray, scores: np.ndarray, shifts: tuple[convolution.Transformation, ...]
) -> tuple[float, float] | None:
    chain = dense_layers(subject)
    if isinstance(chain, NotApplicable) or chain.widths or not shifts:
        return None
    moved, images = (subject.image_layout.from_images(a) for a in (shifts[0](images), images))
    flat, still = (a.reshape(len(a), -1).astype(float) for a in (moved, images))
    expected = (flat - still) @ np.asarray(chain.weights[0], float).T
    apart = np.abs(subject.scores(moved).astype(float) - scores - expected)
    return float(apart.max()), float((chain.rounding(flat) + chain.rounding(still)).max())


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
    """Whether the outputs do not change for redrawn weights either."""
    return change.redrawn is not None and change.redrawn <= rounding(subject)
