"""All masks of a few units, and what dropout averages: every sub-network with its exact probability."""

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leadline._checks import require_counts

MOST_UNITS = 20  # a million masks
TOGETHER = 4096  # masks that are looked at at once


class MaskEnsemble(NamedTuple):
    """All masks b (rows of 0 and 1), their probabilities p(b), and what the function gives for each."""

    masks: Float[np.ndarray, "masks units"]
    probabilities: Float[np.ndarray, " masks"]
    outputs: Float[Array, "masks ..."]

    @property
    def mean(self) -> Float[Array, "..."]:
        """Σ_b p(b) f(b): what infinitely many passes of dropout average to."""
        return jnp.tensordot(jnp.asarray(self.probabilities), self.outputs, axes=1)

    @property
    def geometric_mean(self) -> Float[Array, "..."]:
        """exp Σ_b p(b) ln f(b), renormalised along the last axis: for outputs that are probabilities."""
        logs = jnp.tensordot(jnp.asarray(self.probabilities), jnp.log(self.outputs), axes=1)
        return jax.nn.softmax(logs, axis=-1)


def mask_ensemble(
    function: Callable[[Float[Array, " units"]], Float[Array, "..."]], keep: Float[Array | np.ndarray, " units"]
) -> MaskEnsemble:
    """The values of a function at all 2^m masks of m units, unit i kept with probability keep_i on its own.

    $$p(b) = \\prod_i \\pi_i^{b_i} (1 - \\pi_i)^{1 - b_i}$$

    Dropout trains these 2^m sub-networks, which share their weights (Srivastava et al. 2014). Up to 20 units.

    >>> both = mask_ensemble(lambda b: b[0] * b[1], np.array([0.5, 0.8]))
    >>> both.masks.shape, round(float(both.mean), 6)
    ((4, 2), 0.4)
    """
    keep = np.asarray(keep, float)
    if keep.ndim != 1 or not 1 <= keep.size <= MOST_UNITS:
        raise ValueError(
            f"mask_ensemble got keep of shape {keep.shape}; give one probability for each of 1 to {MOST_UNITS} units."
        )
    if not np.all((keep >= 0) & (keep <= 1)):
        raise ValueError(f"mask_ensemble got keep from {keep.min():g} to {keep.max():g}; give probabilities.")
    masks = ((np.arange(2**keep.size)[:, None] >> np.arange(keep.size)) & 1).astype(float)
    probabilities = np.prod(np.where(masks == 1, keep, 1 - keep), axis=1)
    parts = [jax.vmap(function)(jnp.asarray(masks[i : i + TOGETHER])) for i in range(0, len(masks), TOGETHER)]
    return MaskEnsemble(masks, probabilities, jnp.concatenate(parts))


def distinct_subnetworks(widths: Sequence[int]) -> int:
    """How many functions the masks of hidden layers of these widths give: Π(2^{n_l} − 1) + 1 of Π 2^{n_l} masks.

    For a network without biases below the last layer, with φ(0) = 0 and weights in general position: every mask that
    empties a layer gives the same constant, and all others differ.

    >>> distinct_subnetworks((5, 5))
    962
    """
    require_counts("distinct_subnetworks", widths=widths)
    return prod(2**width - 1 for width in widths) + 1
