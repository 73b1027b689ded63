"""Kernel matrices as training dynamics take them: symmetric, positive semidefinite, in enough digits, or refused."""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

LOST = 1e-3  # in single precision, a relative error above this is worth a warning


def checked_shape(values: Any, name: str, *shape: int | None) -> Any:
    """`values`, if its leading axes have these lengths (None: any); ValueError otherwise."""
    found = np.shape(values)
    if len(found) < len(shape) or any(s is not None and s != f for s, f in zip(shape, found, strict=False)):
        wanted = ", ".join("any" if s is None else str(s) for s in shape)
        raise ValueError(f"{name} has the shape {found}; one that begins with ({wanted}) was expected.")
    return values


def checked_kernel(matrix: Any, name: str) -> Float[Array, "n n"]:
    """A square, finite, symmetric matrix of floats as a JAX array, or ValueError."""
    matrix = jnp.asarray(matrix)
    if not jnp.issubdtype(matrix.dtype, jnp.floating):
        matrix = matrix.astype(float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"{name} has the shape {matrix.shape}; give a square matrix with at least one row.")
    values = np.asarray(matrix)
    largest = np.abs(values).max()
    if not np.isfinite(largest):
        i, j = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(f"{name} has {values[i, j]} at ({i}, {j}); remove or repair inputs {i} and {j}.")
    skew = np.abs(values - values.T).max()
    if skew > 100 * np.finfo(values.dtype).eps * len(values) * largest:
        raise ValueError(f"{name} is not symmetric: entries differ from their mirror images by up to {skew:.3g}.")
    return matrix


def decompose(
    matrix: Float[Array, "n n"], name: str, tolerance: float | None = None
) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    """Ascending eigenvalues and eigenvectors, eigenvalues of at most `tolerance` λ_max (default n ε) set to 0.

    An eigenvalue below -10 times that is refused. In single precision a warning tells what its digits cost.

    >>> decompose(jnp.array([[1.0, 1.0], [1.0, 1.0]]), "ntk")[0].round(6).tolist()
    [0.0, 2.0]
    """
    eps = float(jnp.finfo(matrix.dtype).eps)
    relative = len(matrix) * eps if tolerance is None else tolerance
    values, vectors = _eigh(matrix)
    known = np.asarray(values)
    largest = float(np.abs(known).max())
    if known[0] < -10 * relative * largest:
        raise ValueError(
            f"{name} is not positive semidefinite: eigenvalue 1 of {len(known)} is {known[0]:.6g} (the largest is "
            f"{known[-1]:.6g}); use a kernel that is one, or pass tolerance={-known[0] / largest:.1g} or more if "
            "this is noise."
        )
    kept = known > relative * largest
    if matrix.dtype == jnp.float32 and kept.any():
        loss = float(largest * eps / known[kept][0])
        if loss > LOST or not kept.all():
            warnings.warn(
                f"{name} is in single precision: its eigenvalues are known to {eps * largest:.1g}, so the slowest "
                f"modes (λ = {known[kept][0]:.2g}) carry relative errors of about {loss:.1g}, and {int((~kept).sum())} "
                f"of {len(known)} count as 0; compute the kernel with jax_enable_x64 for late times.",
                stacklevel=4,
            )
    return jnp.where(jnp.asarray(kept), values, 0.0), vectors


@jax.jit
def _eigh(matrix: Array) -> tuple[Array, Array]:
    values, vectors = jnp.linalg.eigh(matrix, symmetrize_input=True)
    return values, vectors
