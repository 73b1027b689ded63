"""Virtual examples: transformed copies of images under their old labels, how much they are worth, which to refuse."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray, Shaped

from leadline._checks import require, require_counts, require_rows
from leadline.data import generator
from leadline.probability import binomial_interval

Images = Float[np.ndarray, "_ _ _ ..."]  # (n, height, width, ...)


@runtime_checkable
class Transformation(Protocol):
    """A named map of batches of images, such as `convolution.Transformation`."""

    @property
    def name(self) -> str: ...

    def __call__(self, images: Images) -> Images: ...


class VirtualExamples(NamedTuple):
    """Images with their labels, and which of the given images each is made of."""

    images: Images
    labels: Shaped[np.ndarray, " m"]
    origin: Int[np.ndarray, " m"]


def virtual_examples(
    images: Images,
    labels: Shaped[Array | np.ndarray, " n"],
    transformations: Sequence[Transformation],
    *,
    copies: int | None = None,
    key: PRNGKeyArray | None = None,
) -> VirtualExamples:
    """Every image under every transformation, or under `copies` of them drawn without replacement, with its old label.

    Put the identity among the transformations (`zero_shifts([(0, 0), ...])`) to keep the images themselves. The
    labels must not change: `label_changes` looks for transformations under which they do.

    >>> from leadline.convolution import zero_shifts
    >>> found = virtual_examples(np.eye(4)[None], np.array([7]), zero_shifts([(0, 0), (0, 1), (1, 0)]))
    >>> found.images.shape, found.labels.tolist(), found.origin.tolist()
    ((3, 4, 4), [7, 7, 7], [0, 0, 0])
    """
    require_rows("virtual_examples", images=images, labels=labels)
    images, labels, count = np.asarray(images), np.asarray(labels), len(transformations)
    copies = count if copies is None else copies
    if not 1 <= copies <= count:
        raise ValueError(f"virtual_examples got copies = {copies} of {count} transformations; choose 1 to {count}.")
    chosen = np.tile(np.arange(count), (len(images), 1))
    if copies < count:
        if key is None:
            raise ValueError("virtual_examples draws among the transformations; pass key=jax.random.key(seed).")
        chosen = generator(key).permuted(chosen, axis=1)[:, :copies]
    made = np.empty((len(images), copies, *images.shape[1:]), images.dtype)
    for index, transformation in enumerate(transformations):
        rows, places = np.nonzero(chosen == index)
        if len(rows):
            made[rows, places] = transformation(images[rows])
    origin = np.repeat(np.arange(len(images)), copies)
    return VirtualExamples(made.reshape(-1, *images.shape[1:]), labels[origin], origin)


class EffectiveSize(NamedTuple):
    """How many independent examples n K dependent ones are worth."""

    correlation: float  #: rho, of the losses of two copies of one point
    size: float  #: nK/(1 + (K − 1)ρ)


def virtual_sample_size(losses: Num[Array | np.ndarray, "n copies"]) -> EffectiveSize:
    """nK/(1 + (K − 1)ρ), ρ the correlation of losses among the K copies of a point (the intraclass correlation).

    The mean of all nK losses has the variance σ²/size. ρ = 1 leaves n, ρ = 0 gives nK; estimates of ρ are those of the
    analysis of variance (Kish 1965).

    >>> virtual_sample_size(np.array([[1.0, 1.0], [3.0, 3.0], [8.0, 8.0]]))
    EffectiveSize(correlation=1.0, size=3.0)
    """
    require("virtual_sample_size", axes=2, losses=losses)
    losses = np.asarray(losses, float)
    n, k = losses.shape
    if n < 2 or k < 2:
        raise ValueError(f"virtual_sample_size got {n} point(s) with {k} cop(ies); give at least 2 of each.")
    between = k * losses.mean(axis=1).var(ddof=1)
    within = float(losses.var(axis=1, ddof=1).mean())
    total = between + (k - 1) * within
    rho = float((between - within) / total) if total > 0 else 1.0
    return EffectiveSize(rho, n * k / (1 + (k - 1) * rho) if rho > -1 / (k - 1) else float("inf"))


class LabelChange(NamedTuple):
    """A class of which a transformation makes images of another one."""

    transformation: str
    label: int
    becomes: int
    share: float  #: of the held-out images of that class
    low: float  #: the lower end of that share's interval


def label_changes(
    train_images: Images,
    train_labels: Int[Array | np.ndarray, " n"],
    images: Images,
    labels: Int[Array | np.ndarray, " m"],
    transformations: Sequence[Transformation],
    *,
    share: float = 0.02,
    confidence: float = 0.99,
) -> list[LabelChange]:
    """Transformations that make images of one class into images of another, by a probe on held-out images.

    A moved held-out image counts as one of the class c' if the nearest training image has that label and is no farther
    than 95% of the untouched held-out images have theirs. A transformation is named where more than `share` of a class
    becomes one other class, with this confidence (Clopper-Pearson, for all classes and transformations together): a 6
    turned upside down is a 9. A move that only takes images away from all that was seen is not named; a classifier's
    answers could not tell these apart.

    >>> from leadline.convolution import quarter_turns
    >>> bars = np.zeros((60, 3, 3))
    >>> bars[:30, 1], bars[30:, :, 1] = 1.0, 1.0
    >>> labels = np.repeat([0, 1], 30)
    >>> found = label_changes(bars, labels, bars, labels, quarter_turns())
    >>> [(change.transformation, change.label, change.becomes) for change in found]
    [('turn 90°', 0, 1), ('turn 90°', 1, 0), ('turn 270°', 0, 1), ('turn 270°', 1, 0)]
    """
    require_rows("label_changes", train_images=train_images, train_labels=train_labels)
    require_rows("label_changes", images=images, labels=labels)
    require_counts("label_changes", transformations=len(transformations))
    seen, seen_labels = _flat(train_images), np.asarray(train_labels)
    images, labels = np.asarray(images), np.asarray(labels)
    usual = np.quantile(_nearest(_flat(images), seen)[0], 0.95)
    classes = np.unique(labels)
    level = 1 - 2 * (1 - confidence) / (len(transformations) * len(classes))
    found = []
    for transformation in transformations:
        distances, places = _nearest(_flat(transformation(images)), seen)
        for own in classes:
            here = labels == own
            close = seen_labels[places[here & (distances <= usual)]]
            others, counts = np.unique(close[close != own], return_counts=True)
            if not len(others):
                continue
            most, trials = int(counts.argmax()), int(here.sum())
            low = float(binomial_interval(int(counts[most]), trials, confidence=level)[0])
            if low > share:
                part = float(counts[most] / trials)
                found.append(LabelChange(transformation.name, int(own), int(others[most]), part, low))
    return found


def _flat(images: Images) -> Float[np.ndarray, "n pixels"]:
    return np.asarray(images, float).reshape(len(images), -1)


def _nearest(
    points: Float[np.ndarray, "m d"], others: Float[np.ndarray, "n d"]
) -> tuple[Float[np.ndarray, " m"], Int[np.ndarray, " m"]]:
    from sklearn.neighbors import NearestNeighbors

    distances, places = NearestNeighbors(n_neighbors=1).fit(others).kneighbors(points)
    return distances[:, 0], places[:, 0]
