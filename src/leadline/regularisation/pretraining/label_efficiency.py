"""What features are worth when labels are few: linear probes on more and more labelled rows."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from leadline._checks import require_counts, require_rows
from leadline.data import generator
from leadline.networks import probe_accuracy

Features = Float[Array | np.ndarray, "_ _"]


class LabelEfficiency(NamedTuple):
    """Test accuracy of linear probes, for each kind of features: one row a draw, one column a number of labels."""

    counts: tuple[int, ...]
    accuracy: dict[str, Float[np.ndarray, "draws counts"]]


def label_efficiency(
    train: Mapping[str, Features],
    train_labels: Int[Array | np.ndarray, " n"],
    test: Mapping[str, Features],
    test_labels: Int[Array | np.ndarray, " m"],
    counts: Sequence[int],
    *,
    draws: int = 5,
    penalty: float = 1.0,
    key: PRNGKeyArray,
) -> LabelEfficiency:
    """Probes of several kinds of features on the same `counts` of labelled rows, in `draws` draws of these rows.

    `train` and `test` name the features of all rows, those of a pretrained network beside random ones, say. A draw is
    a shuffle in which every class comes in turn, so that its first rows are balanced; smaller counts are its first
    rows. The probes are `networks.probe_accuracy`; differences within a draw are paired.

    >>> import jax
    >>> labels = np.arange(40) % 2
    >>> told = {"clear": np.eye(2)[labels], "blind": np.zeros((40, 2))}
    >>> found = label_efficiency(told, labels, told, labels, (2, 10), draws=1, key=jax.random.key(0))
    >>> found.accuracy["clear"].tolist(), found.accuracy["blind"].tolist()
    ([[1.0, 1.0]], [[0.5, 0.5]])
    """
    labels, truth = np.asarray(train_labels), np.asarray(test_labels)
    require_counts("label_efficiency", draws=draws)
    if not train or set(train) != set(test):
        raise ValueError(
            f"label_efficiency got train features {sorted(train)} and test features {sorted(test)}; give the same "
            "kinds of both, at least one."
        )
    for name in train:
        require_rows("label_efficiency", **{f"train features {name}": train[name], "train labels": labels})
        require_rows("label_efficiency", **{f"test features {name}": test[name], "test labels": truth})
    classes, sizes = np.unique(labels, return_counts=True)
    if min(counts) < 2 or max(counts) > len(labels) or len(classes) < 2:
        raise ValueError(
            f"label_efficiency got counts {tuple(counts)} for {len(labels)} rows of {len(classes)} classes; give "
            "numbers from 2 to all rows, of at least two classes."
        )
    rng = generator(key)
    found: dict[str, list[list[float]]] = {name: [] for name in train}
    for _ in range(draws):
        turn = np.empty(len(labels))
        for one, size in zip(classes, sizes, strict=True):
            turn[labels == one] = rng.permutation(size) + rng.random()  # the k-th of each class before any k+1st
        order = np.argsort(turn)
        for name, rows in train.items():
            x, held = np.asarray(rows), np.asarray(test[name])
            scores = [probe_accuracy(x[order[:n]], labels[order[:n]], held, truth, penalty=penalty) for n in counts]
            found[name].append(scores)
    return LabelEfficiency(tuple(counts), {name: np.array(rows) for name, rows in found.items()})
