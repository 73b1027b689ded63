"""The Hopfield network: signs that minimise a quadratic energy (Hopfield 1982)."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int, Num


def sgn(h: Num[Array | np.ndarray, "*shape"]) -> Num[Array, "*shape"]:
    """The sign with sgn(0) = +1, in the dtype of h."""
    h = jnp.asarray(h)
    return jnp.where(h >= 0, 1, -1).astype(h.dtype)


def energy(
    weights: Num[Array | np.ndarray, "d d"],
    states: Num[Array | np.ndarray, "*batch d"],
    bias: Num[Array | np.ndarray, " d"] | None = None,
) -> Num[Array, "*batch"]:
    """H(X) = -1/2 Σᵢⱼ w_ij X_i X_j + Σᵢ bᵢ X_i, for any square matrix (nothing is assumed of it).

    >>> import jax.numpy as jnp
    >>> energy(jnp.array([[0.0, 1.0], [1.0, 0.0]]), jnp.array([[1.0, 1.0], [1.0, -1.0]])).tolist()
    [-1.0, 1.0]
    """
    states = jnp.asarray(states)
    quadratic = -0.5 * jnp.einsum("...i,ij,...j->...", states, jnp.asarray(weights), states)
    return quadratic if bias is None else quadratic + states @ jnp.asarray(bias)


def local_fields(
    weights: Num[Array | np.ndarray, "d d"],
    states: Num[Array | np.ndarray, "*batch d"],
    bias: Num[Array | np.ndarray, " d"] | None = None,
) -> Num[Array, "*batch d"]:
    """hᵢ = Σⱼ w_ij X_j - bᵢ, for any square matrix."""
    fields = jnp.asarray(states) @ jnp.asarray(weights).T
    return fields if bias is None else fields - jnp.asarray(bias)


def overlaps(
    patterns: Num[Array | np.ndarray, "n d"], states: Num[Array | np.ndarray, "*batch d"]
) -> Num[Array, "*batch n"]:
    """m_t = x_t.X/d: 1 where the state is pattern t, -1 where it is its negative, about 0 where unrelated.

    >>> import jax.numpy as jnp
    >>> overlaps(jnp.array([[1.0, 1.0, -1.0, 1.0]]), jnp.array([1.0, -1.0, -1.0, 1.0])).tolist()
    [0.5]
    """
    patterns = jnp.asarray(patterns)
    return jnp.asarray(states) @ patterns.T / patterns.shape[-1]


def check_signs(array, name: str) -> None:
    """Raise unless every value is -1 or +1; a traced array has no values to look at and passes."""
    if not isinstance(array, Tracer) and not np.all(np.abs(array) == 1):  # NumPy: nothing to compile
        raise ValueError(f"{name} must hold only -1 and +1, but other values were found: map bits with 2*b - 1 first.")


class Block(NamedTuple):
    """What a sweep needs of B neighbouring visits: fields without the bias (B, k), and their own weights (B, B)."""

    fields: Float[Array, "B k"]
    weights: Float[Array, "B B"]


class HopfieldNetwork(eqx.Module):
    """States X in {-1, +1}^d with energy H(X) = -1/2 Σᵢⱼ w_ij X_i X_j + Σᵢ bᵢ X_i, w_ij = w_ji, w_ii = 0.

    The weights are a dense (d, d) matrix and are checked. For patterns stored by Hebb's rule or by projection,
    `FactoredHopfield` runs faster at n < d patterns.

    >>> import jax.numpy as jnp
    >>> network = HopfieldNetwork(jnp.array([[0.0, -1.0], [-1.0, 0.0]]))
    >>> network.energy(jnp.array([1.0, -1.0])).item(), network.fields(jnp.array([1.0, -1.0])).tolist()
    (-1.0, [1.0, -1.0])
    """

    weights: Float[Array, "d d"]
    bias: Float[Array, " d"]

    def __init__(self, weights: Num[Array | np.ndarray, "d d"], bias: Num[Array | np.ndarray, " d"] | None = None):
        weights = jnp.asarray(weights)
        weights = (
            weights.astype(jnp.result_type(weights, float))
            if not jnp.issubdtype(weights.dtype, jnp.floating)
            else weights
        )
        bias = jnp.zeros(weights.shape[0], weights.dtype) if bias is None else jnp.asarray(bias, weights.dtype)
        if not isinstance(weights, Tracer):
            check_weights(weights)
        if not isinstance(bias, Tracer) and not bool(jnp.isfinite(bias).all()):
            raise ValueError("The bias holds NaN or infinite values: pass finite numbers.")
        self.weights, self.bias = weights, bias

    @property
    def unit(self) -> float:
        """The unit in which `block` states its fields."""
        return 1.0

    def fields(self, states: Num[Array | np.ndarray, "*batch d"]) -> Float[Array, "*batch d"]:
        """hᵢ = Σⱼ w_ij X_j - bᵢ."""
        return local_fields(self.weights, states, self.bias)

    def energy(self, states: Num[Array | np.ndarray, "*batch d"]) -> Float[Array, "*batch"]:
        """H(X) of each state."""
        return energy(self.weights, states, self.bias)

    # What a blocked sweep asks of a network: a summary of the states (d, k), fields of a few neurons from it, and
    # its change when those neurons flip. Visits beyond the last neuron carry the index d and must be without effect.
    def summarise(self, states: Float[Array, "d k"]) -> Float[Array, "d k"]:
        return states

    def block(self, summary: Float[Array, "d k"], own: Float[Array, "B k"], index: Int[Array, " B"]) -> Block:
        rows = self.weights.at[index].get(mode="fill", fill_value=0)  # (B, d)
        return Block(rows @ summary, rows.at[:, index].get(mode="fill", fill_value=0))

    def absorb(self, summary: Float[Array, "d k"], change: Float[Array, "B k"], index: Int[Array, " B"]):
        return summary.at[index].add(change, mode="drop")


class FactoredHopfield(eqx.Module):
    """The same network with W = u (Fᵀ F - diag(r)) for a factor F (n, d): memory and fields cost O(n d), not O(d²).

    Hebb's rule has F = patterns, u = 1/d, r_i = n. Its fields are then sums of integers divided once, so ties are exact
    while n d < 2²⁴ in float32. The projection rule has F with orthonormal rows, u = 1. A smaller r keeps a
    self-coupling. Made by `hebbian_network` and `projection_network`.

    >>> import jax.numpy as jnp
    >>> network = FactoredHopfield(jnp.array([[1.0, 1.0, -1.0, 1.0]]), unit=0.25, removed=jnp.ones(4))
    >>> network.fields(jnp.array([1.0, 1.0, -1.0, 1.0])).tolist()
    [0.75, 0.75, -0.75, 0.75]
    """

    factor: Float[Array, "n d"]
    removed: Float[Array, " d"]
    bias: Float[Array, " d"]
    unit: float = eqx.field(static=True)

    def __init__(
        self,
        factor: Float[Array, "n d"],
        *,
        unit: float,
        removed: Float[Array, " d"],
        bias: Float[Array, " d"] | None = None,
    ):
        self.factor, self.removed, self.unit = factor, removed, unit
        self.bias = jnp.zeros(factor.shape[1], factor.dtype) if bias is None else bias

    @property
    def weights(self) -> Float[Array, "d d"]:
        """The dense matrix, for looking at it."""
        return self.unit * (self.factor.T @ self.factor - jnp.diag(self.removed))

    def fields(self, states: Num[Array | np.ndarray, "*batch d"]) -> Float[Array, "*batch d"]:
        """hᵢ = Σⱼ w_ij X_j - bᵢ."""
        states = jnp.asarray(states)
        return self.unit * ((states @ self.factor.T) @ self.factor - self.removed * states) - self.bias

    def energy(self, states: Num[Array | np.ndarray, "*batch d"]) -> Float[Array, "*batch"]:
        """H(X) of each state."""
        states = jnp.asarray(states)
        return -0.5 * jnp.sum(states * (self.fields(states) - self.bias), axis=-1)

    def summarise(self, states: Float[Array, "d k"]) -> Float[Array, "n k"]:
        return self.factor @ states

    def block(self, summary: Float[Array, "n k"], own: Float[Array, "B k"], index: Int[Array, " B"]) -> Block:
        columns = self.factor.at[:, index].get(mode="fill", fill_value=0)  # (n, B)
        removed = self.removed.at[index].get(mode="fill", fill_value=0)
        return Block(columns.T @ summary - removed[:, None] * own, columns.T @ columns - jnp.diag(removed))

    def absorb(self, summary: Float[Array, "n k"], change: Float[Array, "B k"], index: Int[Array, " B"]):
        return summary + self.factor.at[:, index].get(mode="fill", fill_value=0) @ change


def check_weights(weights: Num[Array | np.ndarray, "d d"]) -> None:
    """Raise unless the matrix is finite, symmetric and without diagonal: what the energy argument needs."""
    weights = np.asarray(weights)
    if not np.isfinite(weights).all():
        raise ValueError("The weights hold NaN or infinite values: pass a matrix of finite numbers.")
    # Products of float matrices are symmetric only up to rounding, which is no reason to refuse them.
    slack = 8 * np.finfo(weights.dtype).eps * max(1.0, float(np.abs(weights).max(initial=0.0)))
    asymmetry = np.abs(weights - weights.T)
    if asymmetry.max(initial=0.0) > slack:
        i, j = np.unravel_index(asymmetry.argmax(), asymmetry.shape)
        raise ValueError(
            f"The weights must be symmetric, but w[{i},{j}] = {weights[i, j]:.6g} and w[{j},{i}] = "
            f"{weights[j, i]:.6g}: pass (W + W.T)/2 if that is what you mean."
        )
    diagonal = np.abs(np.diag(weights))
    if diagonal.max(initial=0.0) > 0:
        i = int(diagonal.argmax())
        raise ValueError(
            f"The weights must have a zero diagonal, but w[{i},{i}] = {weights[i, i]:.6g}: subtract diag(W) first."
        )
