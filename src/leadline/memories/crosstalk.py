"""Crosstalk between patterns stored by Hebb's rule: noise in their fields, its exact distribution for random signs."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray

from .hopfield import check_signs


def crosstalk_sums(patterns: Num[Array | np.ndarray, "n d"]) -> Num[Array, "n d"]:
    """d C_{t,i} = Σ_{r ≠ t} Σ_{j ≠ i} x_{r,i} x_{r,j} x_{t,j}: what the other patterns add to bit i of pattern t.

    Under Hebb's rule with zero diagonal, d Σⱼ w_ij x_{t,j} = (d-1) x_{t,i} + d C_{t,i}. Integer patterns give exact
    integers; the sums come from the n x n overlaps of the patterns, not from weights.

    >>> import jax.numpy as jnp
    >>> crosstalk_sums(jnp.array([[1, 1, 1, 1], [1, -1, 1, -1]])).tolist()  # orthogonal: -(n-1) x
    [[-1, -1, -1, -1], [-1, 1, -1, 1]]
    """
    check_signs(patterns, "The patterns")
    patterns = jnp.asarray(patterns)
    gram = jnp.fill_diagonal(patterns @ patterns.T, 0, inplace=False)  # Σⱼ x_{r,j} x_{t,j}, r ≠ t
    return gram @ patterns - (len(patterns) - 1) * patterns  # the term j = i is x_{t,i} for each r


def crosstalk_law(n: int, d: int):
    """Distribution of B in d x_{t,i} C_{t,i} = 2 B - (n-1)(d-1) for fair independent signs: binomial((n-1)(d-1), 1/2).

    Exact for each fixed bit: its (n-1)(d-1) products are independent fair signs. Returns a frozen SciPy distribution.

    >>> law = crosstalk_law(n=3, d=5)
    >>> float(law.mean()), float(law.var())
    (4.0, 2.0)
    """
    from scipy.stats import binom

    return binom((n - 1) * (d - 1), 0.5)


def bit_flip_probability(
    n: int | Int[np.ndarray, " k"], d: int | Int[np.ndarray, " k"], *, self_coupling: bool = False
) -> float | Float[np.ndarray, " k"]:
    """The exact chance that one update turns a stored bit round: P(S < -T) + P(S = -T)/2.

    S is a sum of (n-1)(d-1) fair signs; T = d - 1 with the diagonal of W removed, d + n - 1 with the diagonal n/d kept.
    At a tie sgn(0) = +1 turns -1 round and keeps +1, hence the half.

    >>> round(bit_flip_probability(138, 1000), 6)
    0.003463
    """
    from scipy.stats import binom

    n, d = np.asarray(n, dtype=np.int64), np.asarray(d, dtype=np.int64)
    if (n < 1).any() or (d < 2).any():
        raise ValueError("A stored bit needs n >= 1 patterns of d >= 2 signs: pass larger n or d.")
    products = (n - 1) * (d - 1)
    twice = products - _margin(n, d, self_coupling)  # S < -T is 2B < products - T
    tail = binom.cdf((twice + 1) // 2 - 1, products, 0.5)
    tie = np.where(twice % 2 == 0, binom.pmf(twice // 2, products, 0.5), 0.0)
    return _plain(tail + tie / 2)


def bit_flip_gaussian(
    n: int | float | Num[np.ndarray, " k"], d: int | float | Num[np.ndarray, " k"], *, self_coupling: bool = False
) -> float | Float[np.ndarray, " k"]:
    """The same chance with S taken as normal: Q(T/√((n-1)(d-1))), that is Q(√((d-1)/(n-1))) without diagonal.

    >>> round(bit_flip_gaussian(138, 1000, self_coupling=True), 5)
    0.00106
    """
    from scipy.special import ndtr

    n, d = np.asarray(n, dtype=float), np.asarray(d, dtype=float)
    with np.errstate(divide="ignore"):
        return _plain(ndtr(-_margin(n, d, self_coupling) / np.sqrt((n - 1) * (d - 1))))


def bit_flip_limit(load: float | Float[np.ndarray, " k"]) -> float | Float[np.ndarray, " k"]:
    """The limit for d → ∞ at load α = n/d: Q(√(1/α)) = (1 - erf(√(1/(2 α))))/2.

    >>> round(bit_flip_limit(1.0), 4)
    0.1587
    """
    from scipy.special import ndtr

    return _plain(ndtr(-1 / np.sqrt(load)))


def sample_unstable_bits(
    n: int,
    d: int,
    *,
    sets: int,
    key: PRNGKeyArray,
    self_coupling: bool = False,
    observed: int | None = None,
    slots: int | None = None,
) -> Int[np.ndarray, "sets observed"]:
    """Count the bits that one update turns round, in each of the first `observed` (all n) patterns of each set.

    Each of the `sets` is a new draw of n patterns of d fair signs, stored by Hebb's rule; sets are independent,
    patterns within one nearly so. Exact in float32, for n d < 2²⁴. Calls with equal `slots` ≥ n share one compiled
    function, whatever their n.

    >>> import jax
    >>> counts = sample_unstable_bits(100, 200, sets=200, key=jax.random.key(0))
    >>> counts.shape, abs(float(counts.mean()) / 200 - bit_flip_probability(100, 200)) < 0.002
    ((200, 100), True)
    """
    slots, observed = n if slots is None else slots, n if observed is None else min(observed, n)
    if slots < n:
        raise ValueError(f"{n} patterns do not fit into {slots} slots: pass slots >= {n}, or none.")
    if slots * d >= 2**24:
        raise ValueError(f"n d = {slots * d} is too large for exact sums in float32: keep it below 2^24 = 16777216.")
    rows = slots if observed == n else observed
    keys, removed = jax.random.split(key, sets), 0 if self_coupling else n
    return np.asarray(_unstable_bits(keys, n, removed, slots, d, rows))[:, :observed]


@partial(jax.jit, static_argnames=("slots", "d", "rows"))
def _unstable_bits(keys, n, removed, slots, d, rows):
    def one_set(key):
        x = jnp.where(jax.random.bits(key, (slots, d), jnp.uint8) < 128, 1, -1).astype(jnp.float32)
        x = jnp.where(jnp.arange(slots)[:, None] < n, x, 0)
        seen = x[:rows]
        fields = (seen @ x.T) @ x - removed * seen  # d h, whole numbers
        return jnp.sum(jnp.where(fields >= 0, 1, -1) != seen, axis=1)

    return jax.lax.map(one_set, keys)


def _margin(n, d, self_coupling: bool):
    """T: the signal in d x_{t,i} hᵢ that the sum S has to overcome."""
    return d + n - 1 if self_coupling else d - 1


def _plain(values):
    return float(values) if np.ndim(values) == 0 else values
