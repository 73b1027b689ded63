"""What transformed images do to the scores and decisions of a network, and which invariances its architecture has."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from .image_transformations import Images, Transformation, compose, rotate_images, shift_images

Scores = Callable[[Images], Float[np.ndarray, "n k"]]


class Moved(NamedTuple):
    """The outputs on transformed images beside those on the images.

    `relative` is ‖f(TX) - f(X)‖/‖f(X)‖, `changed` the number of decisions (largest score) that differ and `right` that
    of right ones, among `rows`; `distance` holds ‖TX - X‖ of each image. The last two are None without labels.
    """

    name: str
    rows: int
    relative: float
    distance: Float[np.ndarray, " n"]
    changed: int | None
    right: int | None


def audit_scores(
    scores: Scores,
    images: Images,
    transformations: Sequence[Transformation],
    labels: Int[np.ndarray, " n"] | None = None,
) -> list[Moved]:
    """Change of scores, decisions and right decisions under each transformation; scores is a function of a batch.

    >>> from leadline.convolution.symmetry.image_transformations import flips
    >>> halves = lambda x: np.stack([x[:, :, :1].sum((1, 2)), x[:, :, 1:].sum((1, 2))], 1)
    >>> found = audit_scores(halves, np.array([[[1.0, 0.0], [1.0, 0.0]]]), flips(), np.array([0]))
    >>> [(m.name, m.changed, m.right) for m in found[:2]]
    [('identity', 0, 1), ('flip left-right', 1, 0)]
    """
    before = np.asarray(scores(images), float)
    size = float(np.linalg.norm(before))
    found = []
    for t in transformations:
        moved = t(images)
        after = np.asarray(scores(moved), float)
        apart = float(np.linalg.norm(after - before))
        distance = np.linalg.norm((moved - images).reshape(len(images), -1).astype(float), axis=1)
        decided = None if labels is None else after.argmax(1)
        found.append(
            Moved(
                t.name,
                len(images),
                apart / size if size else float(apart > 0),
                distance,
                None if decided is None else int((decided != before.argmax(1)).sum()),
                None if decided is None else int((decided == labels).sum()),
            )
        )
    return found


def redraw_parameters(params: PyTree, *, rng: np.random.Generator) -> PyTree:
    """Gaussian arrays in the place of all parameters, with the root mean square of each (0.1 where that is 0)."""

    def drawn(leaf: Array | np.ndarray) -> Array:
        scale = float(np.sqrt(np.mean(np.square(np.asarray(leaf, float))))) or 0.1
        return jax.numpy.asarray(scale * rng.standard_normal(leaf.shape), leaf.dtype)

    return jax.tree.map(drawn, params)


def built_in(
    scores: Callable[[PyTree, Images], Float[np.ndarray, "n k"]],
    params: PyTree,
    images: Images,
    transformations: Sequence[Transformation],
    *,
    rng: np.random.Generator,
) -> Float[np.ndarray, " transformations"]:
    """Relative changes of the outputs of noise images at redrawn parameters: 0 to rounding where the architecture,
    whatever its weights, is invariant. Only the shape and type of `images` matter."""
    noise = rng.standard_normal(images.shape).astype(images.dtype)
    weights = redraw_parameters(params, rng=rng)
    return np.array([m.relative for m in audit_scores(lambda x: scores(weights, x), noise, transformations)])


def usual_transformations(
    images: Images, *, shifts: Sequence[int] = (1, 2, 3), angles: Sequence[float] = (5, 10, 15)
) -> dict[str, tuple[Transformation, ...]]:
    """Shifts, flips, turns and rotations of photographs or digits by kind; what comes in has the background's value.

    Shifts wrap around. "there and back" rotates by every angle and back: what interpolation alone does. Turns by 90
    and 270 degrees need square images.
    """
    frame = np.concatenate([images[:, [0, -1]].ravel(), images[:, :, [0, -1]].ravel()])
    ground = np.asarray(np.median(frame), images.dtype)

    def rotated(x: Images, angle: float) -> Images:
        return rotate_images(x - ground, angle) + ground

    there = tuple(Transformation(f"rotate {a:g}°", lambda x, a=a: rotated(x, a), False) for a in angles)
    back = [Transformation(f"back {a:g}°", lambda x, a=a: rotated(x, -a), False) for a in angles]
    square = images.shape[1] == images.shape[2]
    within = [d for d in shifts if d < min(images.shape[1:3])]
    return {
        "shifts": tuple(
            Transformation(f"{way} {d}", lambda x, by=by: shift_images(x, *by))
            for d in within
            for way, by in (("right", (0, d)), ("down", (d, 0)))
        ),
        "flips": (
            Transformation("mirror", lambda x: x[:, :, ::-1]),
            Transformation("upside down", lambda x: x[:, ::-1]),
        ),
        "turns": tuple(
            Transformation(f"turn {90 * k}°", lambda x, k=k: np.rot90(x, k, axes=(1, 2)))
            for k in ((1, 2, 3) if square else (2,))
        ),
        "rotations": there,
        "there and back": tuple(compose(b, t) for b, t in zip(back, there, strict=True)),
    }
