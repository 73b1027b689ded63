"""The eigenvalues of largest modulus in double precision: ARPACK on products by plain JAX, nothing of Leadline's."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.sparse.linalg import LinearOperator

from ..harness.case import Inputs
from . import arpack
from .networks import digits, jax_loss


def eigenvalues(network: str, weights: Inputs) -> np.ndarray:
    with jax.enable_x64(True):
        at, restore = ravel_pytree({name: jnp.asarray(value, jnp.float64) for name, value in weights.items()})
        x, y = (jnp.asarray(part) for part in digits())
        gradient = jax.grad(lambda p, x, y: jax_loss(network)(restore(p), x.astype(jnp.float64), y))
        multiply = jax.jit(lambda p, v, x, y: jax.jvp(lambda q: gradient(q, x, y), (p,), (v,))[1])
        matvec = lambda v: np.asarray(multiply(at, jnp.asarray(v.ravel()), x, y))  # noqa: E731
        operator = LinearOperator((at.size, at.size), matvec, dtype=np.float64)
        return np.sort(arpack(operator, 1e-7))
