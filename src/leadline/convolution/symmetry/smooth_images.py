"""Smooth images of any resolution, for judging transformations apart from the pixel grid."""

import numpy as np
from jaxtyping import Float, PRNGKeyArray


def draw_blobs(
    count: int, side: int, *, blobs: int = 5, width: float = 0.09, reach: float = 0.25, key: PRNGKeyArray
) -> Float[np.ndarray, "count side side"]:
    """Sums of round Gaussian bumps with random signs, the same scene at every `side`; nearly zero at the border.

    Lengths are shares of the side: bumps have standard deviation `width` and lie within `reach` of the centre. One
    key gives one set of scenes, sampled as finely as wanted.

    >>> import jax
    >>> fine, coarse = (draw_blobs(2, side, key=jax.random.key(0)) for side in (15, 5))
    >>> bool(np.allclose(fine[:, 1::3, 1::3], coarse))
    True
    """
    if count < 1 or side < 2:
        raise ValueError(f"draw_blobs got {count} images of side {side}; give 1 or more of side 2 or more.")
    import jax

    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel())
    angle, radius = rng.uniform(0, 2 * np.pi, (count, blobs)), reach * np.sqrt(rng.uniform(size=(count, blobs)))
    height = rng.choice([-1.0, 1.0], (count, blobs)) * rng.uniform(0.5, 1.0, (count, blobs))
    at = (np.arange(side) - (side - 1) / 2) / side
    down = np.exp(-((at[:, None, None] - radius * np.sin(angle)) ** 2) / (2 * width**2))  # (side, count, blobs)
    right = np.exp(-((at[:, None, None] - radius * np.cos(angle)) ** 2) / (2 * width**2))
    return np.einsum("cb,icb,jcb->cij", height, down, right)
