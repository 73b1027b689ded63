"""Synchronous coupling: two runs with the same noise, whose distance shows how fast laws come together."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray

from leadline.data import generator
from leadline.optimisation.objectives.objective import Objective

from .langevin import IsotropicLangevin, langevin_paths


def coupled_distances(
    model: IsotropicLangevin,
    objective: Objective,
    first: Num[Array | np.ndarray, " p"],
    second: Num[Array | np.ndarray, " p"],
    num_steps: int,
    *,
    key: PRNGKeyArray,
) -> Float[np.ndarray, " time"]:
    """‖W_t − W'_t‖ of two runs of the Langevin model that share every ξ.

    With m ≤ ∇²l ≤ L and η ≤ 2/(m + L) it falls by 1 − ηm or faster in every step, for every noise; so does W₂ between
    the laws, since a coupling bounds it.

    >>> import jax
    >>> from leadline.optimisation import Quadratic
    >>> model, bowl = IsotropicLangevin(0.5, 1.0), Quadratic(jnp.eye(1), jnp.zeros(1))
    >>> coupled_distances(model, bowl, np.zeros(1), np.ones(1), 2, key=jax.random.key(0)).round(6).tolist()
    [1.0, 0.5, 0.25]
    """
    pair = jnp.stack([jnp.asarray(first, float), jnp.asarray(second, float)])
    noise = model.deviation * generator(key).standard_normal((num_steps, 1, 1, pair.shape[1]))
    shared = jnp.asarray(np.broadcast_to(noise, (num_steps, 1, *pair.shape)))
    path = np.asarray(langevin_paths(objective.gradient, pair, jnp.asarray(model.step), shared))
    path = np.concatenate([np.asarray(pair)[None], path])
    return np.linalg.norm(path[:, 0] - path[:, 1], axis=1)
