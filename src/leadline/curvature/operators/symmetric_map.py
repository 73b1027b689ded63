"""What the estimators of this room ask of an operator, and the checks of their arguments that they share."""

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Key, PyTree

AnyKey = Key[Array, ""] | Array


@runtime_checkable
class SymmetricMap(Protocol):
    """A symmetric matrix A of `size` rows known by its products A v with flat vectors v."""

    size: Any
    dtype: Any

    def __call__(self, v: PyTree, /) -> PyTree: ...


@eqx.filter_jit
def one_by_one(operator: SymmetricMap, vectors: Float[Array, "k p"]) -> Float[Array, "k p"]:
    """A v for every row v, one after the other: never more memory than one product takes."""
    return lax.map(operator, vectors)


def basis_rows(operator: SymmetricMap) -> Float[Array, "p p"]:
    """The whole matrix, row by row; for small operators."""
    return one_by_one(operator, jnp.eye(operator.size, dtype=operator.dtype))


def random_signs(key: AnyKey, operator: SymmetricMap, probes: int) -> Float[Array, "k p"]:
    """`probes` vectors of independent signs, E v vᵀ = I and ‖v‖² = p."""
    return jax.random.rademacher(key, (probes, operator.size), operator.dtype)


def check_count(name: str, value: int, least: int, why: str) -> None:
    """Refuse fewer than `least` of something."""
    if value < least:
        raise ValueError(f"{name} is {value}; give at least {least}: {why}.")


def check_damping(damping: float) -> None:
    """Refuse a negative damping."""
    if not damping >= 0:
        raise ValueError(f"damping is {damping}; give a number λ ≥ 0, which is added to the diagonal.")


def standard_error(samples: Float[Array, "k ..."]) -> Float[Array, "..."]:
    """The standard error of the mean of independent samples along axis 0.

    >>> float(standard_error(jnp.array([1.0, 3.0])))
    1.0
    """
    return jnp.std(samples, axis=0, ddof=1) / jnp.sqrt(len(samples))
