"""Extreme eigenpairs of a symmetric operator: Lanczos with full reorthogonalisation and thick restarts."""

import warnings
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

_ENDS = ("largest", "smallest", "magnitude", "both")
_NOT_FINITE = "A product with the operator is not finite; give parameters at which the loss is twice differentiable."
_DENSE = 200  # up to this size the whole matrix is as cheap, and multiple eigenvalues cannot be missed


class Eigenpairs(NamedTuple):
    """Eigenvalues θ, unit vectors v in rows, residuals ‖Av − θv‖, which of them met the tolerance, products used.

    An exact eigenvalue lies within the residual of each θ.
    """

    values: Float[np.ndarray, " k"]
    vectors: Float[np.ndarray, "k p"]
    residuals: Float[np.ndarray, " k"]
    converged: Bool[np.ndarray, " k"]
    products: int


def top(
    operator: Any,
    k: int = 1,
    *,
    which: str = "largest",
    tolerance: float | None = None,
    max_steps: int = 1000,
    basis: int | None = None,
    start: Float[Array | np.ndarray, " p"] | None = None,
) -> Eigenpairs:
    """The k largest eigenvalues with their vectors; or the smallest, the largest in modulus, or k at both ends.

    Pairs count as converged when ‖Av − θv‖ ≤ tolerance · max|θ|; the error of θ is then at most of that size, and of
    its square over the gap for isolated ones. At most `max_steps` products are used: what has not converged by then is
    returned as well, marked, and a warning says so. `basis` vectors of the operator's size are kept, which is all the
    memory it takes. Begins at `start`, or at a fixed random vector. As with every single-vector Krylov method, copies
    of an exactly multiple eigenvalue may be missed above size 200. Wu and Simon 2000.

    Largest and in modulus are in descending order, smallest and both ends in ascending order.
    """
    size, dtype = operator.size, np.dtype(operator.dtype)
    _check(size, k, which, max_steps)
    tolerance = float(np.finfo(dtype).eps) ** (2 / 3) if tolerance is None else tolerance
    wanted = min(2 * k, size) if which == "both" else k
    if size <= _DENSE and size <= max_steps:
        return _all_at_once(operator, k, which)
    length = min(max(2 * wanted + 20, 50), max_steps) if basis is None else basis  # one length, one compiled program
    length = min(max(length, wanted + 2), size)
    run = _Run(operator, length, start)
    first, stride = 2 * wanted + 2, max(4, wanted // 2)  # ARPACK, too, first looks after so many products
    while True:
        run.extend(min(stride if run.products else first, length - run.filled, max_steps - run.products))
        values, coordinates, residuals = run.ritz()
        order = _order(values, k, which)
        scale = np.abs(values).max()
        rounding = np.finfo(dtype).eps * scale
        found = np.maximum(residuals[order], rounding)
        converged = found <= max(tolerance * scale, 2 * rounding)
        if (len(order) == wanted and converged.all()) or run.products >= max_steps or run.filled == size:
            break
        if run.filled == length:
            run.restart(_kept(values, residuals, order, length))
    if not converged.all() or len(order) < wanted:
        warnings.warn(
            f"{int(converged.sum())} of {wanted} eigenpairs converged within {max_steps} products; the others have "
            f"residuals up to {found.max():.2g}. Allow more products (max_steps=) or a larger tolerance.",
            stacklevel=2,
        )
    vectors = np.asarray(run.combine(coordinates[:, order]))
    return Eigenpairs(values[order].astype(dtype), vectors, found.astype(dtype), converged, run.products)


class _Run:
    """The basis Q (rows) that grows, the projected matrix QᵀAQ, and the products spent."""

    def __init__(self, operator: Any, length: int, start: Any) -> None:
        self.operator, self.length = operator, length
        self.random = np.random.default_rng(0)
        first = self.random.normal(size=operator.size) if start is None else np.asarray(start, float)
        norm = np.linalg.norm(first)
        if first.shape != (operator.size,) or not 0 < norm < np.inf:
            raise ValueError(f"start has shape {first.shape}; give a finite vector of length {operator.size}, not 0.")
        self.basis = (
            jnp.zeros((length + 1, operator.size), operator.dtype).at[0].set(jnp.asarray(first / norm, operator.dtype))
        )
        self.projected = np.zeros((length, length))
        self.filled, self.products, self.last = 0, 0, 0.0

    def extend(self, num_steps: int) -> None:
        """More columns: A q, orthogonalised twice against all before."""
        self.basis, columns, norms = _extend(self.operator, self.basis, np.int32(self.filled), np.int32(num_steps))
        columns, norms = np.asarray(columns, float), np.asarray(norms, float)
        for i in range(self.filled, self.filled + num_steps):
            if not np.isfinite(norms[i]) or not np.isfinite(columns[i]).all():
                raise ValueError(_NOT_FINITE)
            self.projected[: i + 1, i] = self.projected[i, : i + 1] = columns[i, : i + 1]
            self.last = norms[i]
            self.products += 1
            self.filled = i + 1
            scale = np.abs(self.projected[: i + 1, : i + 1]).max()
            if norms[i] <= 10 * np.finfo(self.basis.dtype).eps * max(scale, np.finfo(self.basis.dtype).tiny):
                self._renew()
                return
            if i + 1 < self.length:
                self.projected[i, i + 1] = self.projected[i + 1, i] = norms[i]

    def _renew(self) -> None:
        """The basis spans an invariant subspace: go on with a random vector orthogonal to it."""
        self.last = 0.0
        fresh = jnp.asarray(self.random.normal(size=self.operator.size), self.basis.dtype)
        self.basis = _orthogonal(self.basis, fresh, np.int32(self.filled))

    def ritz(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Eigenvalues of QᵀAQ, their coordinates, and the residuals β|s_last| of the Ritz vectors."""
        values, coordinates = np.linalg.eigh(self.projected[: self.filled, : self.filled])
        return values, coordinates, self.last * np.abs(coordinates[-1])

    def combine(self, coordinates: np.ndarray) -> Array:
        """The vectors with these coordinates in the basis, in rows."""
        return jnp.asarray(coordinates.T, self.basis.dtype) @ self.basis[: self.filled]

    def restart(self, kept: np.ndarray) -> None:
        """Keep the best Ritz vectors and the last direction; QᵀAQ becomes diagonal but for the coupling to it."""
        values, coordinates, _ = self.ritz()
        count = len(kept)
        vectors = jnp.asarray(coordinates[:, kept].T, self.basis.dtype)
        self.basis = _shrink(self.basis, jnp.pad(vectors, ((0, 0), (0, self.length - self.filled))))
        self.projected[:] = 0.0
        self.projected[:count, :count] = np.diag(values[kept])
        self.filled = count


@eqx.filter_jit(donate="all-except-first")
def _extend(
    operator: Any, basis: Array, first: Array | np.int32, steps: Array | np.int32
) -> tuple[Array, Array, Array]:
    length = basis.shape[0] - 1

    def step(i: Array, state: tuple) -> tuple:
        basis, columns, norms = state
        image = operator(basis[i])
        once = basis @ image
        image = image - once @ basis
        twice = basis @ image
        image = image - twice @ basis
        norm = jnp.linalg.norm(image)
        basis = basis.at[i + 1].set(image / jnp.where(norm > 0, norm, 1.0))
        return basis, columns.at[i].set((once + twice)[:-1]), norms.at[i].set(norm)

    empty = jnp.zeros((length, length), basis.dtype), jnp.zeros(length, basis.dtype)
    return jax.lax.fori_loop(first, first + steps, step, (basis, *empty))


@eqx.filter_jit(donate="all")
def _shrink(basis: Array, coordinates: Array) -> Array:
    kept = coordinates @ basis[:-1]
    return jnp.zeros_like(basis).at[: len(kept)].set(kept).at[len(kept)].set(basis[-1])


@eqx.filter_jit
def _orthogonal(basis: Array, fresh: Array, filled: Array | np.int32) -> Array:
    basis = basis.at[filled].set(0.0)
    for _ in range(2):
        fresh = fresh - (basis @ fresh) @ basis
    return basis.at[filled].set(fresh / jnp.linalg.norm(fresh))


def _kept(values: np.ndarray, residuals: np.ndarray, order: np.ndarray, length: int) -> np.ndarray:
    """What survives a restart: the wanted pairs and some next to them, so that the gap to what is dropped is wide."""
    more = min(length - 2, len(order) + (length - len(order)) // 2) - len(order)
    others = np.setdiff1d(np.arange(len(values)), order)
    nearness = np.abs(values[others][:, None] - values[order][None]).min(axis=1)
    return np.concatenate([order, others[np.argsort(nearness)[: max(more, 0)]]])


def _order(values: np.ndarray, k: int, which: str) -> np.ndarray:
    """Positions of the wanted among ascending values."""
    count = len(values)
    if which == "largest":
        return np.arange(count)[::-1][:k]
    if which == "smallest":
        return np.arange(count)[:k]
    if which == "magnitude":
        return np.argsort(-np.abs(values), kind="stable")[:k]
    return np.arange(count) if 2 * k >= count else np.r_[np.arange(k), np.arange(count - k, count)]


def _all_at_once(operator: Any, k: int, which: str) -> Eigenpairs:
    matrix = operator.dense()
    if not np.isfinite(matrix).all():
        raise ValueError(_NOT_FINITE)
    values, vectors = np.linalg.eigh(matrix)
    order = _order(values, k, which)
    chosen = vectors[:, order]
    residuals = np.linalg.norm(matrix @ chosen - values[order] * chosen, axis=0)
    return Eigenpairs(values[order], chosen.T, residuals, np.ones(len(order), bool), operator.size)


def _check(size: int, k: int, which: str, max_steps: int) -> None:
    if which not in _ENDS:
        raise ValueError(f"which is {which!r}; give 'largest', 'smallest', 'magnitude' or 'both'.")
    if not 1 <= k <= size:
        raise ValueError(f"top got k = {k} for an operator of size {size}; give 1 to {size}.")
    if max_steps < 1:
        raise ValueError(f"most is {max_steps}; allow at least one product.")
