"""Robust accuracy between what certificates guarantee and what attacks leave, for several radii in the maximum norm."""

import math
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, PRNGKeyArray, PyTree

from leadline._checks import require

from .attacks.gradient_attacks import Inputs, Labels, Scores, fgsm, pgd, require_scores
from .attacks.norm_projections import p_norm
from .certificates.interval_bounds import NoIntervalRule
from .certificates.interval_certificates import interval_radii
from .input_boxes import EVERYWHERE, Box


class AccuracyBracket(NamedTuple):
    """n inputs at m radii `eps` of the maximum norm.

    `fgsm` and `pgd` say which inputs keep their label under either attack; `radii` is the length of the smallest change
    that one of them found (∞ where none did) and `inputs` the changed inputs; `certified` the radii within which
    interval bounds exclude any, or None for the reason `why`.
    """

    eps: Float[np.ndarray, " m"]
    fgsm: Bool[np.ndarray, "m n"]
    pgd: Bool[np.ndarray, "m n"]
    radii: Float[np.ndarray, " n"]
    inputs: Float[np.ndarray, "n ..."]
    certified: Float[np.ndarray, " n"] | None
    why: str = ""

    @property
    def above(self) -> Float[np.ndarray, " m"]:
        """Upper bounds of the robust accuracy at each radius."""
        return (self.radii[None] > self.eps[:, None]).mean(axis=1)

    @property
    def below(self) -> Float[np.ndarray, " m"] | None:
        """Lower bounds of it, where there are any."""
        return None if self.certified is None else (self.certified[None] >= self.eps[:, None]).mean(axis=1)


def accuracy_bracket(
    apply: Scores,
    params: PyTree,
    x: Inputs,
    labels: Labels,
    eps: Float[np.ndarray, " m"],
    *,
    key: PRNGKeyArray,
    box: Box = EVERYWHERE,
    num_steps: int = 20,
    starts: int = 2,
) -> AccuracyBracket:
    """FGSM and PGD at every radius, and the largest radius that interval bounds certify for each input.

    The truth lies between: certified radius ≤ true radius ≤ radius of the smallest change found, for every input.

    >>> import jax
    >>> w, x, apply = jnp.array([[0.0, 0.0], [1.0, -2.0]]), jnp.array([[1.0, 0.0]]), lambda w, x: x @ w.T
    >>> found = accuracy_bracket(apply, w, x, jnp.array([1]), np.array([0.3, 0.4]), key=jax.random.key(0))
    >>> found.above.tolist(), found.below.tolist(), round(float(found.certified[0]), 3)
    ([1.0, 0.0], [1.0, 0.0], 0.333)
    """
    require("accuracy_bracket", axes=1, eps=eps)
    require_scores("accuracy_bracket", apply, params, x)
    x, labels, eps = jnp.asarray(x), jnp.asarray(labels), np.sort(np.asarray(eps, float))
    n = len(x)
    kept = np.zeros((2, len(eps), n), bool)
    start = np.asarray(_decided(apply, params, x)) == np.asarray(labels)
    radii, inputs = np.where(start, np.inf, 0.0), np.array(x)
    for i, size in enumerate(eps):
        one = fgsm(apply, params, x, labels, size, box=box)
        many = pgd(apply, params, x, labels, size, num_steps=num_steps, starts=starts, key=key, box=box)
        for row, found in ((0, one), (1, many.inputs)):
            kept[row, i] = np.asarray(_decided(apply, params, found)) == np.asarray(labels)
            length = np.minimum(np.asarray(p_norm((found - x).reshape(n, -1), math.inf)), size)
            better = ~kept[row, i] & (length < radii)
            radii[better], inputs[better] = length[better], np.asarray(found)[better]
    try:
        sure, why = interval_radii(apply, params, x, labels, largest=float(eps[-1]), box=box), ""
    except NoIntervalRule as missing:
        sure, why = None, str(missing)
    return AccuracyBracket(eps, kept[0], kept[1], radii, inputs, sure, why)


def half_radius(eps: Float[np.ndarray, " m"], shares: Float[np.ndarray, " m"]) -> float | None:
    """The eps at which shares that begin with 1 at 0 fall to one half, between the given ones on a line; None if never.

    >>> half_radius(np.array([0.1, 0.2]), np.array([0.75, 0.25])).__round__(3)
    0.15
    """
    low = np.flatnonzero(shares <= 0.5)
    if not len(low):
        return None
    xs, ys = np.concatenate([[0.0], eps]), np.concatenate([[1.0], shares])
    i = low[0] + 1
    return float(xs[i - 1] + (xs[i] - xs[i - 1]) * (ys[i - 1] - 0.5) / (ys[i - 1] - ys[i]))


@eqx.filter_jit
def _decided(apply, params, x):
    return jnp.argmax(apply(params, x), axis=1)
