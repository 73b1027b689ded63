"""Virtual examples: transformed copies of images under their old labels, how much they are worth, which to refuse."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray, Shaped

from leadline._checks import require, require_counts, require_rows
from leadline.convolution import Transformation
from leadline.data import generator
from leadline.probability import binomial_interval

Images = Float[np.ndarray, "_ _ _ ..."]  # (n, height, width, ...)


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
    if copies < count and key is None:
        raise ValueError("virtual_examples draws among the transformations; pass key=jax.random.key(seed).")
    order = np.tile(np.arange(count), (len(images), 1))
    chosen = order if copies == count else generator(key).permuted(order, axis=1)[:, :copies]
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
    """A class that a transformation seems to turn into another."""

    transformation: str
    label: int
    becomes: int
    share: float  #: of the held-out images of that class, that are taken for the other
    low: float  #: the lower end of that share's interval


def label_changes(
    decide: Callable[[Images], Any],
    images: Images,
    labels: Int[Array | np.ndarray, " n"],
    transformations: Sequence[Transformation],
    *,
    share: float = 0.5,
    confidence: float = 0.99,
) -> list[LabelChange]:
    """Transformations under which images of one class are taken for another one, by a probe on held-out images.

    `decide` gives the labels of a classifier that was trained without the transformations. A pair of classes is named
    where more than `share` of the moved images of one class, with this confidence (Clopper-Pearson, for all pairs and
    transformations together), get the other's label: a 6 upside down is a 9. Moves that only make a classifier worse
    scatter its answers, and are not named.

    >>> from leadline.convolution import quarter_turns
    >>> bars = np.zeros((40, 3, 3))
    >>> bars[:20, 1], bars[20:, :, 1] = 1.0, 1.0
    >>> across = lambda images: (images[:, 0, 1] == 1).astype(int)
    >>> found = label_changes(across, bars, np.repeat([0, 1], 20), quarter_turns())
    >>> [(change.transformation, change.label, change.becomes) for change in found]
    [('turn 90°', 0, 1), ('turn 90°', 1, 0), ('turn 270°', 0, 1), ('turn 270°', 1, 0)]
    """
    require_rows("label_changes", images=images, labels=labels)
    require_counts("label_changes", transformations=len(transformations))
    images, labels = np.asarray(images), np.asarray(labels)
    classes = np.unique(labels)
    tests = max(1, len(transformations) * len(classes))
    level = 1 - 2 * (1 - confidence) / tests
    found = []
    for transformation in transformations:
        said = np.asarray(decide(transformation(images)))
        if said.shape != labels.shape:
            raise ValueError(
                f"label_changes got decisions of shape {said.shape} for {len(labels)} images; give a label each."
            )
        for own in classes:
            here = said[labels == own]
            others, counts = np.unique(here[here != own], return_counts=True)
            if not len(others):
                continue
            most = int(counts.argmax())
            low = float(binomial_interval(int(counts[most]), len(here), confidence=level)[0])
            if low > share:
                part = float(counts[most] / len(here))
                found.append(LabelChange(transformation.name, int(own), int(others[most]), part, low))
    return found
