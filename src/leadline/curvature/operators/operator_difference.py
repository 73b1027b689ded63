"""The difference of two symmetric operators, by products."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float


class OperatorDifference(eqx.Module):
    """A − B for operators of one size, such as the Hessian less its Gauss-Newton part: the curvature of the model.

    >>> import jax.numpy as jnp
    >>> from leadline.curvature import hessian
    >>> first, second = (hessian(lambda w, c=c: c * jnp.sum(w**2), jnp.ones(2)) for c in (2.0, 0.5))
    >>> OperatorDifference(first, second)(jnp.ones(2)).tolist()
    [3.0, 3.0]
    """

    first: Any
    second: Any

    @property
    def size(self) -> int:
        """p, that of both."""
        return self.first.size

    @property
    def dtype(self) -> Any:
        """The type of a flat vector."""
        return self.first.dtype

    def __call__(self, v: Float[Array, " p"]) -> Float[Array, " p"]:
        """A v − B v."""
        return self.first(v) - self.second(v)

    def dense(self) -> Float[np.ndarray, "p p"]:
        """The whole matrix, for small models."""
        return self.first.dense() - self.second.dense()
