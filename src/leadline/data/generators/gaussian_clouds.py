"""Two classes that no hyperplane need separate: overlapping Gaussian clouds."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


class LabelledClouds(NamedTuple):
    """Points with labels in {-1, +1}."""

    x: Float[Array, "n d"]
    y: Float[Array, " n"]


def gaussian_clouds(samples: int, dim: int, distance: float, *, key: PRNGKeyArray) -> LabelledClouds:
    """x = y (distance/2) e_1 + N(0, I), labels alternate: the best rule sgn(x_1) errs with probability Q(distance/2).

    >>> x, y = gaussian_clouds(4, 2, 1.0, key=jax.random.key(0))
    >>> x.shape, y.tolist()
    ((4, 2), [1.0, -1.0, 1.0, -1.0])
    """
    if samples < 1 or dim < 1:
        raise ValueError(f"gaussian_clouds got samples={samples}, dim={dim}; both must be at least 1.")
    y = jnp.where(jnp.arange(samples) % 2 == 0, 1.0, -1.0)
    x = jax.random.normal(key, (samples, dim))
    return LabelledClouds(x.at[:, 0].add(y * distance / 2), y)
