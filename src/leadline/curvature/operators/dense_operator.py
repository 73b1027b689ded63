"""An operator of a small model held as a matrix: every product is then one matrix product."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..spectra.lanczos import top
from ..spectra.spectral_density import density
from ..spectra.trace_estimates import trace


class DenseOperator(eqx.Module):
    """v ↦ A v for a symmetric matrix A.

    >>> DenseOperator(jnp.array([[2.0, 1.0], [1.0, 2.0]])).top(2).values.tolist()
    [3.0, 1.0]
    """

    matrix: Float[Array, "p p"]

    @property
    def size(self) -> int:
        """p."""
        return len(self.matrix)

    @property
    def dtype(self) -> Any:
        """The type of a flat vector."""
        return self.matrix.dtype

    def __call__(self, v: Float[Array, " p"]) -> Float[Array, " p"]:
        """A v."""
        return self.matrix @ v

    def dense(self) -> Float[np.ndarray, "p p"]:
        """A."""
        return np.asarray(self.matrix)

    top = top
    trace = trace
    density = density


def dense_if_small(operator: Any, most: int = 800) -> Any:
    """The operator as a matrix where it has at most `most` rows, and itself otherwise.

    >>> from leadline.curvature import hessian
    >>> dense_if_small(hessian(lambda w: jnp.sum(w**2), jnp.ones(2))).matrix.tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    return DenseOperator(jnp.asarray(operator.dense())) if operator.size <= most else operator
