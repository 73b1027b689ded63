"""Changes of an image that leave its class as it is, by strength, and the accuracy that each of them leaves."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from .. import Transformation, audit_scores, rotations

Images = Float[np.ndarray, "_ _ _ ..."]  # (n, height, width, ...)


class Nuisance(NamedTuple):
    """A family of transformations of images by strength, 0 for none: `at(strength)` is one of them."""

    name: str
    unit: str
    strengths: tuple[float, ...]
    at: Callable[[float], Transformation]


def usual_nuisances(
    *,
    brightness: Sequence[float] = (0, 0.1, 0.2, 0.3, 0.4, 0.5),
    shifts: Sequence[int] = (0, 1, 2, 3),
    angles: Sequence[float] = (0, 15, 30, 45, 60, 75, 90),
    occlusions: Sequence[int] = (0, 1, 2, 3, 4),
) -> dict[str, Nuisance]:
    """Brightness added to every pixel, circular shifts to the right, rotations with interpolation, and a square of
    zeros in the middle, of images whose background is 0.

    >>> square = usual_nuisances()["occlusion"].at(2)
    >>> float(square(np.ones((1, 4, 4))).sum())
    12.0
    """

    def brighter(by: float) -> Transformation:
        return Transformation(f"brightness +{by:g}", lambda x: x + np.asarray(by, x.dtype))

    def shifted(by: float) -> Transformation:
        return Transformation(f"shift {by:g}", lambda x: np.roll(x, int(by), axis=2))

    def hidden(size: float) -> Transformation:
        def hide(x: Images) -> Images:
            x, (i, j) = x.copy(), ((side - int(size)) // 2 for side in x.shape[1:3])
            x[:, i : i + int(size), j : j + int(size)] = 0
            return x

        return Transformation(f"square of {size:g}", hide)

    found = (
        Nuisance("brightness", "added to every pixel", tuple(brightness), brighter),
        Nuisance("shift", "pixels", tuple(shifts), shifted),
        Nuisance("rotation", "degrees", tuple(angles), lambda a: rotations([a])[0]),
        Nuisance("occlusion", "pixels a side", tuple(occlusions), hidden),
    )
    return {nuisance.name: nuisance for nuisance in found}


def nuisance_curves(
    scores: Callable[[Images], Float[np.ndarray, "n k"]],
    images: Images,
    labels: Int[np.ndarray, " n"],
    nuisances: Mapping[str, Nuisance] | None = None,
) -> dict[str, Int[np.ndarray, " strengths"]]:
    """How many of n labelled images a classifier has right at every strength of every nuisance (the usual ones).

    >>> bright = lambda x: np.stack([0.5 - x.mean((1, 2)), x.mean((1, 2)) - 0.5], 1)
    >>> images, labels = np.array([[[0.2]], [[0.8]]]), np.array([0, 1])
    >>> nuisances = {"brightness": usual_nuisances(brightness=(0, 0.2, 0.4))["brightness"]}
    >>> nuisance_curves(bright, images, labels, nuisances)["brightness"].tolist()
    [2, 2, 1]
    """
    if len(images) != len(labels):
        raise ValueError(f"nuisance_curves got {len(images)} images and {len(labels)} labels; give one for each.")
    nuisances = usual_nuisances() if nuisances is None else nuisances
    return {
        name: np.array([m.right for m in audit_scores(scores, images, [n.at(s) for s in n.strengths], labels)])
        for name, n in nuisances.items()
    }
