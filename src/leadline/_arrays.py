"""One definition for NumPy and JAX: which of the two the inputs ask for, and constants as arrays of that kind.

NumPy in, NumPy out: small exact work then needs no compilation. JAX in, JAX out: it can be traced and differentiated.
"""

import math
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Float


def namespace(*values: Any) -> ModuleType:
    """jax.numpy where a value, or a leaf of one, is a JAX array; NumPy otherwise.

    >>> namespace(np.ones(2)).__name__, namespace(np.ones(2), {"a": jnp.ones(2)}).__name__
    ('numpy', 'jax.numpy')
    """
    return jnp if any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(values)) else np


def special(xp: ModuleType) -> ModuleType:
    """The special functions (expit, logsumexp, …) that go with a namespace.

    >>> float(special(np).expit(0.0))
    0.5
    """
    if xp is jnp:
        import jax.scipy.special as functions
    else:
        import scipy.special as functions
    return functions


def follow(w: Any, *constants: Any) -> tuple[Any, ...]:
    """The namespace of w and the constants as arrays of it; constants that are being traced stay JAX's.

    >>> xp, a = follow(np.ones(2), jnp.array(3.0))
    >>> xp.__name__, type(a * np.ones(2)).__name__
    ('numpy', 'ndarray')
    """
    if isinstance(w, jax.Array) or any(isinstance(c, Tracer) for c in constants):
        return jnp, *constants
    return np, *(np.asarray(c) for c in constants)


def spectral_norm(matrix: Float[np.ndarray, "m n"]) -> float:
    """‖A‖₂ from the smaller of AAᵀ and AᵀA, which keeps the digits of the largest value at a fraction of an SVD.

    >>> round(spectral_norm(np.array([[3.0, 0.0], [4.0, 0.0]])), 12)
    5.0
    """
    from scipy.linalg import eigvalsh

    gram = matrix @ matrix.T if len(matrix) <= matrix.shape[1] else matrix.T @ matrix
    last = len(gram) - 1
    return math.sqrt(max(float(eigvalsh(gram, subset_by_index=[last, last])[0]), 0.0))
