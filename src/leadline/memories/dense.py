"""Dense associative memories: Hopfield networks whose energy is steeper than a square."""

import math
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from .hopfield import sgn

Patterns = Float[Array | np.ndarray, "n d"]
States = Float[Array | np.ndarray, "b d"]


@dataclass(frozen=True)
class Exponential:
    """F(z) = exp(z): capacity of order 2^{d/2} (Demircigil et al. 2017)."""

    def energy(self, z: Float[Array, "... n"], dim: int) -> Float[Array, "..."]:
        """-log Σₜ exp(zₜ): it orders states as -Σₜ exp(zₜ) does, and does not overflow."""
        return -jax.nn.logsumexp(z, axis=-1)

    def field(self, x: Float[Array, "... n"], u: Float[Array, "... n"]) -> Float[Array, "..."]:
        # exp(u + x) - exp(u - x) = 2 sinh(1) x exp(u) for x = ±1; the common factor 2 sinh(1) exp(max u) is dropped.
        return (x * jnp.exp(u - u.max(-1, keepdims=True))).sum(-1)


EXPONENTIAL = Exponential()


@dataclass(frozen=True)
class Power:
    """F(z) = zᵏ, or max(z, 0)ᵏ when rectified (Krotov and Hopfield 2016).

    k = 2 is the Hopfield network with Hebbian storage and zero diagonal. Even powers cannot tell a pattern from its
    negative; the rectified ones can.
    """

    k: int = 2
    rectified: bool = False

    def __post_init__(self):
        if self.k < 2:
            raise ValueError(f"The power of a dense memory must be a whole number of at least 2, not {self.k}.")

    def energy(self, z: Float[Array, "... n"], dim: int) -> Float[Array, "..."]:
        """-Σₜ F(zₜ/d), the energy in units of dᵏ."""
        z = jnp.maximum(z, 0) if self.rectified else z
        return -((z / dim) ** self.k).sum(-1)

    def field(self, x: Float[Array, "... n"], u: Float[Array, "... n"]) -> Float[Array, "..."]:
        # For x = ±1: (u + x)ᵏ - (u - x)ᵏ = 2x Σ_{j odd} C(k,j) u^{k-j}. Everything is divided by s^{k-1} with s a power
        # of two above max |u|: no overflow, and exact as long as the integers themselves fit into the mantissa.
        exponent = jnp.frexp(jnp.maximum(jnp.abs(u).max(-1, keepdims=True), 1))[1]
        inverse = jnp.ldexp(jnp.ones((), u.dtype), -exponent)  # 1/s
        v = u * inverse
        difference = sum(
            2.0 * math.comb(self.k, j) * v ** (self.k - j) * inverse ** (j - 1) for j in range(1, self.k + 1, 2)
        )
        if self.rectified:  # F(u + 1) = 1 and F(u - 1) = 0 at u = 0; both vanish below
            difference = jnp.where(u > 0, difference, jnp.where(u == 0, inverse ** (self.k - 1), 0))
        return (x * difference).sum(-1)


def dense_energy(
    patterns: Patterns, states: States, *, energy: Exponential | Power = EXPONENTIAL
) -> Float[Array, " b"]:
    """E(X) = -Σₜ F(xₜ·X) of each state: for powers in units of dᵏ, for the exponential -log Σₜ exp(xₜ·X).

    >>> patterns = jnp.array([[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0]])
    >>> dense_energy(patterns, patterns, energy=Power(3)).tolist()
    [-1.0, -1.0]
    """
    return energy.energy(jnp.asarray(states) @ jnp.asarray(patterns).T, patterns.shape[1])


def dense_fields(
    patterns: Patterns, states: States, *, energy: Exponential | Power = EXPONENTIAL
) -> Float[Array, "b d"]:
    """Σₜ F(x_{t,i} + u_t) - F(-x_{t,i} + u_t) with u_t = Σ_{j≠i} x_{t,j} X_j, for every neuron i of every state X.

    Each field is up to a positive factor; its sign is the value that the neuron takes when it is updated next.

    >>> patterns = jnp.array([[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0]])
    >>> jnp.sign(dense_fields(patterns, patterns)).tolist()
    [[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0]]
    """
    return _fields(*_checked(patterns, states), energy)


def dense_retrieve(
    patterns: Patterns, cues: States, *, energy: Exponential | Power = EXPONENTIAL, sweeps: int = 100
) -> Float[Array, "b d"]:
    """Run X_i ← sgn(field_i), sgn(0) = +1, one neuron after the other in cyclic order, from every cue.

    E(X) = -Σₜ F(xₜ·X) never rises. Stops when a sweep changes nothing, or after the given number of sweeps. Patterns
    and cues are rows of ±1; the overlaps xₜ·X are kept up to date, so a sweep costs O(b n d).
    (Krotov and Hopfield 2016; Demircigil et al. 2017.)

    >>> patterns = jnp.array([[1.0, 1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0, 1.0]])
    >>> dense_retrieve(patterns, jnp.array([[1.0, 1.0, -1.0, 1.0, 1.0]]), energy=Power(3)).tolist()
    [[1.0, 1.0, 1.0, 1.0, 1.0]]
    """
    return _retrieve(*_checked(patterns, cues), energy, sweeps)


def dense_path(
    patterns: Patterns,
    cue: Float[Array | np.ndarray, " d"],
    *,
    energy: Exponential | Power = EXPONENTIAL,
    sweeps: int = 1,
) -> Float[Array, "steps d"]:
    """The states that `dense_retrieve` passes through from one cue, one row per neuron visited (sweeps · d + 1 rows).

    >>> dense_path(jnp.ones((1, 3)), jnp.array([-1.0, 1.0, -1.0])).tolist()
    [[-1.0, 1.0, -1.0], [1.0, 1.0, -1.0], [1.0, 1.0, -1.0], [1.0, 1.0, 1.0]]
    """
    if cue.ndim != 1:
        raise ValueError(f"A path starts from one cue of shape (d,), not {cue.shape}.")
    patterns, cues = _checked(patterns, cue[None])
    return _path(patterns, cues[0], energy, sweeps)


def dense_bit_error(patterns: float, dim: int, k: int) -> float:
    """Q(√(d^{k-1} / ((2k-3)!! K))): chance that F = zᵏ flips a bit of one of K random patterns in one step.

    Crosstalk of K ≫ 1 independent patterns taken as Gaussian, leading order in d (Krotov and Hopfield 2016).

    >>> round(dense_bit_error(723, 100, 3), 4)
    0.0159
    """
    return math.erfc(math.sqrt(dim ** (k - 1) / (2 * _double_factorial(2 * k - 3) * patterns))) / 2


def dense_capacity(dim: int, k: int) -> float:
    """K = d^{k-1} / (2 (2k-3)!! ln d): patterns up to which F = zᵏ keeps all d bits of one pattern, for large d.

    >>> round(dense_capacity(100, 3))
    362
    """
    return dim ** (k - 1) / (2 * _double_factorial(2 * k - 3) * math.log(dim))


def _double_factorial(odd: int) -> int:
    return math.prod(range(odd, 0, -2))


def _checked(patterns, states):
    """Both as arrays of one dtype, after a check that they are rows of ±1 of equal length."""
    if patterns.ndim != 2 or states.ndim != 2 or patterns.shape[1] != states.shape[1]:
        raise ValueError(
            f"Patterns {patterns.shape} and states {states.shape} do not match: their shapes must be (n, d) and (b, d)."
        )
    for name, values in (("patterns", patterns), ("states", states)):
        if not isinstance(values, Tracer) and not np.all(np.abs(values) == 1):
            raise ValueError(f"The {name} must consist of -1 and +1: map other values to signs first.")
    dtype = jnp.result_type(patterns, states)
    return jnp.asarray(patterns, dtype), jnp.asarray(states, dtype)


def _visit(energy, overlaps, visited):
    """Update one neuron of every state: overlaps (b, n), and its bits in the patterns (n,) and in the states (b,)."""
    x, old = visited
    new = sgn(energy.field(x, overlaps - x * old[:, None]))
    return overlaps + x * (new - old)[:, None], new


@partial(jax.jit, static_argnames="energy")
def _fields(patterns, states, energy):
    overlaps = states @ patterns.T  # (b, n)
    columns = patterns.T, states.T
    return jax.lax.map(lambda column: energy.field(column[0], overlaps - column[0] * column[1][:, None]), columns).T


@partial(jax.jit, static_argnames=("energy", "sweeps"))
def _retrieve(patterns, cues, energy, sweeps):
    def sweep(carry):
        count, states, overlaps, _ = carry
        overlaps, new = jax.lax.scan(partial(_visit, energy), overlaps, (patterns.T, states.T))
        return count + 1, new.T, overlaps, jnp.any(states != new.T)

    def unsettled(carry):
        return (carry[0] < sweeps) & carry[3]

    return jax.lax.while_loop(unsettled, sweep, (0, cues, cues @ patterns.T, jnp.array(True)))[1]


@partial(jax.jit, static_argnames=("energy", "sweeps"))
def _path(patterns, cue, energy, sweeps):
    def step(carry, i):
        state, overlaps = carry
        overlaps, new = _visit(energy, overlaps, (patterns[:, i], state[i][None]))
        state = state.at[i].set(new[0])
        return (state, overlaps), state

    order = jnp.tile(jnp.arange(cue.shape[0]), sweeps)
    _, states = jax.lax.scan(step, (cue, cue[None] @ patterns.T), order)
    return jnp.concatenate([cue[None], states])
