"""Two rules that store patterns of signs in the weights of a Hopfield network."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Num

from .hopfield import FactoredHopfield, check_signs


def hebbian_network(
    patterns: Num[Array | np.ndarray, "n d"], *, self_coupling: bool = False, slots: int | None = None
) -> FactoredHopfield:
    """Hebb's rule W = (1/d) Σₜ x_t x_tᵀ, with the diagonal n/d removed unless `self_coupling`.

    The network keeps the patterns instead of W: a field costs O(n) given the overlaps, and ties are exact. Networks of
    equal `slots` ≥ n (empty ones stay without effect) share one compiled run, whatever their n.

    >>> import jax
    >>> from leadline import data
    >>> patterns = data.random_signs(3, 200, key=jax.random.key(0))
    >>> network = hebbian_network(patterns)
    >>> bool((patterns * network.fields(patterns) > 0).all())  # all three are fixed points
    True
    """
    patterns = _as_patterns(patterns)
    n, d = patterns.shape
    if slots is not None and slots < n:
        raise ValueError(f"{n} patterns do not fit into {slots} slots: pass slots >= {n}, or none.")
    factor = patterns if slots is None else jnp.pad(patterns, ((0, slots - n), (0, 0)))
    return FactoredHopfield(factor, unit=1 / d, removed=jnp.full(d, 0 if self_coupling else n, patterns.dtype))


def hebbian(patterns: Num[Array | np.ndarray, "n d"], *, self_coupling: bool = False) -> Float[Array, "d d"]:
    """The weight matrix of Hebb's rule, W = (1/d) Σₜ x_t x_tᵀ with the diagonal set to 0 (unless `self_coupling`).

    >>> import jax.numpy as jnp
    >>> hebbian(jnp.array([[1.0, -1.0], [1.0, 1.0], [1.0, 1.0]])).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    return _products(_as_patterns(patterns), self_coupling) / patterns.shape[1]


def add_pattern(weights: Float[Array, "d d"], pattern: Num[Array | np.ndarray, " d"]) -> Float[Array, "d d"]:
    """Store one more pattern by Hebb's rule: W + (x xᵀ - I)/d.

    >>> import jax.numpy as jnp
    >>> add_pattern(jnp.zeros((2, 2)), jnp.array([1.0, -1.0])).tolist()
    [[0.0, -0.5], [-0.5, 0.0]]
    """
    return weights + _hebbian_term(weights, pattern)


def remove_pattern(weights: Float[Array, "d d"], pattern: Num[Array | np.ndarray, " d"]) -> Float[Array, "d d"]:
    """Forget a pattern stored by Hebb's rule: W - (x xᵀ - I)/d, the inverse of `add_pattern`."""
    return weights - _hebbian_term(weights, pattern)


def projection_network(patterns: Num[Array | np.ndarray, "n d"]) -> FactoredHopfield:
    """The pseudo-inverse rule as a network that keeps an orthonormal basis of the patterns (see `projection`).

    >>> from leadline import data
    >>> bitmaps = data.digit_bitmaps()  # strongly correlated
    >>> bool((bitmaps * projection_network(bitmaps).fields(bitmaps) > 0).all())
    True
    """
    basis = _orthonormal_rows(patterns)
    return FactoredHopfield(basis, unit=1.0, removed=jnp.sum(basis**2, axis=0))


def projection(patterns: Num[Array | np.ndarray, "n d"], *, self_coupling: bool = False) -> Float[Array, "d d"]:
    """The pseudo-inverse rule W = Pᵀ (P Pᵀ)⁻¹ P, with the diagonal removed unless `self_coupling`.

    P has the patterns as rows, which must be linearly independent. W x_t = x_t before the diagonal is removed; after
    it x_{t,i} hᵢ = 1 - W_ii, so that every pattern stays a fixed point while max_i W_ii < 1, up to n < d patterns
    (Personnaz, Guyon and Dreyfus 1985).

    >>> import jax.numpy as jnp
    >>> patterns = jnp.array([[1.0, 1.0, 1.0, -1.0], [1.0, 1.0, 1.0, 1.0]])
    >>> (patterns @ projection(patterns, self_coupling=True)).round(3).tolist()
    [[1.0, 1.0, 1.0, -1.0], [1.0, 1.0, 1.0, 1.0]]
    """
    return _products(_orthonormal_rows(patterns), self_coupling)


@partial(jax.jit, static_argnums=1)
def _products(rows: Float[Array, "n d"], self_coupling: bool) -> Float[Array, "d d"]:
    """sum_t x_t x_tᵀ, with a diagonal of 0 unless `self_coupling`."""
    weights = rows.T @ rows
    return weights if self_coupling else jnp.fill_diagonal(weights, 0, inplace=False)


def _as_patterns(patterns: Num[Array | np.ndarray, "n d"]) -> Float[Array, "n d"]:
    check_signs(patterns, "The patterns")
    patterns = jnp.asarray(patterns)
    return patterns if jnp.issubdtype(patterns.dtype, jnp.floating) else patterns.astype(jnp.result_type(float))


def _hebbian_term(weights: Float[Array, "d d"], pattern: Num[Array | np.ndarray, " d"]) -> Float[Array, "d d"]:
    check_signs(pattern, "The pattern")
    return _outer_term(jnp.asarray(pattern, weights.dtype))


@jax.jit
def _outer_term(x: Float[Array, " d"]) -> Float[Array, "d d"]:
    return (jnp.outer(x, x) - jnp.eye(len(x), dtype=x.dtype)) / len(x)


def _orthonormal_rows(patterns: Num[Array | np.ndarray, "n d"]) -> Float[Array, "n d"]:
    patterns = _as_patterns(patterns)
    n, d = patterns.shape
    # Pᵀ = Q R gives Pᵀ (P Pᵀ)⁻¹ P = Q Qᵀ without squaring the condition number of P.
    q, r = jnp.linalg.qr(patterns.T)
    if not isinstance(r, Tracer):
        new_direction = np.abs(np.diag(np.asarray(r)))  # distance of each pattern from the span of those before it
        if n > d or new_direction.min() < d * np.sqrt(d) * np.finfo(patterns.dtype).eps:
            raise ValueError(
                f"The projection rule needs linearly independent patterns, but these {n} patterns of {d} signs are "
                "dependent: drop repeated patterns, negatives and combinations of others."
            )
    return q.T
