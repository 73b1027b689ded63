"""What a kernel is, and the kernels that sums, products, scaling, normalisation and centring make of others."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer

from leadline._arrays import namespace

from .pairs import Matrix, Others, Points, Scalar, Vector, root

Inputs = Points | Sequence[Any]  # rows of an array, or a list of any objects
OtherInputs = Others | Sequence[Any]
Similarity = Callable[[Inputs, OtherInputs], Matrix]


class Kernel(eqx.Module):
    """k(x, z), symmetric, every Gram matrix positive semidefinite; calling it gives the matrix of all pairs of rows.

    Sums, products and positive multiples of kernels are kernels, written `k + l`, `k * l` and `3.0 * k`. NumPy
    arrays give NumPy arrays; JAX arrays give JAX arrays, differentiable.

    >>> from leadline.kernels import Gaussian, Linear
    >>> k = Gaussian(1.0) + 2.0 * Linear()
    >>> k(np.eye(2), np.eye(2)).round(4).tolist()
    [[3.0, 0.3679], [0.3679, 3.0]]
    """

    def __call__(self, x: Inputs, z: OtherInputs) -> Matrix:
        raise NotImplementedError

    def diagonal(self, x: Inputs) -> Vector:
        """k(x_i, x_i) for every row, without the rest of the matrix."""
        return _row_by_row(self, x)

    def __add__(self, other: "Kernel") -> "Sum":
        return Sum(self, other)

    def __mul__(self, other: "Kernel | Scalar") -> "Product | Scaled":
        return Product(self, other) if isinstance(other, Kernel) else Scaled(other, self)

    def __rmul__(self, factor: Scalar) -> "Scaled":
        return Scaled(factor, self)


class Sum(Kernel):
    """k + l."""

    first: Similarity
    second: Similarity

    def __call__(self, x: Inputs, z: OtherInputs) -> Matrix:
        return self.first(x, z) + self.second(x, z)

    def diagonal(self, x: Inputs) -> Vector:
        return diagonal_of(self.first, x) + diagonal_of(self.second, x)


class Product(Kernel):
    """k l, entry by entry (Schur)."""

    first: Similarity
    second: Similarity

    def __call__(self, x: Inputs, z: OtherInputs) -> Matrix:
        return self.first(x, z) * self.second(x, z)

    def diagonal(self, x: Inputs) -> Vector:
        return diagonal_of(self.first, x) * diagonal_of(self.second, x)


class Scaled(Kernel):
    """a k, a ≥ 0."""

    factor: Scalar
    kernel: Similarity

    def __check_init__(self):
        at_least_zero(self.factor, "Scaled", "factor")

    def __call__(self, x: Inputs, z: OtherInputs) -> Matrix:
        return self.factor * self.kernel(x, z)

    def diagonal(self, x: Inputs) -> Vector:
        return self.factor * diagonal_of(self.kernel, x)


class Normalised(Kernel):
    """k(x, z)/√(k(x, x) k(z, z)): the cosine of the angle between the features; 0 where a feature vector is 0.

    >>> from leadline.kernels import Linear
    >>> Normalised(Linear())(np.array([[3.0], [0.0]]), np.array([[2.0], [-1.0]])).tolist()
    [[1.0, -1.0], [0.0, 0.0]]
    """

    kernel: Similarity

    def __call__(self, x: Inputs, z: OtherInputs) -> Matrix:
        values = self.kernel(x, z)
        xp = namespace(values)
        left, right = root(diagonal_of(self.kernel, x)), root(diagonal_of(self.kernel, z))
        left, right = xp.where(left > 0, left, xp.inf), xp.where(right > 0, right, xp.inf)
        return values / left[:, None] / right[None, :]

    def diagonal(self, x: Inputs) -> Vector:
        values = diagonal_of(self.kernel, x)
        return namespace(values).where(values > 0, 1.0, 0.0).astype(values.dtype)


class Centred(Kernel):
    """<φ(x) - m, φ(z) - m>, m the mean of φ over the given points; on these points the Gram matrix is H K H.

    Every call forms the Gram matrix of the points once; `centre_gram` is for a matrix that is there already.

    >>> from leadline.kernels import Linear
    >>> points = np.array([[0.0], [2.0]])
    >>> Centred(Linear(), points)(points, points).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """

    kernel: Similarity
    points: Inputs

    def __call__(self, x: Inputs, z: OtherInputs) -> Matrix:
        left, right = self.kernel(x, self.points).mean(axis=1), self.kernel(self.points, z).mean(axis=0)
        return self.kernel(x, z) - left[:, None] - right[None, :] + self._mean_square()

    def diagonal(self, x: Inputs) -> Vector:
        return diagonal_of(self.kernel, x) - 2 * self.kernel(x, self.points).mean(axis=1) + self._mean_square()

    def _mean_square(self):
        return self.kernel(self.points, self.points).mean()


def diagonal_of(kernel: Similarity, x: Inputs) -> Vector:
    """k(x_i, x_i) for every row, for a `Kernel` or any function of two sets of rows.

    >>> diagonal_of(lambda x, z: x @ z.T, np.array([[2.0], [3.0]])).tolist()
    [4.0, 9.0]
    """
    return kernel.diagonal(x) if isinstance(kernel, Kernel) else _row_by_row(kernel, x)


def at_least_zero(value: Scalar, owner: str, name: str, *, strict: bool = False) -> None:
    """ValueError for a number that must be positive (or zero) and is not; traced values are let through."""
    if isinstance(value, Tracer):
        return
    number = float(value)
    if not (number > 0 if strict else number >= 0):
        raise ValueError(f"{owner} got {name} = {number:g}; give a number {'above' if strict else 'of at least'} 0.")


def _row_by_row(kernel: Similarity, x: Inputs) -> Vector:
    if namespace(x) is np:
        values = [kernel(x[i : i + 1], x[i : i + 1])[0, 0] for i in range(len(x))]
        return np.array(values, getattr(x, "dtype", None))
    return jax.vmap(lambda row: kernel(row[None], row[None])[0, 0])(x)
