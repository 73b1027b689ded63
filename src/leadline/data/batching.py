"""Minibatches without replacement: each epoch is one permutation, drawn on the device from the key and the epoch."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray


def epoch_batches(
    samples: int, batch: int, epoch: int | Int[Array, ""], *, key: PRNGKeyArray
) -> Int[Array, "steps batch"]:
    """The indices of one epoch's batches: a random permutation of the samples, cut into rows of `batch`.

    The last samples % batch places of the permutation are left out (others in every epoch). It depends on the key and
    the number of the epoch alone, so that a resumed run sees the batches it would have seen.

    >>> order = epoch_batches(10, 3, 0, key=jax.random.key(0))
    >>> order.shape, len(set(order.ravel().tolist()))
    ((3, 3), 9)
    """
    if not 1 <= batch <= samples:
        raise ValueError(f"A batch of {batch} cannot be drawn from {samples} samples; choose 1 to {samples}.")
    order = jax.random.permutation(jax.random.fold_in(key, epoch), samples)
    return order[: samples - samples % batch].reshape(-1, batch)


def batch_sequence(samples: int, batch: int, steps: int, *, key: PRNGKeyArray) -> Int[Array, "steps batch"]:
    """The indices of the first `steps` batches of as many epochs as they take.

    >>> batch_sequence(10, 5, 7, key=jax.random.key(0)).shape
    (7, 5)
    """
    epochs = -(-steps // max(samples // max(batch, 1), 1))
    orders = jax.vmap(lambda epoch: epoch_batches(samples, batch, epoch, key=key))(jnp.arange(epochs))
    return orders.reshape(-1, batch)[:steps]
