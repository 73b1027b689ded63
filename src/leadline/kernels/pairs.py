"""All pairs of rows of two sets: inner products, squared distances, distances, cosines.

NumPy arrays give NumPy arrays; JAX arrays give JAX arrays, differentiable also where points coincide or vanish.
"""

from types import ModuleType
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float

from leadline._arrays import namespace

Points = Float[Array | np.ndarray, "m ..."]
Others = Float[Array | np.ndarray, "n ..."]
Matrix = Float[Array | np.ndarray, "m n"]
Vector = Float[Array | np.ndarray, " m"]
Scalar = float | Float[Array | np.ndarray, ""]


def paired_rows(x: Points, z: Others) -> tuple[Float[Array | np.ndarray, "m d"], Float[Array | np.ndarray, "n d"]]:
    """Both sets with their features in one axis; ValueError where they have different numbers of features."""
    x, z = x.reshape(len(x), -1), z.reshape(len(z), -1)
    if x.shape[1] != z.shape[1]:
        raise ValueError(
            f"A kernel got points with {x.shape[1]} and with {z.shape[1]} features; "
            "give both sets the same number of features."
        )
    return x, z


def inner_products(x: Points, z: Others) -> Matrix:
    """x_i·z_j for all pairs.

    >>> inner_products(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 1.0]])).tolist()
    [[11.0, 2.0]]
    """
    x, z = paired_rows(x, z)
    return x @ z.T


def squared_norms(x: Points) -> Vector:
    """‖x_i‖² for every row."""
    x = x.reshape(len(x), -1)
    return (x * x).sum(axis=1)


def squared_distances(x: Points, z: Others) -> Matrix:
    """‖x_i - z_j‖² for all pairs by one matrix product; what is below the rounding of that product is 0.

    So the distance of a point to itself is 0, not √ε; the derivatives are those of the exact formula.

    >>> squared_distances(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0]])).tolist()
    [[0.0], [25.0]]
    """
    x, z = paired_rows(x, z)
    xp = namespace(x, z)
    centre = z.mean(axis=0)  # far from the origin, too, neighbours keep their digits
    x, z = x - centre, z - centre
    sizes = (x * x).sum(axis=1)[:, None] + (z * z).sum(axis=1)[None, :]
    raw = sizes - 2 * (x @ z.T)
    clean = xp.where(raw > _rounding(raw.dtype, x.shape[1]) * sizes, raw, 0.0)
    return clean if xp is np else raw + jax.lax.stop_gradient(clean - raw)


def distances(x: Points, z: Others) -> Matrix:
    """‖x_i - z_j‖ for all pairs, with derivative 0 where points coincide."""
    return root(squared_distances(x, z))


def root(square: Float[Array | np.ndarray, "..."]) -> Float[Array | np.ndarray, "..."]:
    """√s for s > 0, and 0 with derivative 0 for s ≤ 0."""
    xp = namespace(square)
    positive = square > 0
    return xp.where(positive, xp.sqrt(xp.where(positive, square, 1.0)), 0.0)


def cosines(x: Points, z: Others) -> Matrix:
    """x_i·z_j/(‖x_i‖ ‖z_j‖) for all pairs, within [-1, 1], ±1 within rounding of it; 0 where a point is 0.

    >>> cosines(np.array([[3.0, 3.0], [0.0, 0.0]]), np.array([[2.0, 2.0]])).tolist()
    [[1.0], [0.0]]
    """
    x, z = paired_rows(x, z)
    xp = namespace(x, z)
    x, z = _directions(xp, x), _directions(xp, z)
    raw = x @ z.T
    clean = xp.where(1 - abs(raw) > _rounding(raw.dtype, x.shape[1]), raw, xp.sign(raw))
    return clean if xp is np else raw + jax.lax.stop_gradient(clean - raw)


def _directions(xp: ModuleType, x: Float[Array | np.ndarray, "m d"]) -> Float[Array | np.ndarray, "m d"]:
    largest = abs(x).max(axis=1, keepdims=True)  # scaled first, so that the squares of tiny and huge inputs survive
    x = x / xp.where(largest > 0, largest, 1.0)
    length = root((x * x).sum(axis=1, keepdims=True))
    return x / xp.where(length > 0, length, 1.0)


def _rounding(dtype: Any, features: int) -> float:
    """A bound, rarely reached, of the relative error of an inner product of that many terms."""
    return float(np.finfo(dtype).eps) * (4 + features**0.5)
