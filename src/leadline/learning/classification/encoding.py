"""Classes as vectors: one-hot codes, label sets as multi-hot codes, and back."""

from collections.abc import Iterable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int, Num


def one_hot(labels: Int[Array | np.ndarray, "*rows"], classes: int) -> Float[Array, "*rows classes"]:
    """e_y: 1 at the label, 0 elsewhere. A label outside 0..m-1 is refused (inside `jax.jit` it gives zeros).

    >>> one_hot(jnp.array([2, 0]), 3).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    if not isinstance(labels, Tracer):
        _in_range("one_hot", np.asarray(labels), classes)
    return jax.nn.one_hot(jnp.asarray(labels), classes, dtype=jnp.result_type(float))


def predicted_class(scores: Num[Array | np.ndarray, "*rows m"]) -> Int[Array, "*rows"]:
    """argmax_k over the last axis, ties to the smallest index; undoes `one_hot`.

    Logits, logits over any temperature T > 0, and their softmax all have the same largest entry.

    >>> predicted_class(jnp.array([[0.1, 0.7, 0.7], [3.0, 1.0, 2.0]])).tolist()
    [1, 0]
    """
    return jnp.argmax(jnp.asarray(scores), axis=-1)


def multi_hot(sets: Sequence[Iterable[int]], classes: int) -> Float[np.ndarray, "n classes"]:
    """One row for each set of labels: 1 where the class is present; an empty set is a row of zeros.

    >>> multi_hot([{0, 2}, set()], 3).tolist()
    [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """
    codes = np.zeros((len(sets), classes))
    for row, labels in zip(codes, sets, strict=True):
        present = np.array(sorted(labels), int)
        _in_range("multi_hot", present, classes)
        row[present] = 1.0
    return codes


def label_sets(codes: Num[Array | np.ndarray, "n m"], threshold: float = 0.5) -> list[set[int]]:
    """The classes whose entry exceeds the threshold, row by row; undoes `multi_hot`.

    >>> label_sets(np.array([[0.9, 0.2, 0.6], [0.1, 0.0, 0.3]]))
    [{0, 2}, set()]
    """
    return [set(np.flatnonzero(row > threshold).tolist()) for row in np.asarray(codes)]


def _in_range(function: str, labels: np.ndarray, classes: int) -> None:
    if labels.size and not (labels.min() >= 0 and labels.max() < classes):
        raise ValueError(
            f"{function} got labels from {labels.min()} to {labels.max()} for {classes} classes; "
            f"number them from 0 to {classes - 1}."
        )
