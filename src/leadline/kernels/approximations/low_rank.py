"""Nyström's approximation of a Gram matrix from a few of its columns, and ways of choosing them."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from leadline._checks import require
from leadline.data import generator

from ..algebra import Inputs, Similarity, diagonal_of


class Nystrom(NamedTuple):
    """Features k(x, L) W^(-1/2), L the landmarks and W their Gram matrix: z(x)·z(x') = k(x, L) W⁺ k(L, x').

    Directions of W below n max|W| ε, which rounding has made, are left out: the pseudo-inverse.
    """

    kernel: Similarity
    landmarks: Inputs
    whitening: Float[np.ndarray, "landmarks rank"]

    def __call__(self, x: Inputs) -> Float[np.ndarray, "m rank"]:
        return np.asarray(self.kernel(x, self.landmarks)) @ self.whitening


def nystrom(kernel: Similarity, landmarks: Inputs) -> Nystrom:
    """The Nyström features of a kernel for given landmarks (Williams and Seeger 2001); exact on the landmarks.

    >>> from leadline.kernels import Linear
    >>> z = nystrom(Linear(), np.array([[1.0, 0.0], [1.0, 1.0]]))(np.array([[3.0, 4.0], [0.0, 1.0]]))
    >>> (z @ z.T).round(9).tolist()
    [[25.0, 4.0], [4.0, 1.0]]
    """
    if len(landmarks) == 0:
        raise ValueError("nystrom got no landmarks; choose at least one point.")
    gram = np.asarray(kernel(landmarks, landmarks))
    eigenvalues, vectors = np.linalg.eigh((gram + gram.T) / 2)
    kept = eigenvalues > len(gram) * np.finfo(gram.dtype).eps * np.abs(gram).max()
    if not kept.any():
        raise ValueError("nystrom got landmarks whose Gram matrix is 0; choose points with k(x, x) > 0.")
    return Nystrom(kernel, landmarks, vectors[:, kept] / np.sqrt(eigenvalues[kept]))


def uniform_landmarks(points: int, count: int, *, key: PRNGKeyArray) -> Int[np.ndarray, " count"]:
    """`count` different indices below `points`, all sets equally likely.

    >>> import jax
    >>> sorted(uniform_landmarks(3, 3, key=jax.random.key(0)).tolist())
    [0, 1, 2]
    """
    _check(points, count)
    return generator(key).choice(points, count, replace=False)


def ridge_leverage(gram: Float[Array | np.ndarray, "n n"], penalty: float) -> Float[np.ndarray, " n"]:
    """The diagonal of K (K + penalty I)⁻¹: how much each point counts in its own ridge prediction.

    >>> ridge_leverage(np.eye(2), 1.0).round(9).tolist()
    [0.5, 0.5]
    """
    from scipy.linalg import cho_factor, cho_solve

    if not penalty > 0:
        raise ValueError(f"ridge_leverage got a penalty of {penalty:g}; give a number above 0.")
    gram = np.asarray(gram)
    unit = np.eye(len(gram), dtype=gram.dtype)
    return 1 - penalty * np.diag(cho_solve(cho_factor(gram + penalty * unit), unit))


def leverage_landmarks(
    leverage: Float[Array | np.ndarray, " n"], count: int, *, key: PRNGKeyArray
) -> Int[np.ndarray, " count"]:
    """`count` different indices, drawn one after the other with probabilities proportional to the leverage.

    >>> import jax
    >>> sorted(leverage_landmarks(np.array([1.0, 0.0, 2.0]), 2, key=jax.random.key(0)).tolist())
    [0, 2]
    """
    weights = np.maximum(np.asarray(leverage, float), 0.0)
    _check(int((weights > 0).sum()), count)
    return generator(key).choice(len(weights), count, replace=False, p=weights / weights.sum())


def greedy_landmarks(kernel: Similarity, x: Inputs, count: int) -> Int[np.ndarray, " chosen"]:
    """The pivots of a pivoted Cholesky factorisation: always the point whose k(x, x) is explained worst so far.

    Needs `count` columns of the Gram matrix and O(n count²) steps, never the whole; stops where nothing is left.

    >>> from leadline.kernels import Linear
    >>> greedy_landmarks(Linear(), np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0]]), 3).tolist()
    [1, 2]
    """
    _check(len(x), count)
    left = np.array(diagonal_of(kernel, x))
    floor = 10 * len(left) * np.finfo(left.dtype).eps * left.max()
    factor = np.zeros((count, len(left)), left.dtype)
    pivots: list[int] = []
    for step in range(count):
        pivot = int(left.argmax())
        if left[pivot] <= floor:
            break
        column = np.asarray(kernel(x, x[pivot : pivot + 1]))[:, 0]
        factor[step] = (column - factor[:step].T @ factor[:step, pivot]) / left[pivot] ** 0.5
        left = np.maximum(left - factor[step] ** 2, 0.0)
        left[pivot] = 0.0
        pivots.append(pivot)
    return np.array(pivots)


def best_rank_errors(
    eigenvalues: Float[Array | np.ndarray, " n"], ranks: Int[np.ndarray, " k"]
) -> Float[np.ndarray, " k"]:
    """‖G - G_m‖_F/‖G‖_F for the best approximation of each rank m: the eigenvalues left out (Eckart and Young).

    >>> best_rank_errors(np.array([3.0, 4.0]), np.array([0, 1, 2])).tolist()
    [1.0, 0.6, 0.0]
    """
    require("best_rank_errors", axes=1, eigenvalues=eigenvalues)
    squares = np.append(np.cumsum(np.sort(np.asarray(eigenvalues, float) ** 2)), 0.0)  # of the k smallest, at k - 1
    return np.sqrt(squares[len(squares) - 2 - np.asarray(ranks)] / squares[-2])


def _check(points: int, count: int) -> None:
    if not 1 <= count <= points:
        raise ValueError(f"{count} landmarks were asked for; choose 1 to {points}, the number of points there are.")
