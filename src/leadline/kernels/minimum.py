"""The kernel of Brownian motion."""

import numpy as np  # noqa: F401 (its example uses it)

from leadline._arrays import namespace

from .algebra import Kernel
from .pairs import Matrix, Others, Points, Vector, paired_rows


class Minimum(Kernel):
    """min(x, z) for x, z ≥ 0, the covariance of Brownian motion; summed over features (histogram intersection).

    For numbers of both signs it is that of two independent motions from 0: min(|x|, |z|) if x z > 0, else 0.

    >>> Minimum()(np.array([1.0, 2.0, -1.0]), np.array([1.5, -3.0])).tolist()
    [[1.0, 0.0], [1.5, 0.0], [0.0, 1.0]]
    """

    def __call__(self, x: Points, z: Others) -> Matrix:
        x, z = paired_rows(x, z)
        x, z = x[:, None, :], z[None, :, :]
        xp = namespace(x, z)
        return xp.where(x * z > 0, xp.minimum(abs(x), abs(z)), 0.0).sum(axis=-1)

    def diagonal(self, x: Points) -> Vector:
        return abs(x).reshape(len(x), -1).sum(axis=1)
