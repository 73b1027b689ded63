"""Randomness outside JAX, still a pure function of a key."""

import jax
import numpy as np
from jaxtyping import PRNGKeyArray


def generator(key: PRNGKeyArray) -> np.random.Generator:
    """A NumPy generator seeded by a JAX key: for many small draws of many shapes, each of which JAX would compile.

    >>> float(generator(jax.random.key(0)).uniform()) == float(generator(jax.random.key(0)).uniform())
    True
    """
    return np.random.default_rng(np.asarray(jax.random.key_data(key)))
