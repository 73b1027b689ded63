"""Subspaces of stiff directions: training inside one, how much of a displacement lies in it, how far two overlap."""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from leadline.data import generator
from leadline.training import minimise


def subspace_overlap(a: Float[np.ndarray | Array, "k p"], b: Float[np.ndarray | Array, "l p"]) -> float:
    """(1/k)‖ABᵀ‖²_F for two sets of k orthonormal rows: 1 for one subspace, k/p on average for random ones.

    >>> subspace_overlap(np.eye(3)[:2], np.eye(3)[1:])
    0.5
    """
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.ndim != 2:
        raise ValueError(f"The bases have shapes {a.shape} and {b.shape}; give two of the same number of rows.")
    return float(np.sum((a @ b.T) ** 2) / len(a))


def leading_subspace(root_jacobian: Float[np.ndarray | Array, "m p"], k: int) -> Float[np.ndarray, "k p"]:
    """The k stiffest eigenvectors of g = RᵀR in rows, for few rows and very many parameters: from the m × m matrix RRᵀ.

    Exact to rounding over λ₁/λₖ, so for leading directions only; the whole spectrum belongs to `fisher_spectrum`, and
    where R itself does not fit into memory, `curvature.fisher(...).top(k)` needs products alone.

    >>> np.abs(leading_subspace(np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), 1)).tolist()
    [[1.0, 0.0, 0.0]]
    """
    rows = np.asarray(root_jacobian)
    if rows.ndim != 2 or not 1 <= k <= min(rows.shape):
        raise ValueError(f"{k} directions of a square root of shape {rows.shape} were asked for; give 1 to its rank.")
    values, left = np.linalg.eigh(rows @ rows.T)
    if not values[-k] > 1e-10 * values[-1]:
        raise ValueError(f"λ{k} is below 10⁻¹⁰ of λ1, where RRᵀ has lost it; take fewer, or use fisher_spectrum.")
    return (left[:, ::-1][:, :k].T @ rows) / np.sqrt(values[::-1][:k, None])


def displacement_shares(
    displacement: Float[np.ndarray | Array, " p"], vectors: Float[np.ndarray | Array, "k p"]
) -> Float[np.ndarray, " k"]:
    """The share of ‖d‖² along each orthonormal row; cumulative sums give the share in the first k.

    >>> displacement_shares(np.array([3.0, 4.0]), np.eye(2)).round(12).tolist()
    [0.36, 0.64]
    """
    d = np.asarray(displacement)
    square = float(d @ d)
    if not square > 0:
        raise ValueError("The displacement is zero; give one that has moved.")
    return (np.asarray(vectors) @ d) ** 2 / square


def random_subspace(k: int, p: int, *, key: PRNGKeyArray) -> Float[np.ndarray, "k p"]:
    """k orthonormal rows that span a uniformly random subspace of R^p.

    >>> import jax
    >>> basis = random_subspace(2, 5, key=jax.random.key(0))
    >>> bool(np.allclose(basis @ basis.T, np.eye(2)))
    True
    """
    if not 1 <= k <= p:
        raise ValueError(f"A subspace of dimension {k} in {p} dimensions was asked for; give 1 to {p}.")
    return np.linalg.qr(generator(key).normal(size=(p, k)))[0].T


def train_in_subspace(
    loss: Callable[..., Float[Array, ""]],
    start: PyTree,
    basis: Float[np.ndarray | Array, "k p"],
    optimiser: optax.GradientTransformation,
    num_steps: int,
    *arrays: PyTree,
) -> tuple[PyTree, Float[Array, " steps"]]:
    """Minimise loss(w₀ + θ basis, *arrays) over θ in R^k from θ = 0; the parameters at the end and the losses before.

    Rows of zeros are allowed, so that subspaces of several dimensions fit into one array and one compiled program
    (`jax.vmap` over `basis`). The floating-point arrays of `start` are moved, flat in the order of their leaves
    (Li and others 2018, for random subspaces; Gressmann and others 2020).

    >>> end, losses = train_in_subspace(
    ...     lambda w, y: jnp.sum((w - y) ** 2), jnp.zeros(2), jnp.array([[1.0, 0.0]]), optax.sgd(0.25), 30, jnp.ones(2)
    ... )
    >>> end.round(3).tolist()
    [1.0, 0.0]
    """
    moved, rest = eqx.partition(start, eqx.is_inexact_array)
    flat, unravel = ravel_pytree(moved)
    basis = jnp.asarray(basis)
    if basis.ndim != 2 or basis.shape[1] != flat.size:
        raise ValueError(f"The basis has shape {basis.shape}; give rows of the {flat.size} flat parameters.")

    def restricted(theta: Array, *seen: PyTree) -> Float[Array, ""]:
        return loss(eqx.combine(unravel(flat + theta @ basis), rest), *seen)

    theta, losses = minimise(restricted, jnp.zeros(len(basis), flat.dtype), optimiser, num_steps, *arrays)
    return eqx.combine(unravel(flat + theta @ basis), rest), losses
