"""How firmly a network holds its patterns: fixed points, their margins, and their basins of attraction."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, PRNGKeyArray

from .dynamics import asynchronous
from .hopfield import FactoredHopfield, HopfieldNetwork, check_signs, sgn


class Stability(NamedTuple):
    """Per pattern: is it a fixed point, which share of its bits is, and its minimal stability min_i x_{t,i} hᵢ."""

    fixed: Bool[Array, " n"]
    bits: Float[Array, " n"]
    minimal: Float[Array, " n"]


class Basin(NamedTuple):
    """Shares of flipped bits that were tried, the share of cues that came back from each, and each pattern's radius."""

    shares: Float[np.ndarray, " s"]
    returned: Float[np.ndarray, "s n"]
    radius: Float[np.ndarray, " n"]


def measure_stability(
    network: HopfieldNetwork | FactoredHopfield, patterns: Num[Array | np.ndarray, "n d"]
) -> Stability:
    """Bit i of pattern t is fixed if sgn(hᵢ) = x_{t,i}; a tie hᵢ = 0 fixes +1 only. One matrix product.

    >>> import jax
    >>> from leadline import data, memories
    >>> patterns = data.random_signs(5, 100, key=jax.random.key(0))
    >>> report = measure_stability(memories.hebbian_network(patterns), patterns)
    >>> report.fixed.tolist(), bool((report.minimal > 0).all())
    ([True, True, True, True, True], True)
    """
    check_signs(patterns, "The patterns")
    patterns = jnp.asarray(patterns, network.bias.dtype)
    fields = network.fields(patterns)
    return Stability(*_stability(patterns, fields))


@jax.jit
def _stability(patterns: Float[Array, "n d"], fields: Float[Array, "n d"]) -> tuple[Array, Array, Array]:
    stays = sgn(fields) == patterns
    return stays.all(axis=1), stays.mean(axis=1, dtype=fields.dtype), (patterns * fields).min(axis=1)


def flip_signs(
    states: Num[Array | np.ndarray, "*batch d"], probability: float, *, key: PRNGKeyArray
) -> Num[Array, "*batch d"]:
    """Turn each sign round independently with the given probability.

    >>> import jax, jax.numpy as jnp
    >>> flip_signs(jnp.ones(4), 1.0, key=jax.random.key(0)).tolist()
    [-1.0, -1.0, -1.0, -1.0]
    """
    return _flip(jnp.asarray(states), probability, key)


@jax.jit
def _flip(states: Num[Array, "*batch d"], probability: Float[Array, ""], key: PRNGKeyArray) -> Num[Array, "*batch d"]:
    return jnp.where(jax.random.bernoulli(key, probability, states.shape), -states, states)


def flip_exactly(
    states: Num[Array | np.ndarray, "*batch d"], counts: Int[Array | np.ndarray, "*batch"], *, key: PRNGKeyArray
) -> Num[Array, "*batch d"]:
    """Turn round the given number of signs of each state, at places drawn without replacement.

    >>> import jax, jax.numpy as jnp
    >>> float(flip_exactly(jnp.ones(10), jnp.array(3), key=jax.random.key(0)).sum())
    4.0
    """
    return _flip_ranks(jnp.asarray(states), jnp.asarray(counts), key)


@jax.jit
def _flip_ranks(states: Num[Array, "*batch d"], counts: Int[Array, "*batch"], key: PRNGKeyArray) -> Array:
    rank = jnp.argsort(jax.random.uniform(key, states.shape), axis=-1)
    return jnp.where(rank < counts[..., None], -states, states)


def basin_radius(
    network: HopfieldNetwork | FactoredHopfield,
    patterns: Num[Array | np.ndarray, "n d"],
    *,
    key: PRNGKeyArray,
    shares: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4),
    cues: int = 20,
    level: float = 0.95,
) -> Basin:
    """The largest share of flipped bits up to which at least `level` of the cues return to the pattern exactly.

    For each share, `cues` copies of each pattern with round(share d) random flips run asynchronously until they
    settle. A pattern that is no fixed point has radius 0, and so has a fixed point with an empty basin.

    >>> import jax
    >>> from leadline import data, memories
    >>> patterns = data.random_signs(4, 200, key=jax.random.key(0))
    >>> basin = basin_radius(memories.hebbian_network(patterns), patterns, key=jax.random.key(1))
    >>> bool((basin.radius >= 0.2).all())  # 40 of the 200 bits may be wrong
    True
    """
    check_signs(patterns, "The patterns")
    if list(shares) != sorted(shares) or not 0 <= shares[0] <= shares[-1] <= 1:
        raise ValueError(f"The shares of flipped bits must increase within [0, 1], but got {shares}.")
    patterns = jnp.asarray(patterns, network.bias.dtype)
    n, d = patterns.shape
    originals = jnp.broadcast_to(patterns[None, :, None], (len(shares), n, cues, d))
    flips = np.rint(np.asarray(shares) * d).astype(int)
    counts = jnp.broadcast_to(jnp.asarray(flips)[:, None, None], (len(shares), n, cues))
    ends = asynchronous(network, flip_exactly(originals, counts, key=key)).states
    # Counts divided in double precision: in float32 19 of 20 would fall short of 0.95.
    returned = np.asarray((ends == originals).all(axis=-1).sum(axis=-1)) / cues  # (s, n)
    reached = np.cumprod(returned >= level, axis=0).astype(bool)
    radius = np.max(np.where(reached, np.asarray(shares, float)[:, None], 0.0), axis=0)
    return Basin(np.asarray(shares, float), returned, radius)
