"""The tangent kernel averaged over outputs, one number for each pair of inputs."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, PyTree

from .empirical_ntk import empirical_ntk
from .functions import Function


class AveragedKernels(NamedTuple):
    """K̄ᵢⱼ = (1/k) Σ_a ∂f_a(xᵢ)/∂θ · ∂f_a(xⱼ)/∂θ on the same inputs: here, and at the start where it is known."""

    here: Float[np.ndarray, "n n"]
    start: Float[np.ndarray, "n n"] | None = None

    @property
    def rows(self) -> int:
        """n."""
        return len(self.here)


def averaged_ntk(f: Function, params: PyTree, x: Any, *, batched: bool = False) -> Float[np.ndarray, "n n"]:
    """The tangent kernel averaged over the k outputs, in double precision; for a wide network each output has this one.

    >>> import jax.numpy as jnp
    >>> averaged_ntk(lambda w, x: w @ x, jnp.ones((3, 2)), jnp.array([[1.0, 0.0], [1.0, 1.0]])).tolist()
    [[1.0, 1.0], [1.0, 2.0]]
    """
    import jax

    x = np.asarray(x)
    one = x[:1] if batched else x[0]
    outputs = int(np.prod(jax.eval_shape(f, params, jax.ShapeDtypeStruct(one.shape, one.dtype)).shape))
    K = np.asarray(empirical_ntk(f, params, x, outputs="trace", batched=batched), np.float64)
    return (K + K.T) / (2 * outputs)
