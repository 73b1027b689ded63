"""Looking for one object among N cells in the order a prior suggests: what a good prior saves and a wrong one costs."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int, PRNGKeyArray


def look_ranks(belief: Float[Array | np.ndarray, " n"]) -> Float[Array, " n"]:
    """At which look each cell is opened, likeliest first; cells of equal belief share their mean rank (random ties).

    >>> look_ranks(jnp.array([0.2, 0.5, 0.2, 0.1])).tolist()
    [2.5, 1.0, 2.5, 4.0]
    """
    before, upto = _places(belief)
    return ((before + upto + 1) / 2).astype(jnp.asarray(belief).dtype)


def _places(belief) -> tuple[Array, Array]:
    """How many cells are opened before each cell, and how many before any cell of lower belief."""
    falling = -jnp.asarray(belief)
    ordered = jnp.sort(falling)
    return jnp.searchsorted(ordered, falling, side="left"), jnp.searchsorted(ordered, falling, side="right")


def expected_looks(
    truth: Float[Array | np.ndarray, " n"], belief: Float[Array | np.ndarray, " m"] | None = None
) -> Float[Array, ""]:
    """Mean number of looks Σ_i pᵢ rank_q(i) when the object lies in cell i with probability pᵢ and q sets the order.

    With the true prior (the default) it is Σ_k k p_(k), the least possible; with a uniform belief (N + 1)/2. A cell
    to which q gives no mass is never opened, so the mean is infinite if p puts mass there.

    >>> round(float(expected_looks(zipf_prior(100))), 2), round(float(expected_looks(jnp.full(100, 0.01))), 2)
    (19.28, 50.5)
    """
    truth = _distribution(truth)
    belief = truth if belief is None else jnp.asarray(belief)
    if belief.shape != truth.shape:
        raise ValueError(f"Truth has shape {truth.shape} and belief {belief.shape}; both must list the same cells.")
    return _mean_rank(truth, belief)


def looks_deviation(
    truth: Float[Array | np.ndarray, " n"], belief: Float[Array | np.ndarray, " n"]
) -> Float[Array, ""]:
    """The standard deviation of the number of looks; among m cells of equal belief it is uniform, variance (m²-1)/12.

    >>> round(float(looks_deviation(jnp.full(5, 0.2), jnp.full(5, 0.2))), 4)  # uniform on 1..5
    1.4142
    """
    truth = _distribution(truth)
    before, upto = _places(belief)
    ranks, ties = look_ranks(belief), upto - before
    centred = ranks - jnp.sum(truth * ranks)
    return jnp.sqrt(jnp.sum(truth * (centred**2 + (ties**2 - 1) / 12)))


@jax.jit
def _mean_rank(truth: Array, belief: Array) -> Array:
    ranks = jnp.where(belief > 0, look_ranks(belief), jnp.inf)
    return jnp.sum(jnp.where(truth > 0, truth * ranks, 0.0))


def simulated_looks(
    truth: Float[Array | np.ndarray, " n"],
    belief: Float[Array | np.ndarray, " n"] | None = None,
    *,
    searches: int,
    key: PRNGKeyArray,
) -> Int[Array, " searches"]:
    """Looks needed in independent searches: `truth` hides the object, cells are opened by `belief`, ties at random."""
    truth = _distribution(truth)
    belief = truth if belief is None else jnp.asarray(belief)
    return _search(truth, belief, key, searches)


@partial(jax.jit, static_argnames="searches")
def _search(truth: Array, belief: Array, key: PRNGKeyArray, searches: int) -> Array:
    hide, shuffle = jax.random.split(key)
    cell = jax.random.choice(hide, truth.size, (searches,), p=truth)
    lots = jax.random.uniform(shuffle, (searches, truth.size))  # decide between cells of equal belief
    its_belief, its_lot = belief[cell][:, None], jnp.take_along_axis(lots, cell[:, None], 1)
    sooner = (belief > its_belief) | ((belief == its_belief) & (lots < its_lot))
    return 1 + jnp.sum(sooner, axis=1)


def zipf_prior(cells: int, exponent: float | Float[Array, ""] = 1.0) -> Float[Array, " cells"]:
    """p_k proportional to k^-exponent; exponent 0 is uniform."""
    weights = jnp.arange(1.0, cells + 1) ** -exponent
    return weights / weights.sum()


def geometric_prior(cells: int, ratio: float | Float[Array, ""] = 0.9) -> Float[Array, " cells"]:
    """p_k proportional to ratioᵏ on k = 1..cells.

    >>> round(float(expected_looks(geometric_prior(100))), 2)
    10.0
    """
    weights = ratio ** jnp.arange(cells, dtype=float)
    return weights / weights.sum()


def learned_prior(finds: Int[Array | np.ndarray, " n"], *, smoothing: float = 1.0) -> Float[Array, " n"]:
    """The prior learned from how often the object was found in each cell: counts plus `smoothing`, normalised.

    Without smoothing, cells never seen have no mass and would never be opened.

    >>> [round(float(p), 3) for p in learned_prior(jnp.array([2, 0, 1]), smoothing=1.0)]
    [0.5, 0.167, 0.333]
    """
    counts = jnp.asarray(finds) + smoothing
    return counts / counts.sum()


def _distribution(p: Array | np.ndarray) -> Array:
    p = jnp.asarray(p)
    if not isinstance(p, Tracer) and (bool((p < 0).any()) or abs(float(p.sum()) - 1) > 1e-4):
        raise ValueError(f"The probabilities sum to {float(p.sum()):.6g}; they must be non-negative and sum to 1.")
    return p
