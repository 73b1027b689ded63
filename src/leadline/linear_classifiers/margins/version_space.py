"""The version space: all parameters that classify a sample correctly, measured as a share of the unit sphere."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Num, PRNGKeyArray, UInt32

from .labelled import signed_sample

Inputs = Num[Array | np.ndarray, "n d"]
Labels = Num[Array | np.ndarray, " n"]


class VersionArcs(NamedTuple):
    """The version spaces of the first 1, 2, ..., n points: directions with angle in (low, high), radians."""

    low: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]  # not above low once the version space is empty
    share: Float[np.ndarray, " n"]  # (high - low) / 2 pi, or 0


class VersionShare(NamedTuple):
    """Share of the unit sphere left by the first 1, 2, ..., n points, with a confidence interval."""

    share: Float[np.ndarray, " n"]
    low: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]
    hits: Int[np.ndarray, " n"] | None  # directions inside, of those drawn; None where the share is exact


def version_arcs(x: Inputs, y: Labels, *, bias: bool = False) -> VersionArcs:
    """Exact version spaces V = {w: yᵢ w·xᵢ > 0 for all i} in two parameters, while points are added.

    Each point leaves the open half-circle around the angle of y x; in the half-circle of the first point the others
    cut from one side each. Two parameters are two inputs, or one input and a bias (`bias=True`: x ↦ (x, 1)).

    >>> import numpy as np
    >>> version_arcs(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]]), np.array([1, 1, 1])).share.tolist()
    [0.5, 0.25, 0.125]
    """
    signed = _signed(x, y, bias)
    if signed.shape[1] != 2:
        raise ValueError(f"Exact arcs need two parameters, this sample has {signed.shape[1]}; use version_share.")
    angles = np.arctan2(signed[:, 1], signed[:, 0])
    turn = np.remainder(angles - angles[0] + np.pi, 2 * np.pi) - np.pi
    # A zero input classifies nothing correctly: no direction has y w·x > 0.
    nothing = np.maximum.accumulate(~signed.any(axis=1))
    low = angles[0] + np.maximum.accumulate(turn) - np.pi / 2
    high = angles[0] + np.minimum.accumulate(turn) + np.pi / 2
    high = np.where(nothing, low, high)
    # Opposite points leave an arc of rounding size, which is none.
    width = np.where(high - low > 1e-14, high - low, 0)
    return VersionArcs(low, high, width / (2 * np.pi))


def version_share(
    x: Inputs,
    y: Labels,
    *,
    bias: bool = False,
    samples: int = 10_000,
    confidence: float = 0.95,
    key: PRNGKeyArray | UInt32[Array, "2"] | None = None,
) -> VersionShare:
    """The share of the unit sphere that V(S) = {(w, b): yᵢ (w·xᵢ + b) > 0 for all i} covers, point by point.

    V is an open cone, so the share says it all. Exact for two parameters (`version_arcs`); above, the share of
    `samples` uniform directions, with Wilson's interval at the given confidence (for each point, not jointly).

    >>> import jax, numpy as np
    >>> octant = version_share(np.eye(3), np.ones(3), confidence=0.9999, key=jax.random.key(0))
    >>> exact = np.array([1 / 2, 1 / 4, 1 / 8])
    >>> bool(np.all((octant.low < exact) & (exact < octant.high)))
    True
    """
    from scipy.stats import binomtest

    signed = _signed(x, y, bias)
    if signed.shape[1] == 2:
        share = version_arcs(x, y, bias=bias).share
        return VersionShare(share, share, share, None)
    if key is None:
        raise ValueError("Above two parameters the share is estimated by sampling; pass key=jax.random.key(seed).")
    alive = _alive(jnp.asarray(signed), samples, key)
    hits = np.asarray(alive.sum(axis=1))
    # Shares repeat while points are added without cutting, so each count is judged once.
    intervals = {int(k): binomtest(int(k), samples).proportion_ci(confidence, method="wilson") for k in np.unique(hits)}
    low, high = np.array([intervals[int(k)] for k in hits]).T
    return VersionShare(hits / samples, low, high, hits)


@partial(jax.jit, static_argnums=1)
def _alive(signed: Float[Array, "n p"], samples: int, key) -> Bool[Array, "n samples"]:
    """Which of the drawn directions classify the first 1, 2, ..., n points correctly."""
    # Normal vectors have uniform directions; their length does not matter to a cone.
    directions = jax.random.normal(key, (samples, signed.shape[1]), signed.dtype)

    def add(alive, point):
        alive = alive & (directions @ point > 0)
        return alive, alive

    return lax.scan(add, jnp.ones(samples, bool), signed)[1]


def _signed(x: Inputs, y: Labels, bias: bool) -> Float[np.ndarray, "n p"]:
    x, y = signed_sample(x, y)
    return y[:, None] * (np.column_stack([x, np.ones(len(x))]) if bias else x)
