"""The trace and the diagonal of an operator from a few products, with standard errors."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float
from matfree import stochtrace

from leadline._messages import unknown

from ..operators.symmetric_map import (
    AnyKey,
    SymmetricMap,
    basis_rows,
    check_count,
    one_by_one,
    random_signs,
    standard_error,
)

_METHODS, _DIAGONAL_METHODS = ("hutchinson", "hutch++", "xtrace"), ("bekas", "xdiag")
_FEWEST = {"hutchinson": 2, "hutch++": 6, "xtrace": 4, "bekas": 2, "xdiag": 4}


class TraceEstimate(NamedTuple):
    """An unbiased estimate, its standard error (0 if it is exact), and how many products with the operator it took."""

    value: Float[Array, ""]
    standard_error: Float[Array, ""]
    probes: int


class DiagonalEstimate(NamedTuple):
    """Estimates of A_ii as one flat vector, their standard errors (0 if exact), and the number of products."""

    value: Float[Array, " p"]
    standard_error: Float[Array, " p"]
    probes: int


def trace(operator: SymmetricMap, *, key: AnyKey, probes: int = 60, method: str = "hutch++") -> TraceEstimate:
    """tr A from `probes` products with A, whatever the method; exact from p products where probes ≥ p.

    - "hutchinson": the mean of vᵀA v over random signs v, variance 2 Σ_{i≠j} A_ij² / probes (Hutchinson 1989).
    - "hutch++": a third of the products finds a basis Q of where A is large, a third gives tr QᵀA Q exactly, the last
      third is Hutchinson on the rest (I − QQᵀ)A(I − QQᵀ); error O(1/probes) for semidefinite A (Meyer et al. 2021).
      The standard error is that of the last part, given Q.
    - "xtrace": every vector serves for both, each left out in turn (Epperly, Tropp, Webber 2024; from matfree). Its
      error is the scatter of the left-out estimates, which are not independent: an indication, not a standard error.

    >>> import equinox as eqx
    >>> class Diagonal(eqx.Module):
    ...     d: Array
    ...     size = property(lambda self: self.d.size)
    ...     dtype = property(lambda self: self.d.dtype)
    ...     def __call__(self, v): return self.d * v
    >>> found = trace(Diagonal(jnp.arange(100.0)), key=jax.random.key(0), probes=10, method="hutchinson")
    >>> float(found.value), float(found.standard_error)  # signs see a diagonal matrix exactly
    (4950.0, 0.0)
    """
    if method not in _METHODS:
        raise ValueError(unknown("method", method, _METHODS))
    check_count("probes", probes, _FEWEST[method], f"the error bar of {method} needs them")
    if probes >= operator.size:
        exact = jnp.trace(basis_rows(operator))
        return TraceEstimate(exact, jnp.zeros_like(exact), operator.size)
    run = {"hutchinson": _hutchinson, "hutch++": _hutch_plus_plus, "xtrace": _xtrace}[method]
    value, error, used = run(operator, key, probes)
    return TraceEstimate(value, error, used)


def diagonal(operator: SymmetricMap, *, key: AnyKey, probes: int = 100, method: str = "bekas") -> DiagonalEstimate:
    """The diagonal of A from `probes` products; exact by basis vectors where probes ≥ p.

    - "bekas": the mean of v ∘ A v over random signs v; A_ii has the variance Σ_{j≠i} A_ij² / probes (Bekas,
      Kokiopoulou, Saad 2007).
    - "xdiag": exact on a subspace found from half of the products, Bekas on the rest, each vector left out in turn
      (Epperly, Tropp, Webber 2024; from matfree): far better where few eigenvalues dominate. Its errors are the scatter
      of the left-out estimates, an indication. Its products are taken all at once, with the memory of probes/2.

    The entries are those of a flat vector in the order of the operator.
    """
    if method not in _DIAGONAL_METHODS:
        raise ValueError(unknown("method", method, _DIAGONAL_METHODS))
    check_count("probes", probes, _FEWEST[method], f"the error bars of {method} need them")
    if probes >= operator.size:
        exact = jnp.diagonal(basis_rows(operator))
        return DiagonalEstimate(exact, jnp.zeros_like(exact), operator.size)
    value, error, used = (_bekas if method == "bekas" else _xdiag)(operator, key, probes)
    return DiagonalEstimate(value, error, used)


@eqx.filter_jit
def _hutchinson(operator: SymmetricMap, key: AnyKey, probes: int) -> tuple[Array, Array, int]:
    quadratic = stochtrace.monte_carlo_trace()
    samples = lax.map(lambda v: quadratic(operator, v), random_signs(key, operator, probes))
    return jnp.mean(samples), standard_error(samples), probes


@eqx.filter_jit
def _hutch_plus_plus(operator: SymmetricMap, key: AnyKey, probes: int) -> tuple[Array, Array, int]:
    third = probes // 3
    for_basis, for_rest = jax.random.split(key)
    signs = random_signs(for_rest, operator, probes - 2 * third)
    Q = jnp.linalg.qr(one_by_one(operator, random_signs(for_basis, operator, third)).T)[0]  # (p, third)
    captured = jnp.sum(Q * one_by_one(operator, Q.T).T)

    def remaining(v: Array) -> Array:
        v = v - Q @ (Q.T @ v)
        v = v - Q @ (Q.T @ v)
        return v @ operator(v)

    samples = lax.map(remaining, signs)
    return captured + jnp.mean(samples), standard_error(samples), probes


@eqx.filter_jit
def _xtrace(operator: SymmetricMap, key: AnyKey, probes: int) -> tuple[Array, Array, int]:
    vectors = jax.random.normal(key, (probes // 2, operator.size), operator.dtype)
    product, scale = _scaled(operator, vectors[0])
    product = jax.custom_batching.sequential_vmap(product)  # one after the other, as everywhere here
    samples = scale * stochtrace.leave_one_out_xtrace()(product, vectors)
    return jnp.mean(samples), standard_error(samples), 2 * (probes // 2)


@eqx.filter_jit
def _bekas(operator: SymmetricMap, key: AnyKey, probes: int) -> tuple[Array, Array, int]:
    """The mean and the sum of squares as a running pair (Welford): memory of one vector, not of all."""

    def add(state: tuple[Array, Array], item: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
        (mean, squares), (count, one) = state, item
        v = jax.random.rademacher(one, (operator.size,), operator.dtype)
        sample = v * operator(v)
        change = sample - mean
        mean = mean + change / count
        return (mean, squares + change * (sample - mean)), None

    start = jnp.zeros(operator.size, operator.dtype)
    counts = jnp.arange(1, probes + 1).astype(operator.dtype)
    (mean, squares), _ = lax.scan(add, (start, start), (counts, jax.random.split(key, probes)))
    return mean, jnp.sqrt(squares / (probes - 1) / probes), probes


@eqx.filter_jit
def _xdiag(operator: SymmetricMap, key: AnyKey, probes: int) -> tuple[Array, Array, int]:
    vectors = random_signs(key, operator, probes // 2)
    product, scale = _scaled(operator, vectors[0])
    samples = scale * stochtrace.leave_one_out_xdiag()(product, vectors)
    return jnp.mean(samples, axis=0), standard_error(samples), 2 * (probes // 2)


def _scaled(operator: SymmetricMap, v: Array) -> tuple[Any, Array]:
    """v ↦ A v / s and s = ‖A v‖/‖v‖: matfree tells full from deficient rank by an absolute threshold."""
    size = jnp.linalg.norm(operator(v)) / jnp.linalg.norm(v)
    scale = jnp.where(size > 0, size, 1.0)
    return (lambda u: operator(u) / scale), scale
