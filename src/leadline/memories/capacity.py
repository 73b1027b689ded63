"""How many random patterns Hebb's rule holds: the mean-field transition, and the stricter limits of perfect storage."""

from functools import cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .crosstalk import bit_flip_gaussian, bit_flip_probability
from .dynamics import asynchronous
from .hopfield import FactoredHopfield


class CriticalPoint(NamedTuple):
    """The load n/d at which retrieval is lost, and the overlap with the pattern just below it."""

    load: float
    overlap: float


def _load_at(y: float) -> float:
    """The load α at which y solves y (√(2 α) + (2/√π) exp(-y²)) = erf(y)."""
    from scipy.special import erf

    return 0.5 * (erf(y) / y - 2 / np.sqrt(np.pi) * np.exp(-(y**2))) ** 2


@cache
def _critical_root() -> float:
    from scipy.optimize import minimize_scalar

    return float(
        minimize_scalar(lambda y: -_load_at(y), bounds=(0.5, 4.0), method="bounded", options={"xatol": 1e-12}).x
    )


def critical_load() -> CriticalPoint:
    """The largest load with a mean-field retrieval state: alpha_c = 0.137906, where the overlap is 0.9674.

    The load as a function of y = erf⁻¹(m) has one maximum; beyond it no root is left (Amit, Gutfreund and
    Sompolinsky 1985, replica-symmetric, zero temperature).

    >>> point = critical_load()
    >>> round(point.load, 6), round(point.overlap, 4)
    (0.137906, 0.9674)
    """
    from scipy.special import erf

    y = _critical_root()
    return CriticalPoint(float(_load_at(y)), float(erf(y)))


def mean_field_overlap(load: float) -> float:
    """The overlap m = erf(y) of the state reached from a stored pattern, y the largest root of
    y (√(2 α) + (2/√π) exp(-y²)) = erf(y), at load α = n/d; 0 above the critical load.

    >>> [round(mean_field_overlap(alpha), 3) for alpha in (0.1, 0.12, 0.13, 0.14)]
    [0.998, 0.993, 0.987, 0.0]
    """
    from scipy.optimize import brentq
    from scipy.special import erf

    if not load > 0:
        raise ValueError(f"The load n/d must be positive, but got {load}.")
    lowest = _critical_root()
    if load > _load_at(lowest):
        return 0.0
    # Beyond its maximum the load falls with y, and erf(y)/y < 1/y bounds the root: 1/(2 y²) > α.
    highest = max(1 / np.sqrt(2 * load), lowest)
    if _load_at(highest) >= load:
        return float(erf(highest))
    return float(erf(brentq(lambda y: _load_at(y) - load, lowest, highest, xtol=1e-14)))


def retrieved_overlaps(
    counts: tuple[int, ...], d: int, *, sets: int, cues: int, key: PRNGKeyArray, sweeps: int = 300
) -> Float[Array, "counts sets cues"]:
    """Store n fair random patterns by Hebb's rule, start at stored patterns, run to the end: the final overlaps.

    For each n in `counts` and each of `sets` independent draws, the first `cues` patterns are the starting points of
    asynchronous cyclic runs. One compiled loop for all n; exact in float32 for n d < 2²⁴.

    >>> import jax
    >>> final = retrieved_overlaps((10, 80), 200, sets=2, cues=10, key=jax.random.key(0))
    >>> final.shape, bool(final[0].mean() > 0.99), bool(final[1].mean() < 0.5)
    ((2, 2, 10), True, True)
    """
    if not 1 <= cues <= min(counts):
        raise ValueError(f"Cues are stored patterns: ask for 1 to {min(counts)} of them (the smallest n), not {cues}.")
    if max(counts) * d >= 2**24:
        raise ValueError(
            f"n d = {max(counts) * d} is too large for exact sums in float32: keep it below 2^24 = 16777216."
        )
    runs = [(n, s) for n in counts for s in range(sets)]
    keys = jnp.stack([jax.random.fold_in(jax.random.fold_in(key, n), s) for n, s in runs])
    final = _overlaps(keys, jnp.array([n for n, _ in runs]), max(counts), d, cues, sweeps)
    return final.reshape(len(counts), sets, cues)


@partial(jax.jit, static_argnames=("slots", "d", "cues", "sweeps"))
def _overlaps(keys, counts, slots, d, cues, sweeps):
    def one_set(arguments):
        key, n = arguments
        x = jnp.where(jax.random.bits(key, (slots, d), jnp.uint8) < 128, 1.0, -1.0).astype(jnp.float32)
        stored = jnp.where(jnp.arange(slots)[:, None] < n, x, 0)  # empty slots have no effect: one shape for all n
        network = FactoredHopfield(stored, unit=1 / d, removed=jnp.full(d, n, jnp.float32))
        ends = asynchronous(network, x[:cues], sweeps=sweeps).states
        return jnp.mean(ends * x[:cues], axis=1)

    return jax.lax.map(one_set, (keys, counts))


def perfect_storage(n: int, d: int, *, patterns: str = "one") -> float:
    """(1-p)ᵈ, the chance that one given pattern is a fixed point, or (1-p)^{nd} for all n, p = `bit_flip_probability`.

    Bits are taken as independent, which they are only nearly; 1 - d p and 1 - n d p are strict lower bounds.

    >>> round(perfect_storage(67, 1000), 3), round(perfect_storage(45, 1000, patterns="all"), 3)
    (0.951, 0.958)
    """
    bits = _bits(n, d, patterns)
    return float(np.exp(bits * np.log1p(-bit_flip_probability(n, d))))


def perfect_storage_limit(d: int, *, patterns: str = "one", probability: float = 0.95) -> int:
    """The largest n up to which `perfect_storage` is at least `probability`.

    >>> perfect_storage_limit(1000), perfect_storage_limit(1000, patterns="all")
    (67, 45)
    """
    if not 0 < probability < 1:
        raise ValueError(f"The probability must lie strictly between 0 and 1, but got {probability}.")
    loads = np.arange(1, d + 1)
    storage = _bits(loads, d, patterns) * np.log1p(-bit_flip_probability(loads, np.full(d, d)))
    enough = storage >= np.log(probability)
    return int(d if enough.all() else enough.argmin())


def logarithmic_capacity(d: float, *, patterns: str = "one") -> float:
    """The asymptote of perfect storage: d/(2 ln d) for one given pattern, d/(4 ln d) for all (McEliece et al. 1987).

    >>> round(logarithmic_capacity(1000), 1), round(logarithmic_capacity(1000, patterns="all"), 1)
    (72.4, 36.2)
    """
    return float(d / ((2 if _choice(patterns) == "one" else 4) * np.log(d)))


def expected_unstable_bits(
    n: Float[np.ndarray, " k"], d: Float[np.ndarray, " k"], *, patterns: str = "one"
) -> Float[np.ndarray, " k"]:
    """d p or n d p with the normal p, for sizes far beyond simulation: perfect storage holds where it tends to 0.

    >>> import numpy as np
    >>> d = np.array([1e3, 1e6, 1e12])
    >>> expected_unstable_bits(0.8 * d / (2 * np.log(d)), d).round(4).tolist()
    [0.014, 0.0021, 0.0]
    """
    return _bits(n, d, patterns) * bit_flip_gaussian(n, d)


def _choice(patterns: str) -> str:
    if patterns not in ("one", "all"):
        raise ValueError(f'Perfect storage is asked of "one" pattern or of "all", but got {patterns!r}.')
    return patterns


def _bits(n, d, patterns: str):
    return d if _choice(patterns) == "one" else n * d
