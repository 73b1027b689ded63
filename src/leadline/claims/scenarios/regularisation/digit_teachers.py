"""Teachers of the digits: eight networks as one, trained once and remembered."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import PRNGKeyArray

from leadline import data, networks, regularisation, training

MEMBERS = 8


def digit_teacher(key: PRNGKeyArray) -> regularisation.DeepEnsemble:
    """Eight MLPs 64-128-10 on the training digits, Adam at 0.003 for 40 epochs, as one classifier."""
    seed = int(jax.random.randint(key, (), 0, 2**31 - 1))
    return training.remembered(_taught, _untrained(), seed=seed)


@eqx.filter_jit
def batch_scores(network: eqx.Module, images: jax.Array) -> jax.Array:
    """The logits of a batch."""
    return jax.vmap(network)(images)


def _taught(seed: int) -> regularisation.DeepEnsemble:
    images, labels, *_ = data.digits_split()
    rule, rows = optax.adam(3e-3), (images.astype(np.float32), labels)
    options = {"members": MEMBERS, "epochs": 40, "batch": 64, "optimiser": rule, "key": jax.random.key(seed)}
    return regularisation.deep_ensemble(_network, rows, **options)


def _network(key: PRNGKeyArray) -> networks.MLP:
    return networks.MLP((64, 128, 10), dtype=jnp.float32, key=key)


def _untrained() -> regularisation.DeepEnsemble:
    parameters, rest = eqx.partition(_network(jax.random.key(0)), eqx.is_inexact_array)
    stacked = jax.tree.map(lambda a: jnp.zeros((MEMBERS, *a.shape), a.dtype), parameters)
    return regularisation.DeepEnsemble(stacked, rest, True)
