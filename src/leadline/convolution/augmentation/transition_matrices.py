"""Which labels a transformation keeps, by a reference classifier: what each class is taken for once it is moved."""

from collections.abc import Callable
from itertools import combinations, permutations
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Int, Num, PyTree

from leadline._checks import require_rows
from leadline.probability import binomial_interval

from .pipelines import require_probability


class LabelTransitions(NamedTuple):
    """How a classifier names the transformed examples of each class."""

    counts: Int[np.ndarray, "k k"]  #: examples of class i (row) that are taken for class j once they are moved
    certainty: Float[np.ndarray, " k"]  #: mean probability of the true class before the move
    moved_certainty: Float[np.ndarray, " k"]  #: and after it
    exchanged: tuple[tuple[int, int], ...]  #: pairs of classes that become one another
    becomes: tuple[tuple[int, int], ...]  #: (class, other) where much of the class becomes the other one
    lost: tuple[int, ...]  #: classes whose own probability falls to less than half

    @property
    def shares(self) -> Float[np.ndarray, "k k"]:
        """The counts as shares of each class; a class without examples has zeros."""
        return self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1)

    @property
    def preserved(self) -> bool:
        """Whether nothing was flagged."""
        return not (self.becomes or self.exchanged or self.lost)


def label_transitions(
    apply: Callable[[PyTree, Any], Any],
    params: PyTree,
    examples: Num[Array | np.ndarray, "n ..."],
    labels: Int[Array | np.ndarray, " _"],
    transformation: Callable[[Any], Any],
    *,
    share: float = 1 / 3,
    confidence: float = 0.99,
) -> LabelTransitions:
    """The matrix of true class against predicted class of T x, and which classes T turns into which.

    apply(params, inputs) gives the scores (n, k) of a classifier that was trained on other, untouched examples;
    `transformation` takes a batch. A class `becomes` another one where more than `share` of it is taken for that one.
    Two classes are `exchanged` where more than `share` of both together is taken for the other one, and of each more
    than the 1/k of a guess: 6 and 9 under a half turn. A network that is made invariant to T cannot tell these apart.
    Shares are judged by Clopper-Pearson intervals that hold for all classes, or pairs, together. A class is `lost`
    where the mean probability of the true class falls to less than half, whatever it is taken for: then T may only have
    left all that the classifier knows, and its answer says little.
    `regularisation.label_changes` asks nearest neighbours instead and needs no classifier.

    >>> bars = np.zeros((40, 3, 3))
    >>> bars[:20, 1], bars[20:, :, 1] = 1.0, 1.0
    >>> labels = np.repeat([0, 1], 20)
    >>> def lengths(scale, images):
    ...     return scale * np.stack([images[:, 1].sum(axis=1), images[:, :, 1].sum(axis=1)], axis=1)
    >>> found = label_transitions(lengths, 5.0, bars, labels, lambda x: np.swapaxes(x, 1, 2))
    >>> found.counts.tolist(), found.exchanged, found.lost
    ([[0, 20], [20, 0]], ((0, 1),), (0, 1))
    """
    require_rows("label_transitions", examples=examples, labels=labels)
    require_probability("label_transitions", share=share, confidence=confidence)
    labels = np.asarray(labels)
    before, after = (_probabilities(apply, params, x) for x in (examples, transformation(examples)))
    if len(after) != len(labels):
        raise ValueError(
            f"label_transitions got a transformation that makes {len(after)} rows of {len(labels)}; "
            "give one that keeps every row."
        )
    classes = after.shape[1]
    if labels.min() < 0 or labels.max() >= classes:
        raise ValueError(f"label_transitions got labels from {labels.min()} to {labels.max()} for {classes} scores.")
    counts = np.zeros((classes, classes), int)
    np.add.at(counts, (labels, after.argmax(axis=1)), 1)
    sizes = counts.sum(axis=1)
    present = np.flatnonzero(sizes)
    own = [
        np.array([p[labels == c, c].mean() if sizes[c] else np.nan for c in range(classes)]) for p in (before, after)
    ]
    pairs = list(combinations(present.tolist(), 2))

    def least(taken: int, trials: int, cases: int) -> float:
        return float(binomial_interval(taken, trials, confidence=1 - 2 * (1 - confidence) / cases)[0])

    becomes = tuple(
        (a, b)
        for a, b in permutations(present.tolist(), 2)
        if least(int(counts[a, b]), int(sizes[a]), 2 * len(pairs)) > share
    )
    exchanged = tuple(
        (a, b)
        for a, b in pairs
        if least(int(counts[a, b] + counts[b, a]), int(sizes[a] + sizes[b]), 3 * len(pairs)) > share
        and all(least(int(counts[c, d]), int(sizes[c]), 3 * len(pairs)) > 1 / classes for c, d in ((a, b), (b, a)))
    )
    lost = tuple(int(c) for c in present if own[1][c] < own[0][c] / 2)
    return LabelTransitions(counts, own[0], own[1], exchanged, becomes, lost)


def _probabilities(apply: Callable, params: PyTree, examples: Any) -> Float[np.ndarray, "n k"]:
    scores = np.asarray(apply(params, examples))
    if scores.ndim != 2 or scores.shape[1] < 2:
        raise ValueError(
            f"label_transitions got scores of shape {scores.shape}; give one for each of 2 or more classes."
        )
    return np.asarray(jax.nn.softmax(scores, axis=1))
