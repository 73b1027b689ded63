"""Where a network on images stops moving, mirroring and turning with them: equivariance defects layer by layer."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from leadline import convolution
from leadline.convolution import Transformation
from leadline.networks.dissection.feature_maps import FeatureMap, slot_reader

from ..instrument_contract import NotApplicable
from ..intake.image_layout import ImageLayout
from ..subject import Subject
from .image_fields import image_maps

LOOKED_AT = 32  # images whose maps are compared


class LayerSymmetry(NamedTuple):
    """One convolution or pooling: ‖f(TX) - T'f(X)‖/‖f(X)‖ of its result under four moves of the images.

    `shifted`: a shift by `pixels`, one position of its result, around the ends; `inside`: the same, away from seam and
    border, None where no position is; `mirrored` and `turned` (by 90°, None where images are not square).
    """

    name: str
    kind: str
    pixels: int
    stride: int
    shifted: float
    inside: float | None
    mirrored: float
    turned: float | None


class LayerSymmetries(NamedTuple):
    """All layers in order, and the relative change of the outputs under a shift by one position of the last map."""

    layers: tuple[LayerSymmetry, ...]
    outputs: float

    def border(self, room: float) -> str:
        """The first layer that does not move with shifts at the border; nothing where all do."""
        return next((y.name for y in self.layers if y.shifted > room), "")

    @property
    def stride(self) -> str:
        """The first layer whose result has fewer positions than the image by a stride; nothing where there is none."""
        return next((y.name for y in self.layers if y.pixels > 1), "")


def layer_symmetries(subject: Subject, layout: ImageLayout, parts: list[NotApplicable]) -> LayerSymmetries | None:
    """The defects of every convolution and pooling that can be followed back to pixels; else a reason in `parts`."""
    maps = tuple(m for m in image_maps(subject) if len(m.stride) == 2)
    if not maps:
        why = "the network has a convolution on an image that can be followed back to pixels"
        parts.append(NotApplicable("equivariance of each layer", why))
        return None
    images = layout.to_images(np.asarray((subject.test or subject.train).inputs[:LOOKED_AT]))
    seen = _Stages(subject, layout, maps)
    square = layout.height == layout.width
    moves = [Transformation("mirror", lambda x: x[:, :, ::-1])]
    if square:
        moves.append(Transformation("turn 90°", lambda x: np.rot90(x, 1, axes=(1, 2))))
    fixed = convolution.layer_defects(seen, images, moves).equivariance
    found: dict[str, LayerSymmetry] = {}
    for pixels in sorted({m.seen.jump[1] for m in maps}):
        same = [m for m in maps if m.seen.jump[1] == pixels]
        by, one = convolution.circular_shifts([(0, pixels), (0, 1)])
        chosen = _Chosen(seen, [m.name for m in same])
        defects = convolution.layer_defects(chosen, images, [by], [one]).equivariance[:, 0]
        still, moved = chosen(images), chosen(by(images))
        for each, defect in zip(same, defects, strict=True):
            row = maps.index(each)
            inside = _inside(each, still[each.name], moved[each.name], pixels, layout.width)
            turned = float(fixed[row, 1]) if square else None
            found[each.name] = LayerSymmetry(
                each.name, each.kind, pixels, each.stride[1], float(defect), inside, float(fixed[row, 0]), turned
            )
    (by,) = convolution.circular_shifts([(0, maps[-1].seen.jump[1])])
    outputs = convolution.invariance_defect(lambda x: subject.scores(layout.from_images(x)), images, by).relative
    return LayerSymmetries(tuple(found[m.name] for m in maps), outputs)


class _Stages:
    """The maps (n, height, width, ...) of images by name; each batch of images is run once."""

    def __init__(self, subject: Subject, layout: ImageLayout, maps: tuple[FeatureMap, ...]):
        self.subject, self.layout, self.maps = subject, layout, maps
        self.read = slot_reader(subject.shared.dissection, [m.slot for m in maps])
        self.kept: dict[bytes, dict[str, np.ndarray]] = {}

    def __call__(self, images: Float[np.ndarray, "n h w c"]) -> dict[str, np.ndarray]:
        inputs = self.layout.from_images(images)
        mark = inputs.tobytes()
        if mark not in self.kept:
            values = self.read(self.subject.params, inputs)
            self.kept[mark] = {
                m.name: np.moveaxis(np.asarray(values[m.slot]), [a + 1 for a in m.seen.axes], [1, 2]) for m in self.maps
            }
        return self.kept[mark]


class _Chosen:
    """Some of the maps."""

    def __init__(self, stages: _Stages, names: list[str]):
        self.stages, self.names = stages, names

    def __call__(self, images: Float[np.ndarray, "n h w c"]) -> dict[str, np.ndarray]:
        found = self.stages(images)
        return {name: found[name] for name in self.names}


def _inside(each: FeatureMap, still: np.ndarray, moved: np.ndarray, pixels: int, width: int) -> float | None:
    """The defect over the columns that see neither the seam of the shift nor the border."""
    boxes = [each.seen.box((0, i))[1] for i in range(still.shape[2])]
    clear = [i for i, (first, last) in enumerate(boxes) if i and first >= pixels and last < width]
    if not clear:
        return None
    before = still[:, :, [i - 1 for i in clear]].astype(float)
    size = float(np.linalg.norm(before))
    apart = float(np.linalg.norm(moved[:, :, clear] - before))
    return apart / size if size else float(apart > 0)
