"""The kernel perceptron: Rosenblatt's rule with the weights kept as counts of mistakes."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from leadline.linear_classifiers.perceptrons import sweep_order

from .expansion import Expansion, Gram, Points, as_points
from .support_vectors import Labels

ORDERS = ("cyclic", "permuted", "uniform")
TIES = ("mistake", "correct", "positive")


class KernelRun(NamedTuple):
    """What a kernel perceptron did: f = Σ αᵢ yᵢ k(xᵢ, ·), and every update on the way there."""

    expansion: Expansion
    mistakes: Int[np.ndarray, " n"]  # alpha: updates made on each example
    scores: Float[np.ndarray, " n"]  # G(alpha∘y), f at the training points
    updates: int
    history: Int[np.ndarray, " updates"]  # the example of each update, in order
    times: Int[np.ndarray, " updates"]  # presentations made before each update
    converged: bool  # every example is correct under the tie rule
    epochs: int  # sweeps of n presentations begun, the clean one included


def kernel_perceptron(
    kernel: Gram,
    x: Points,
    y: Labels,
    *,
    order: str = "cyclic",
    tie: str = "mistake",
    epochs: int = 1000,
    key: PRNGKeyArray | None = None,
    gram: Float[Array | np.ndarray, "n n"] | None = None,
    store: bool = True,
) -> KernelRun:
    """α = 0; present example w: if y_w Σᵢ αᵢ yᵢ k(xᵢ, x_w) ≤ 0 then α_w += 1. Labels −1 and +1.

    Orders, ties, stopping and random streams are those of `perceptrons.learn`, its twin with explicit weights. The
    scores s = G(α∘y) are kept and changed by one column of G per mistake, so that a presentation without mistake costs
    nothing and one with a mistake O(n). `store=False` computes the columns when they are needed, O(nd) each.

    >>> run = kernel_perceptron(lambda a, b: a @ b.T, np.eye(4), np.ones(4))
    >>> run.updates, run.mistakes.tolist(), run.converged, run.epochs
    (4, [1, 1, 1, 1], True, 2)
    """
    if order not in ORDERS:
        raise ValueError(f"kernel_perceptron got order={order!r}; choose one of {', '.join(ORDERS)}.")
    if tie not in TIES:
        raise ValueError(f"kernel_perceptron got tie={tie!r}; choose one of {', '.join(TIES)}.")
    if order != "cyclic" and key is None:
        raise ValueError(f"kernel_perceptron needs a random key for order={order!r}: pass key=jax.random.key(0).")
    x, y = as_points(x), np.asarray(y, float)
    n = len(y)
    if len(x) != n or not n or not np.all(np.abs(y) == 1):
        raise ValueError(f"kernel_perceptron got {len(x)} points and {n} labels; give one label of -1 or +1 per point.")
    G = np.asarray(kernel(x, x) if gram is None and store else gram) if store or gram is not None else None

    def column(i: int) -> np.ndarray:
        return G[:, i] if G is not None else np.asarray(kernel(x, x[i : i + 1]))[:, 0]

    scores, alpha = np.zeros(n), np.zeros(n, int)
    history, times = [], []
    wrong = _mistakes(scores, y, tie)
    epoch, clean = 0, False
    while not clean and epoch < epochs:
        stream = np.arange(n) if order == "cyclic" else np.asarray(sweep_order(n, order, epoch, key))
        position, before = 0, len(history)
        while position < n:
            ahead = np.flatnonzero(wrong[stream[position:]])  # nothing changes before the next mistake
            if not len(ahead):
                break
            position += int(ahead[0])
            i = int(stream[position])
            alpha[i] += 1
            scores = scores + y[i] * column(i)
            wrong = _mistakes(scores, y, tie)
            history.append(i)
            times.append(epoch * n + position)
            position += 1
        epoch += 1
        clean = not wrong.any() if order == "uniform" else len(history) == before
    return KernelRun(
        Expansion(kernel, x, alpha * y),
        alpha,
        scores,
        len(history),
        np.array(history, int),
        np.array(times, int),
        bool(clean),
        epoch,
    )


def _mistakes(scores: np.ndarray, y: np.ndarray, tie: str) -> np.ndarray:
    """`perceptrons.is_mistake` for NumPy arrays."""
    if tie == "positive":
        return np.where(scores >= 0, y < 0, y > 0)
    return y * scores <= 0 if tie == "mistake" else y * scores < 0
