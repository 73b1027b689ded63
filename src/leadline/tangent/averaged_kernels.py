"""The tangent kernel averaged over outputs, one number for each pair of inputs."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, PyTree

from leadline.frameworks.network import Apply

from .empirical_ntk import BUDGET, empirical_ntk


class AveragedKernels(NamedTuple):
    """K̄ᵢⱼ = (1/k) Σ_a ∂f_a(xᵢ)/∂θ · ∂f_a(xⱼ)/∂θ on the same inputs: here, and at the start where it is known."""

    here: Float[np.ndarray, "n n"]
    start: Float[np.ndarray, "n n"] | None = None

    @property
    def rows(self) -> int:
        """n."""
        return len(self.here)


def averaged_ntk(apply: Apply, params: PyTree, x: Any, *, budget: float = BUDGET) -> Float[np.ndarray, "n n"]:
    """The tangent kernel averaged over the k outputs, in double precision; for a wide network each output has this one.

    `budget` is that of `empirical_ntk`.

    >>> import jax.numpy as jnp
    >>> averaged_ntk(lambda w, x: x @ w, jnp.ones((2, 3)), jnp.array([[1.0, 0.0], [1.0, 1.0]])).tolist()
    [[1.0, 1.0], [1.0, 2.0]]
    """
    import jax

    x = np.asarray(x)
    one = jax.ShapeDtypeStruct((1, *x.shape[1:]), x.dtype)
    outputs = int(np.prod(jax.eval_shape(apply, params, one).shape))
    K = np.asarray(empirical_ntk(apply, params, x, outputs="trace", budget=budget), np.float64)
    return (K + K.T) / (2 * outputs)
