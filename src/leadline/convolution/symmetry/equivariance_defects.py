"""How far a model is from invariant or equivariant: f(TX) against f(X) or T'f(X), for any model and transformation."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from .image_transformations import Images, Transformation

Model = Callable[[Any], Any]


class Defect(NamedTuple):
    """Differences after a transformation: the largest and the mean absolute one, and the norm relative to ‖f(X)‖."""

    largest: float
    mean: float
    relative: float


def invariance_defect(model: Model, images: Images, transformation: Transformation) -> Defect:
    """|f(TX) - f(X)|: largest, mean, and ‖f(TX) - f(X)‖/‖f(X)‖ over a batch of images.

    >>> from leadline.convolution import circular_shifts
    >>> right = circular_shifts([(0, 1)])[0]
    >>> invariance_defect(lambda x: x.sum((1, 2)), np.eye(3)[None], right)
    Defect(largest=0.0, mean=0.0, relative=0.0)
    """
    return equivariance_defect(model, images, transformation, lambda y: y)


def equivariance_defect(
    model: Model, images: Images, transformation: Transformation, action: Callable[[Any], Any]
) -> Defect:
    """|f(TX) - T'f(X)| with the action T' on outputs: largest, mean, and the norm relative to ‖f(X)‖.

    >>> from leadline.convolution import circular_shifts
    >>> right, left = circular_shifts([(0, 1), (0, -1)])
    >>> square = lambda x: x**2
    >>> equivariance_defect(square, np.eye(3)[None], right, right).relative
    0.0
    >>> equivariance_defect(square, np.eye(3)[None], right, left).relative > 1
    True
    """
    images = np.asarray(images)
    outputs = np.asarray(model(images))
    return _defect(np.asarray(model(transformation(images))), np.asarray(action(outputs)), outputs)


def _defect(seen: np.ndarray, expected: np.ndarray, outputs: np.ndarray) -> Defect:
    if seen.shape != expected.shape:
        raise ValueError(
            f"The model gives {seen.shape} on transformed images and the action {expected.shape}; "
            "give an action with the same output shape."
        )
    apart = np.abs(seen.astype(float) - expected)
    size = float(np.linalg.norm(outputs.astype(float)))
    relative = float(np.linalg.norm(apart)) / size if size else float(np.inf if apart.any() else 0.0)
    return Defect(float(apart.max()), float(apart.mean()), relative)


class LayerDefects(NamedTuple):
    """Relative defects of every layer (rows) under every transformation (columns), and what each layer is.

    `verdicts` are "invariant", "equivariant" or "neither", within the tolerance for all transformations.
    """

    layers: tuple[str, ...]
    transformations: tuple[str, ...]
    invariance: Float[np.ndarray, "layers transformations"]
    equivariance: Float[np.ndarray, "layers transformations"]
    verdicts: tuple[str, ...]


def layer_defects(
    stages: Callable[[Any], Mapping[str, Any]],
    images: Images,
    transformations: Sequence[Transformation],
    actions: Sequence[Callable[[Any], Any]] | None = None,
    *,
    tolerance: float = 1e-6,
) -> LayerDefects:
    """Defects of every layer of a model: `stages` gives the outputs of the layers of a batch by name.

    `actions` are T' for each T (T itself if not given); outputs without two axes of positions have no such action and
    are judged for invariance alone.

    >>> from leadline.convolution import circular_shifts
    >>> stages = lambda x: {"square": x**2, "sum": (x**2).sum((1, 2)), "ramp": x * np.arange(3)}
    >>> layer_defects(stages, np.random.default_rng(0).normal(size=(4, 3, 3)), circular_shifts([(0, 1)])).verdicts
    ('equivariant', 'invariant', 'neither')
    """
    images = np.asarray(images)
    actions = tuple(transformations) if actions is None else tuple(actions)
    before = {name: np.asarray(value) for name, value in stages(images).items()}
    invariance, equivariance = np.zeros((2, len(before), len(transformations)))
    for column, (transformation, action) in enumerate(zip(transformations, actions, strict=True)):
        after = stages(transformation(images))
        for row, (name, outputs) in enumerate(before.items()):
            seen = np.asarray(after[name])
            invariance[row, column] = _defect(seen, outputs, outputs).relative
            spatial = outputs.ndim > 2
            expected = np.asarray(action(outputs)) if spatial else outputs
            equivariance[row, column] = _defect(seen, expected, outputs).relative if spatial else np.nan
    verdicts = tuple(
        "invariant" if (i <= tolerance).all() else "equivariant" if (e <= tolerance).all() else "neither"
        for i, e in zip(invariance, equivariance, strict=True)
    )
    return LayerDefects(tuple(before), tuple(t.name for t in transformations), invariance, equivariance, verdicts)


class ActionFit(NamedTuple):
    """A matrix T' with f(TX) ≈ T'f(X), and the relative error it leaves on other images."""

    matrix: Float[np.ndarray, "k k"]
    relative: float


def fit_action(model: Model, images: Images, others: Images, transformation: Transformation) -> ActionFit:
    """The linear action T' on outputs that fits f(TX) = T'f(X) best by least squares; its error on `others`.

    A small error says that the outputs on TX are determined linearly by those on X: the model is equivariant for
    some action, though nobody said for which.
    """
    shape = (len(images), -1)
    outputs = np.asarray(model(np.asarray(images)), dtype=float).reshape(shape)
    moved = np.asarray(model(transformation(images)), dtype=float).reshape(shape)
    if len(outputs) < outputs.shape[1]:
        raise ValueError(
            f"fit_action got {len(outputs)} images for outputs of {outputs.shape[1]} numbers; give as many or more."
        )
    matrix = np.linalg.lstsq(outputs, moved, rcond=None)[0].T

    def flat(x: Any) -> np.ndarray:
        return np.asarray(model(x), dtype=float).reshape(len(x), -1)

    return ActionFit(matrix, equivariance_defect(flat, others, transformation, lambda y: y @ matrix.T).relative)


def homomorphism_defect(
    second: Float[np.ndarray, "k k"], first: Float[np.ndarray, "k k"], both: Float[np.ndarray, "k k"]
) -> float:
    """‖T'_g T'_h - T'_{gh}‖/‖T'_{gh}‖: whether fitted actions compose as the transformations do.

    >>> quarter = np.array([[0.0, -1.0], [1.0, 0.0]])
    >>> homomorphism_defect(quarter, quarter, -np.eye(2))
    0.0
    """
    return float(np.linalg.norm(second @ first - both) / np.linalg.norm(both))
